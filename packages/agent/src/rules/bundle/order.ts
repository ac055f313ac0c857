// Contracts that ask and contracts that refuse, where one stands in the other's way. Finds; refuses nothing.
import { compileGlob } from '../evaluate/glob.ts';
import type { Json, YamlPath } from '../yaml.ts';
import { conditionKey } from './contradictions.ts';
import { type Entry, effectOf, overlap, rankOf } from './entries.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface OrderFinding {
  /** The contract that asks. */
  readonly entry: Entry;
  readonly severity: 'warning' | 'notice';
  readonly code: 'refusal-after-ask' | 'refused-and-asked';
  readonly path: YamlPath;
  /** One sentence. */
  readonly message: string;
}

/**
 * Released clients ask at the first contract that wants to, and run an approved call without looking at what follows.
 */
export function laterRefusals(entries: readonly Entry[], words: Vocabulary): readonly OrderFinding[] {
  const asking = entries.filter((entry) => effectOf(entry, words) === 'approve');
  return asking.flatMap((entry): OrderFinding[] => {
    const rank = rankOf(entry);
    const later = entries.filter((other, i) => {
      if (effectOf(other, words) !== 'deny' || other.type === 'post') return false;
      const follows = rankOf(other) > rank || (rankOf(other) === rank && i > entries.indexOf(entry));
      return follows && (other.type === 'session' || overlap(entry.tools, other.tools));
    });
    if (later.length === 0) return [];
    const ids = later.slice(0, 5).map(({ id }) => `'${id}'`);
    const more = later.length > ids.length ? ` and ${later.length - ids.length} more` : '';
    const message =
      `Released clients run an approved call without evaluating ${ids.join(', ')}${more}, which come later and ` +
      'may refuse it.';
    // The types are looked at in an order of their own: within one of them, who writes the document chooses.
    const movable = later.find((other) => rankOf(other) === rank);
    const advice = movable ? ` Put '${movable.id}' first.` : '';
    const key = entry.type === 'sandbox' ? ['outside'] : ['then', words.effect];
    return [
      {
        entry,
        severity: movable ? 'warning' : 'notice',
        code: 'refusal-after-ask',
        path: [...entry.at, ...key],
        message: message + advice,
      },
    ];
  });
}

/** Questions that are never asked, because another contract refuses the same calls: a refusal always wins. */
export function vainQuestions(
  entries: readonly Entry[],
  words: Vocabulary,
  defaultMode: Json | undefined,
): readonly OrderFinding[] {
  const enforced = entries.filter(
    ({ type, value }) => type === 'pre' && (value.mode ?? defaultMode) !== 'observe',
  );
  const keyOf = ({ value }: Entry): string => conditionKey(value.when ?? null);
  const refusing = enforced
    .filter((entry) => effectOf(entry, words) === 'deny')
    .map((entry) => ({ ...entry, key: keyOf(entry) }));
  const asking = enforced.filter((entry) => effectOf(entry, words) === 'approve');
  return asking.flatMap((entry): OrderFinding[] => {
    const key = keyOf(entry);
    const isCovered = (tool: string, tools: readonly string[]): boolean =>
      tools.some((one) => one === tool || compileGlob(one)(tool));
    const winner = refusing.find(
      (other) => other.key === key && entry.tools.every((tool) => isCovered(tool, other.tools)),
    );
    if (!winner) return [];
    const message = `'${winner.id}' refuses every call that this contract asks about, so this contract never asks anybody.`;
    return [
      {
        entry,
        severity: 'warning',
        code: 'refused-and-asked',
        path: [...entry.at, 'when'],
        message,
      },
    ];
  });
}
