// Agents: registrations, assignment rules, resolution and drift (document 1; DECISIONS 11; document 3 §12). Pure.
import type { AgentManifest } from './event.ts';
import type { Env } from './ids.ts';

export type Tags = { readonly [key: string]: string };

export interface Registration {
  readonly id: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly displayName: string | null;
  readonly tags: Tags;
  /** Explicit assignment. */
  readonly bundleName: string | null;
  readonly manifest: (AgentManifest & { readonly updatedAt: number }) | null;
  readonly lastEnv: Env | null;
  readonly lastSeenAt: number | null;
  readonly createdAt: number;
}

/** A policy version that an agent said it runs, newest per (tenant, env, agent, bundle). */
export interface Reported {
  readonly agentId: string;
  /** Null when the agent did not say which bundle. */
  readonly bundleName: string | null;
  readonly policyVersion: string;
  readonly at: number;
}

export interface AssignmentRule {
  readonly id: string;
  readonly tenantId: string;
  /** Unique per tenant; the lowest number that matches wins. */
  readonly priority: number;
  /** fnmatch glob on the agent id. */
  readonly pattern: string;
  readonly tagMatch: Tags | null;
  readonly bundleName: string;
  readonly env: Env;
  readonly createdAt: number;
}

export interface Resolution {
  readonly bundleName: string | null;
  readonly source: 'explicit' | 'rule' | 'agent_provided' | 'none';
  readonly ruleId: string | null;
  readonly rulePattern: string | null;
}

export type DriftStatus = 'current' | 'drift' | 'unknown';

const tagsMatch = (wanted: Tags | null, tags: Tags): boolean =>
  wanted === null ||
  Object.keys(wanted).every((key) => Object.hasOwn(tags, key) && tags[key] === wanted[key]);

/** One for all, because most agents have no assignment. */
const unassigned: Resolution = { bundleName: null, source: 'none', ruleId: null, rulePattern: null };

/**
 * Which bundle an agent should run: explicit assignment, then the matching rule of the lowest priority, then the
 * bundle it brought itself, then none.
 * @param rules ordered by priority; `env` null evaluates the rules of every environment
 * @param matches the glob matcher (domain/evaluate/glob)
 */
export function resolveAssignment(
  input: {
    readonly agentId: string;
    readonly env: Env | null;
    readonly explicit: string | null;
    readonly tags: Tags;
    readonly agentProvided: string | null;
    readonly rules: readonly AssignmentRule[];
  },
  matches: (pattern: string, text: string) => boolean,
): Resolution {
  if (input.explicit !== null) {
    return { bundleName: input.explicit, source: 'explicit', ruleId: null, rulePattern: null };
  }
  const rule = input.rules.find(
    (r) =>
      (input.env === null || r.env === input.env) &&
      matches(r.pattern, input.agentId) &&
      tagsMatch(r.tagMatch, input.tags),
  );
  if (rule) {
    return { bundleName: rule.bundleName, source: 'rule', ruleId: rule.id, rulePattern: rule.pattern };
  }
  if (input.agentProvided !== null) {
    return { bundleName: input.agentProvided, source: 'agent_provided', ruleId: null, rulePattern: null };
  }
  return unassigned;
}

/**
 * Drift of an agent (DECISIONS 11): its reported version against the revision deployed for its bundle.
 * @param deployed revision hash of (bundle, env), or null when nothing is deployed
 */
export function driftOf(policyVersion: string | null, deployed: string | null): DriftStatus {
  if (policyVersion === null || policyVersion === '' || deployed === null) return 'unknown';
  return policyVersion === deployed ? 'current' : 'drift';
}
