// What people read, before any platform's markup: a title, facts, the agent's own words. Texts are cut here and escaped
// where they are written.
import type { Notice } from '../../src/domain/notice.ts';

export interface Card {
  readonly title: string;
  /** Label and value; the values are other people's texts. */
  readonly facts: readonly (readonly [label: string, value: string])[];
  /** Other people's text; null when there is none. */
  readonly message: string | null;
  /** The arguments of the call as JSON; null when there are none. */
  readonly args: string | null;
  readonly link: string | null;
  /** The approval that buttons decide; null for no buttons. */
  readonly decides: string | null;
  readonly tone: 'asking' | 'good' | 'bad' | 'quiet';
}

const maxFact = 255;
const maxMessage = 1200;
const maxArgs = 900;

/** At most `max` characters, whole ones. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${[...text.slice(0, max)].slice(0, -1).join('')}…`;
}

function argsOf({ toolArgs, argsBytes }: Extract<Notice, { kind: 'requested' }>['approval']): string | null {
  if (toolArgs !== null) return cut(JSON.stringify(toolArgs, null, 1), maxArgs);
  return argsBytes === 0 ? null : `${argsBytes} bytes`;
}

export function cardOf(notice: Notice): Card {
  if (notice.kind === 'test' || notice.kind === 'unknown') {
    const isTest = notice.kind === 'test';
    return {
      title: isTest ? 'Test notification' : 'Expired',
      facts: [],
      message: isTest
        ? 'This channel works. Approval requests will appear here.'
        : 'This request is no longer open.',
      args: null,
      link: null,
      decides: null,
      tone: 'quiet',
    };
  }
  const { approval, link } = notice;
  const call: Card['facts'] = [
    ['Agent', cut(approval.agentId, maxFact)],
    ['Tool', cut(approval.toolName, maxFact)],
    ['Environment', approval.env],
  ];
  const message = approval.message === '' ? null : cut(approval.message, maxMessage);
  switch (notice.kind) {
    case 'requested': {
      const contract = approval.contractName;
      const then = approval.timeoutEffect === 'allow' ? 'then allowed' : 'then denied';
      return {
        title: 'Approval requested',
        facts: [
          ...call,
          ...(contract === null ? [] : [['Contract', cut(contract, maxFact)] as const]),
          ['Waits', `${approval.timeoutSeconds} s, ${then}`],
        ],
        message,
        args: argsOf(approval),
        link,
        decides: approval.id,
        tone: 'asking',
      };
    }
    case 'decided': {
      const isApproved = approval.status === 'approved';
      const { decidedBy, decisionReason } = approval;
      return {
        title: isApproved ? 'Approved' : 'Denied',
        facts: [
          ...call,
          ...(decidedBy === null ? [] : [['By', cut(decidedBy, maxFact)] as const]),
          ...(decisionReason === null ? [] : [['Reason', cut(decisionReason, maxFact)] as const]),
        ],
        message,
        args: null,
        link,
        decides: null,
        tone: isApproved ? 'good' : 'bad',
      };
    }
    case 'expired':
      return {
        title: 'Timed out',
        facts: [...call, ['Effect', approval.timeoutEffect === 'allow' ? 'allowed' : 'denied']],
        message,
        args: null,
        link,
        decides: null,
        tone: 'quiet',
      };
  }
}

/** Lines of plain text, for where no markup is possible. */
export const plainLines = (card: Card): string[] => [
  card.title,
  ...card.facts.map(([label, value]) => `${label}: ${value}`),
  ...(card.message === null ? [] : [card.message]),
  ...(card.args === null ? [] : [card.args]),
  ...(card.link === null ? [] : [card.link]),
];
