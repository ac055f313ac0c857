// Bundle that an agent should run: rules of a tenant as one compiled set, whose answers are remembered. Pure but for
// its memory.

import { compileGlob } from 'reeve-agent/rules';
import type { z } from 'zod';
import { keepNewest } from '../../shared/concurrency/keep-newest.ts';
import { type EnvFilter, isInFilter } from '../../shared/ids.ts';
import type { AssignmentRule, assignmentSource, Tags } from '../record.ts';

export interface Resolution {
  readonly bundleName: string | null;
  readonly source: z.output<typeof assignmentSource>;
  readonly ruleId: string | null;
  readonly rulePattern: string | null;
}

/** Agent for which rules are resolved. */
export interface Assignee {
  readonly agentId: string;
  /** Environments whose rules count; null: all. */
  readonly env: EnvFilter;
  readonly tags: Tags;
  /** The bundle that a person assigned, which wins over any rule. */
  readonly explicit: string | null;
}

/** Rules that a tenant may have. */
export const maxRules = 200;

/** Tenants whose rules are kept compiled; those that were asked for longest ago go first. */
const maxTenants = 64;
/** Answers that are remembered, over all tenants. */
const maxAnswers = 50_000;
/**
 * Characters of an assignee's name and tags beyond which the answer is not worth the memory: the longest agent id fits.
 */
const maxName = 320;

/** One for all, because most agents have no assignment. */
export const unassigned: Resolution = { bundleName: null, source: 'none', ruleId: null, rulePattern: null };

export const assignedExplicitly = (bundleName: string): Resolution => ({
  bundleName,
  source: 'explicit',
  ruleId: null,
  rulePattern: null,
});

interface CompiledRule {
  readonly rule: AssignmentRule;
  readonly resolution: Resolution;
  readonly matches: (agentId: string) => boolean;
}

const tagsMatch = (required: Tags | null, tags: Tags): boolean =>
  required === null ||
  Object.keys(required).every((key) => Object.hasOwn(tags, key) && tags[key] === required[key]);

/** Keeps at most `max` entries: what was set longest ago goes first. */
function remember<V>(map: Map<string, V>, key: string, value: V, max: number): V {
  map.delete(key);
  map.set(key, value);
  keepNewest(map, max);
  return value;
}

/** The rules of a tenant, ordered by priority: the first that matches decides. */
export class RuleSet {
  readonly rules: readonly AssignmentRule[];
  readonly #compiled: readonly CompiledRule[];
  readonly #byTags: boolean;
  readonly #answers: Map<string, Resolution>;
  readonly #name: number;

  /**
   * @param rules ordered by priority
   * @param before the tenant's rules until now, whose patterns need not be compiled again
   * @param answers the memory, which all sets share
   * @param name distinguishes the answers of this set from those of others
   */
  constructor(
    rules: readonly AssignmentRule[],
    before: RuleSet | null,
    answers: Map<string, Resolution>,
    name: number,
  ) {
    const byAgent = new Map(
      before === null ? [] : before.#compiled.map(({ rule, matches }) => [rule.pattern, matches]),
    );
    this.rules = rules;
    this.#compiled = rules.map((rule) => ({
      rule,
      resolution: { bundleName: rule.bundleName, source: 'rule', ruleId: rule.id, rulePattern: rule.pattern },
      matches: byAgent.get(rule.pattern) ?? compileGlob(rule.pattern),
    }));
    this.#byTags = rules.some(({ tagMatch }) => tagMatch !== null);
    this.#answers = answers;
    this.#name = name;
  }

  /** The explicit assignment, else what the first rule that matches gives, else nothing. */
  resolve(assignee: Assignee): Resolution {
    const { agentId, env, tags, explicit } = assignee;
    if (explicit !== null) return assignedExplicitly(explicit);
    if (this.#compiled.length === 0) return unassigned;
    // Joined, because a template would keep its parts, each a string of its own, as long as the answer is remembered.
    const key = [
      this.#name,
      env === null ? '' : String(env),
      this.#byTags ? JSON.stringify(tags) : '',
      agentId,
    ].join('/');
    const cached = this.#answers.get(key);
    if (cached || key.length > maxName) return cached ?? this.#search(assignee);
    return remember(this.#answers, key, this.#search(assignee), maxAnswers);
  }

  #search({ agentId, env, tags }: Assignee): Resolution {
    const matchingRule = this.#compiled.find(
      ({ rule, matches }) => isInFilter(env, rule.env) && tagsMatch(rule.tagMatch, tags) && matches(agentId),
    );
    return matchingRule?.resolution ?? unassigned;
  }
}

/** Compiled rules by tenant: compiled once, and an agent resolved once, as long as the rules stay the same. */
export class RuleSets {
  readonly #byTenant = new Map<string, RuleSet>();
  readonly #answers = new Map<string, Resolution>();
  #sets = 0;

  /** @param rules as they are now, ordered by priority */
  of(tenantId: string, rules: readonly AssignmentRule[]): RuleSet {
    const before = this.#byTenant.get(tenantId) ?? null;
    const isCurrent = before !== null && areSame(before.rules, rules);
    // While none has to go, the order does not matter: a map that is changed for each agent leaves garbage.
    if (isCurrent && this.#byTenant.size < maxTenants) return before;
    const set = isCurrent ? before : new RuleSet(rules, before, this.#answers, ++this.#sets);
    return remember(this.#byTenant, tenantId, set, maxTenants);
  }
}

const areSame = (some: readonly AssignmentRule[], others: readonly AssignmentRule[]): boolean =>
  some === others || (some.length === others.length && some.every((rule, i) => isSame(rule, others[i])));

const isSame = (one: AssignmentRule, other: AssignmentRule | undefined): boolean =>
  one.id === other?.id &&
  one.priority === other.priority &&
  one.pattern === other.pattern &&
  one.bundleName === other.bundleName &&
  one.env === other.env &&
  areSameTags(one.tagMatch, other.tagMatch);

const areSameTags = (some: Tags | null, others: Tags | null): boolean =>
  some === null || others === null
    ? some === others
    : Object.keys(some).length === Object.keys(others).length && tagsMatch(some, others);
