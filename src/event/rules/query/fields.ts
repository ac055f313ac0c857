// The fields that queries of each page may name. Pure; runs in browsers.
import { auditSubjects } from '../../../audit/record.ts';
import { environments } from '../../../shared/ids.ts';

/** How the values of a field are written and compared. */
export type FieldKind =
  /** Equality, case matters, or `*` for any characters. */
  | 'text'
  /** Words and phrases of a sentence, as terms without a field; case does not matter. */
  | 'words'
  /** One of a list of words. */
  | 'choice'
  /** Compared with `>`, `>=`, `<` or `<=`: `2s`, `150ms`, `1m`. */
  | 'duration'
  /** With the path of a value: `args.path`, `args.items[].id`. As `text`, or compared as numbers or times. */
  | 'path';

export interface QueryField {
  readonly name: string;
  readonly kind: FieldKind;
  /** Of kind `choice`: each word, with the other words that mean the same. */
  readonly choices?: { readonly [word: string]: readonly string[] };
}

export interface QueryGrammar {
  readonly fields: readonly QueryField[];
}

const text = (name: string): QueryField => ({ name, kind: 'text' });
const path = (name: string): QueryField => ({ name, kind: 'path' });
const choice = (name: string, choices: QueryField['choices'] & object): QueryField => ({
  name,
  kind: 'choice',
  choices,
});
const plain = (...words: readonly string[]): { readonly [word: string]: readonly string[] } =>
  Object.fromEntries(words.map((word) => [word, []]));

/** The four words of a call, with the words of both APIs for each. */
export const verdictChoices = {
  allowed: ['call_allowed', 'call_executed', 'call_approval_granted', 'allow', 'executed'],
  denied: ['call_denied', 'call_blocked', 'call_approval_denied', 'call_approval_blocked', 'block', 'deny'],
  would_deny: [
    'call_would_deny',
    'call_would_block',
    'would_block',
    'observed',
    'observe',
    'would deny',
    'would-deny',
  ],
  asked: ['call_asked', 'call_approval_requested', 'ask', 'approve', 'pending', 'pending_approval'],
} as const;
export type VerdictWord = keyof typeof verdictChoices;

/** The words for later reports about a call. */
export const thenChoices = {
  approved: ['call_approval_granted', 'granted'],
  denied: ['call_approval_denied', 'call_approval_blocked', 'blocked'],
  expired: ['call_approval_timeout', 'timeout'],
  succeeded: ['call_executed', 'executed'],
  failed: ['call_failed'],
  timed_out: ['timed out'],
  warned: ['postcondition_warning'],
} as const;
export type ThenWord = keyof typeof thenChoices;

const env = choice('env', plain(...environments));

export const eventGrammar: QueryGrammar = {
  fields: [
    choice('verdict', verdictChoices),
    choice('then', thenChoices),
    text('tool'),
    text('agent'),
    text('contract'),
    env,
    choice('mode', plain('enforce', 'observe')),
    text('bundle'),
    text('version'),
    text('run'),
    text('call'),
    { name: 'reason', kind: 'words' },
    path('principal'),
    path('args'),
    { name: 'duration', kind: 'duration' },
    choice('is', plain('pending', 'sample', 'truncated')),
  ],
};

export const approvalGrammar: QueryGrammar = {
  fields: [
    choice('is', {
      pending: [],
      approved: [],
      denied: [],
      expired: ['timeout'],
      decided: [],
      mine: [],
      taken: ['assigned'],
    }),
    text('tool'),
    text('agent'),
    text('contract'),
    env,
    text('run'),
    text('by'),
    { name: 'reason', kind: 'words' },
    path('principal'),
    path('args'),
  ],
};

export const agentGrammar: QueryGrammar = {
  fields: [
    choice('is', {
      connected: [],
      away: [],
      current: [],
      out_of_date: ['drift', 'out-of-date'],
      unknown: [],
    }),
    text('agent'),
    text('bundle'),
    text('version'),
    text('tag'),
    env,
  ],
};

export const runGrammar: QueryGrammar = {
  fields: [
    choice('is', {
      running: ['active'],
      pending: ['approval_pending'],
      denied: ['blocked'],
      completed: [],
      stale: [],
    }),
    text('agent'),
    text('run'),
    env,
  ],
};

export const auditGrammar: QueryGrammar = {
  fields: [
    text('by'),
    text('action'),
    choice('subject', plain(...auditSubjects)),
    text('agent'),
    text('run'),
  ],
};
