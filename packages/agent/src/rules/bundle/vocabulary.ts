// The two spellings of one rule language (bundles of contracts, rulesets) and the translation between them. No
// validation.
import type { Json, JsonObject } from '../yaml.ts';

/**
 * Words of `kind` for each vocabulary (the `wire` section of the configuration).
 */
export interface AcceptedKinds {
  /** Default `ContractBundle`. */
  readonly bundleKinds?: readonly string[];
  /** Default `Ruleset`. A word of both lists means a ruleset. */
  readonly rulesetKinds?: readonly string[];
}

/** Default `apiVersion` that the hub writes. */
export const defaultApiVersion = 'service/v1';

export interface Vocabulary {
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
  list: 'contracts',
  item: 'contract',
  effect: 'effect',
  deny: 'deny',
  approve: 'approve',
  timeoutEffect: 'timeout_effect',
};

export const rulesetWords: Vocabulary = {
  list: 'rules',
  item: 'rule',
  effect: 'action',
  deny: 'block',
  approve: 'ask',
  timeoutEffect: 'timeout_action',
};

/** Default `kind` that the hub writes. */
export const defaultBundleKind = 'ContractBundle';
const defaultRulesetKind = 'Ruleset';

/** Every word of `kind` that is accepted, those of bundles first. */
export const kindsOf = (accepted: AcceptedKinds = {}): string[] => [
  ...new Set([
    ...(accepted.bundleKinds ?? [defaultBundleKind]),
    ...(accepted.rulesetKinds ?? [defaultRulesetKind]),
  ]),
];

/** The vocabulary a `kind` stands for; undefined when it is not accepted. */
export function vocabularyOf(kind: unknown, accepted: AcceptedKinds = {}): Vocabulary | undefined {
  if (typeof kind !== 'string') return undefined;
  if ((accepted.rulesetKinds ?? [defaultRulesetKind]).includes(kind)) return rulesetWords;
  return (accepted.bundleKinds ?? [defaultBundleKind]).includes(kind) ? contractWords : undefined;
}

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
