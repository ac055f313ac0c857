// Content that people read, before any platform's markup: a title, facts, the agent's own words. This file cuts texts
// and makes them visible; each platform escapes the texts that it writes.
import type { Approval } from '../../src/approval/record.ts';
import { argumentLine } from '../../src/approval/rules/argument-line.ts';
import type { JsonObject } from '../../src/contract/record.ts';
import type { Notice } from '../../src/notification/rules/notice.ts';
import { visible, visibleLine } from '../../src/shared/visible-text.ts';

export interface Card {
  readonly title: string;
  /** Label and value; the values are other people's texts. */
  readonly facts: readonly (readonly [label: string, value: string])[];
  /** Other people's text; null when there is none. */
  readonly message: string | null;
  /** The arguments of the call, a line each, values as JSON; null when there are none. */
  readonly args: string | null;
  readonly link: string | null;
  /** The approval that it is about; null where there is none. */
  readonly approvalId: string | null;
  /** The approval that buttons decide; null for no buttons, and where something of the call is not shown. */
  readonly decides: string | null;
  readonly tone: 'asking' | 'good' | 'bad' | 'quiet';
}

/** Characters. */
const maxFact = 255;
const maxMessage = 1200;
const maxArgs = 1200;
const maxName = 100;
/** Arguments; the rest are counted. */
const maxListed = 40;

/** A text as the card shows it; `isCut` when something of it is missing. */
interface ShownText {
  readonly text: string;
  readonly isCut: boolean;
}

/** At most `max` characters, whole ones, with nothing hidden in them. */
function shortened(text: string, max: number, show = visible): ShownText {
  // Showing what is hidden only lengthens a text.
  const visibleText = show(text.slice(0, max + 1));
  if (visibleText.length <= max) return { text: visibleText, isCut: false };
  return { text: `${[...visibleText.slice(0, max)].slice(0, -1).join('')}…`, isCut: true };
}

const factText = (text: string): ShownText => shortened(text, maxFact, visibleLine);

/**
 * The most characters that each text may take where all together may take `room`: short ones are whole before long
 * ones get more, so that none pushes another out.
 */
export function fairShare(lengths: readonly number[], room: number): number {
  let left = room;
  const ascending = [...lengths].sort((a, b) => a - b);
  for (const [place, length] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - place));
    if (length > share) return share;
    left -= length;
  }
  return room;
}

/** Every argument on a line of its own, each cut by itself. */
function argumentLines(args: JsonObject): ShownText {
  const names = Object.keys(args);
  const listed = names.slice(0, maxListed).map((name) => ({
    name: shortened(name, maxName, visibleLine),
    value: shortened(JSON.stringify(args[name]), maxArgs, visibleLine),
  }));
  const lengthOf = ({ name, value }: (typeof listed)[number]): number =>
    name.text.length + value.text.length + ': \n'.length;
  const max = fairShare(listed.map(lengthOf), maxArgs);
  const lines = listed.map(({ name, value }) => {
    const line = shortened(`${name.text}: ${value.text}`, Math.max(1, max - 1), (text) => text);
    return { text: line.text, isCut: line.isCut || name.isCut || value.isCut };
  });
  const rest = names.length - listed.length;
  return {
    text: [...lines.map(({ text }) => text), ...(rest > 0 ? [`… ${rest} more`] : [])].join('\n'),
    isCut: rest > 0 || lines.some(({ isCut }) => isCut),
  };
}

/** Null for a call without arguments: platforms refuse an empty text. */
function argsOf({ toolArgs, argsBytes }: Approval): ShownText | null {
  if (toolArgs !== null) return Object.keys(toolArgs).length === 0 ? null : argumentLines(toolArgs);
  return argsBytes === 0 ? null : { text: `${argsBytes} bytes`, isCut: true };
}

