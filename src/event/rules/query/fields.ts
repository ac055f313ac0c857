// The fields that queries of each page may name. Pure; runs in browsers.
import { agentStates } from '../../../agent/record/states.ts';
import { auditSubjects } from '../../../audit/record/subjects.ts';
import { environments } from '../../../shared/ids.ts';
import { thenChoices, verdictChoices } from '../../record/words.ts';

/** Form of a field's values in texts and comparisons. */
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
  fields: [choice('is', agentStates), text('agent'), text('bundle'), text('version'), text('tag'), env],
};

export const runGrammar: QueryGrammar = {
  fields: [
    choice('is', {
      running: ['active'],
      pending: ['approval_pending'],
      denied: ['blocked'],
      completed: [],
      stale: ['idle'],
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
