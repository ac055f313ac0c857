// The two spellings of one rule language (bundles of contracts, rulesets) and the translation between them. No validation.

import type { Json, JsonObject } from '../yaml.ts';

export const bundleKinds = ['ContractBundle', 'Ruleset'] as const;
export type BundleKind = (typeof bundleKinds)[number];

/** What the hub writes when nothing else is configured (rule language §1.1). */
export const defaultApiVersion = 'service/v1';

export interface Vocabulary {
  readonly kind: BundleKind;
  /** The key of the list of rules. */
  readonly list: 'contracts' | 'rules';
  /** The word for one item of it, in messages. */
  readonly item: 'contract' | 'rule';
  /** The key inside `then`. */
  readonly effect: 'effect' | 'action';
  readonly deny: 'deny' | 'block';
  readonly approve: 'approve' | 'ask';
  readonly timeoutEffect: 'timeout_effect' | 'timeout_action';
}

export const contractWords: Vocabulary = {
  kind: 'ContractBundle',
  list: 'contracts',
  item: 'contract',
  effect: 'effect',
  deny: 'deny',
  approve: 'approve',
  timeoutEffect: 'timeout_effect',
};

export const rulesetWords: Vocabulary = {
  kind: 'Ruleset',
  list: 'rules',
  item: 'rule',
  effect: 'action',
  deny: 'block',
  approve: 'ask',
  timeoutEffect: 'timeout_action',
};

export const wordsOf = (kind: string): Vocabulary => (kind === 'Ruleset' ? rulesetWords : contractWords);

/** The words of a kind that may have another name (DECISIONS 7). @param rulesetKinds the kinds that speak of rules */
export const vocabularyOf = (kind: string, rulesetKinds: readonly string[] = ['Ruleset']): Vocabulary =>
  rulesetKinds.includes(kind) ? rulesetWords : contractWords;

/** `deny`/`approve` in the words of a vocabulary; every other word is the same in both. */
export function spellEffect(effect: string, words: Vocabulary): string {
  if (effect === 'deny' || effect === 'block') return words.deny;
  if (effect === 'approve' || effect === 'ask') return words.approve;
  return effect;
}

const spell = (value: Json, words: Vocabulary): Json =>
  typeof value === 'string' ? spellEffect(value, words) : value;

/**
 * A rule's mapping in the words of `words`, whichever it was written in. Keys keep their order; unknown keys and
 * values are copied as they are. `when`, messages and metadata are never touched.
 */
export function spellRule(rule: JsonObject, words: Vocabulary): JsonObject {
  return Object.fromEntries(
    Object.entries(rule).map(([key, value]): [string, Json] => {
      if (key === 'outside') return [key, spell(value, words)];
      if (key === 'timeout_effect' || key === 'timeout_action')
        return [words.timeoutEffect, spell(value, words)];
      if (key !== 'then' || value === null || typeof value !== 'object' || Array.isArray(value))
        return [key, value];
      const then = Object.entries(value).map(([name, part]): [string, Json] => {
        if (name === 'effect' || name === 'action') return [words.effect, spell(part, words)];
        if (name === 'timeout_effect' || name === 'timeout_action')
          return [words.timeoutEffect, spell(part, words)];
        return [name, part];
      });
      return [key, Object.fromEntries(then)];
    }),
  );
}