export function cardOf(notice: Notice): Card {
  if (notice.kind === 'test')
    return plainCard('Test notification', 'This channel works. Approval requests will appear here.');
  if (notice.kind === 'unknown') return plainCard('Expired', 'This request is no longer pending.');
  if (notice.kind === 'toolChanged') return toolCard(notice);
  const { approval, link } = notice;
  const call = {
    message: approval.message === '' ? null : shortened(approval.message, maxMessage),
    facts: [
      ['Agent', factText(approval.agentId)],
      ['Tool', factText(approval.toolName)],
      ['Environment', factText(approval.env)],
    ],
  } as const;
  const about = { link, approvalId: approval.id };
  switch (notice.kind) {
    case 'requested':
      return requestCard(approval, call, about);
    case 'decided':
      return decidedCard(approval, call, about);
    case 'expired':
      return {
        ...about,
        title: 'Timed out',
        facts: [
          ...textsOf(call.facts),
          ['Effect', approval.timeoutEffect === 'allow' ? 'allowed' : 'denied'],
        ],
        message: call.message?.text ?? null,
        args: null,
        decides: null,
        tone: 'quiet',
      };
  }
}

type Fact = readonly [label: string, value: ShownText];
interface CallTexts {
  readonly facts: readonly Fact[];
  readonly message: ShownText | null;
}

const textsOf = (facts: readonly Fact[]): Card['facts'] => facts.map(([label, { text }]) => [label, text]);

const plainCard = (title: string, message: string): Card => ({
  title,
  facts: [],
  message,
  args: null,
  link: null,
  approvalId: null,
  decides: null,
  tone: 'quiet',
});

function decidedCard(
  { status, decidedBy, decisionReason }: Approval,
  call: CallTexts,
  about: Pick<Card, 'link' | 'approvalId'>,
): Card {
  const isApproved = status === 'approved';
  return {
    ...about,
    title: isApproved ? 'Approved' : 'Denied',
    facts: textsOf([
      ...call.facts,
      ...(decidedBy === null ? [] : [['By', factText(decidedBy)] as const]),
      ...(decisionReason === null ? [] : [['Reason', factText(decisionReason)] as const]),
    ]),
    message: call.message?.text ?? null,
    args: null,
    decides: null,
    tone: isApproved ? 'good' : 'bad',
  };
}

function toolCard({
  entry: { env, server, tool, isChange },
  undecided,
  isWaiting,
  link,
}: Extract<Notice, { readonly kind: 'toolChanged' }>): Card {
  return {
    title: isChange ? 'Tool definition changed' : 'New tool',
    facts: [
      ...textsOf([
        ['Tool', factText(tool)],
        ['Server', factText(server)],
        ['Environment', factText(env)],
      ]),
      [isWaiting ? 'Waiting' : 'Undecided', `${undecided} ${undecided === 1 ? 'definition' : 'definitions'}`],
    ],
    message: isWaiting
      ? 'Agents refuse its calls until somebody accepts the definition.'
      : 'The change is recorded. Agents continue to call it.',
    args: null,
    link,
    approvalId: null,
    decides: null,
    tone: isWaiting ? 'asking' : 'quiet',
  };
}

/** With buttons where it shows the whole call: nobody approves in a chat what the chat does not show. */
function requestCard(approval: Approval, call: CallTexts, about: Pick<Card, 'link' | 'approvalId'>): Card {
  const { contractName, timeoutEffect, timeoutSeconds } = approval;
  const facts: readonly Fact[] = [
    ...call.facts,
    ...(contractName === null ? [] : [['Contract', factText(contractName)] as const]),
  ];
  const args = argsOf(approval);
  const line = argumentLine(approval.toolArgs);
  const isCut = [...facts.map(([, value]) => value), call.message, args].some((text) => text?.isCut);
  const then = timeoutEffect === 'allow' ? 'then allowed' : 'then denied';
  return {
    ...about,
    title: 'Approval requested',
    facts: [
      ...textsOf(facts),
      ...(line === '' ? [] : [['Call', factText(line).text] as const]),
      ['Waits', `${timeoutSeconds} s, ${then}`],
      ...(isCut
        ? [['Decide', 'This message does not show the whole call. Decide it in the console'] as const]
        : []),
    ],
    message: call.message?.text ?? null,
    args: args?.text ?? null,
    decides: isCut ? null : approval.id,
    tone: 'asking',
  };
}

/** Lines of plain text, for where no markup is possible. */
export const plainLines = (card: Card): string[] => [
  card.title,
  ...card.facts.map(([label, value]) => `${label}: ${value}`),
  ...(card.message === null ? [] : [card.message]),
  ...(card.args === null ? [] : [card.args]),
  ...(card.link === null ? [] : [card.link]),
];
