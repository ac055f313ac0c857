// Store ports of agent registrations, reported versions and assignment rules.
import type { AssignmentRule, Registration, Reported, Tags } from '../domain/agent.ts';
import type { AgentManifest } from '../domain/event.ts';
import type { Env } from '../domain/ids.ts';

export interface RegistrationPatch {
  readonly displayName?: string | null;
  readonly tags?: Tags;
  readonly bundleName?: string | null;
}

export interface AgentStore {
  /** Makes the registration when missing (with `newId`); sets last env and last seen (never backwards). */
  seen(tenantId: string, agentId: string, env: Env, now: number, newId: string): Promise<Registration>;
  get(tenantId: string, agentId: string): Promise<Registration | null>;
  /** By agent id. */
  list(tenantId: string): Promise<readonly Registration[]>;
  update(tenantId: string, agentId: string, patch: RegistrationPatch): Promise<Registration | null>;
  /**
   * Assigns those that are registered; returns their ids.
   * @param fence the writer's epoch; where nodes share the store, what a later epoch has written stays, and the call throws HubError unavailable
   */
  assign(
    tenantId: string,
    agentIds: readonly string[],
    bundleName: string | null,
    fence?: number,
  ): Promise<readonly string[]>;
  /** Replaces the manifest, making the registration when missing. */
  putManifest(tenantId: string, env: Env, manifest: AgentManifest, now: number, newId: string): Promise<void>;
  /** Keeps the newest report per (tenant, env, agent, bundle); an older one changes nothing. */
  report(tenantId: string, env: Env, reported: Reported): Promise<void>;
  /** Reports of an environment, for its actor. */
  reports(tenantId: string, env: Env): Promise<readonly Reported[]>;
  count(tenantId: string): Promise<number>;
  /** Removes registrations not seen since `before`, unless they carry an explicit assignment; returns how many. */
  forget(before: number, limit: number): Promise<number>;
}

/** `fence` is the writer's epoch: where nodes share the store, a rule that a later epoch has written throws HubError unavailable. */
export interface RuleStore {
  /** By priority. */
  list(tenantId: string): Promise<readonly AssignmentRule[]>;
  create(rule: AssignmentRule): Promise<'created' | 'priority_taken'>;
  update(
    tenantId: string,
    id: string,
    patch: Partial<Pick<AssignmentRule, 'priority' | 'pattern' | 'tagMatch' | 'bundleName' | 'env'>>,
    fence?: number,
  ): Promise<AssignmentRule | 'absent' | 'priority_taken'>;
  remove(tenantId: string, id: string, fence?: number): Promise<AssignmentRule | null>;
}
