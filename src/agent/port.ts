// Store ports of agent registrations, reported versions and assignment rules.
import type { AgentManifest } from '../event/record.ts';
import type { Env, EnvFilter } from '../shared/ids.ts';
import type { Page } from '../shared/ports/page.ts';
import type { AgentApi, AgentVocabulary, SeenOn } from '../shared/vocabulary.ts';
import type {
  AgentOrder,
  AgentPlace,
  AssignmentRule,
  PastStream,
  Registration,
  RegistrationSummary,
  Reported,
  Tags,
} from './record.ts';

/** Absent: stays as it is. */
export interface RegistrationPatch {
  readonly displayName?: string | null;
  readonly tags?: Tags;
  /** Null: no assignment. */
  readonly bundleName?: string | null;
}

/** The part of a registration that decides what a stream follows. Small, because a fleet that comes back reads many. */
export type SeenRegistration = Pick<Registration, 'bundleName' | 'tags' | 'retiredAt'>;

/** The result of a report that an agent was seen. */
export interface SeenAgent {
  /** Retired, or null, when the agent is not registered. */
  readonly registration: SeenRegistration | null;
  /** True when this call registered it, or brought it back from retirement. */
  readonly isNew: boolean;
}

/** An agent that a write registers, or marks as seen, in its own commit. */
export interface FirstSeenAgent {
  readonly agentId: string;
  /** As in `AgentStore.noteSeen`. */
  readonly newId: string | null;
  readonly on?: SeenOn;
}

/** Registrations: the agents of a tenant, by id. */
export interface AgentStore {
  /**
   * Sets last env and last seen (never backwards) of a registration that lives. A store may write a time that moves
   * alone within a second or so after the answer: no request waits for it.
   * @param newId the id of the registration that is made when there is none; a retired one comes back under its own.
   *   Null: neither happens
   * @param on the API that it was seen on; absent: what is known of that stays
   */
  noteSeen(
    tenantId: string,
    agentId: string,
    env: Env,
    now: number,
    newId: string | null,
    on?: SeenOn,
  ): Promise<SeenAgent>;
  /** Retired ones, too. */
  get(tenantId: string, agentId: string): Promise<Registration | null>;
  /** Living agents, by agent id; `after`: those behind this one. */
  list(tenantId: string, page: AgentPageRequest): Promise<Page<Registration>>;
  /**
   * Living agents that were last seen in this environment on this API, and have not declared that they load documents
   * of either vocabulary. By agent id, without their manifests.
   */
  listLastOn(
    tenantId: string,
    query: {
      readonly env: Env;
      readonly api: AgentApi;
      readonly limit: number;
      readonly after: string | null;
    },
  ): Promise<Page<RegistrationSummary>>;
  /** Vocabularies of the registered ones among these agents. Takes at most some thousand agents. */
  listVocabularies(
    tenantId: string,
    agentIds: readonly string[],
  ): Promise<readonly (AgentVocabulary & { readonly agentId: string })[]>;
  /** Living agents, without their manifests. */
  search(tenantId: string, query: AgentQuery): Promise<Page<RegistrationSummary>>;
  update(tenantId: string, agentId: string, patch: RegistrationPatch): Promise<Registration | null>;
  /**
   * Assigns those that are registered; returns their ids. One that is assigned a bundle comes back from retirement.
   * @param fence the writer's epoch; where nodes share the store, what a later epoch has written stays, and the call
   *   throws HubError unavailable
   */
  assign(
    tenantId: string,
    agentIds: readonly string[],
    bundleName: string | null,
    fence?: number,
  ): Promise<readonly string[]>;
  /** The manifests of those of these agents that sent one, in no particular order. At most some hundred agents. */
  listManifests(tenantId: string, agentIds: readonly string[]): Promise<readonly AgentManifest[]>;
  /** Replaces the manifest of an agent that is registered. False: the agent is not, and nothing is stored. */
  updateManifest(tenantId: string, manifest: AgentManifest, now: number): Promise<boolean>;
  /**
   * Keeps the newest report per (tenant, env, agent, bundle), of an agent that is registered, for its newest
   * `maxReportedBundles` bundles; an older one changes nothing.
   */
  report(tenantId: string, env: Env, reported: Reported): Promise<void>;
  /** The newest reports of an environment, for its actor, oldest first. */
  listReports(tenantId: string, env: Env, limit: number): Promise<readonly Reported[]>;
  /** Number of living agents, or of those that were last in one of these environments. */
  count(tenantId: string, lastEnv?: EnvFilter): Promise<number>;
  /**
   * Retires those that were not seen since `before` and carry no explicit assignment, with their reports; returns how
   * many.
   */
  retire(before: number, now: number, limit: number): Promise<number>;
  /** Removes registrations not seen since `before`, unless they carry an explicit assignment; returns how many. */
  removeBefore(before: number, limit: number): Promise<number>;
  /** Adds to the agents of a tenant that were not registered in an hour (counted since 1970). */
  addLeftOut(tenantId: string, hour: number, count: number): Promise<void>;
  /** Agents that were not registered in this hour. */
  countLeftOut(tenantId: string, hour: number): Promise<number>;
  /** Forgets the counts of earlier hours; returns how many. */
  removeLeftOut(hour: number): Promise<number>;
}

/** An agent without a stream. */
export interface AwayAgent {
  readonly agentId: string;
  readonly streams: readonly PastStream[];
}

/** Streams that agents had: the newest `maxPastStreams` of an agent in an environment; a store may keep some more. */
export interface AgentStreamStore {
  /** Adds streams, and ends stored ones. A repeat changes nothing, and an end stays. At most some hundred at once. */
  record(streams: readonly PastStream[]): Promise<void>;
  /** Streams that ended after `since` and began before `until`, the newest first. */
  list(
    tenantId: string,
    env: Env,
    agentId: string,
    range: { readonly since: number; readonly until: number },
  ): Promise<readonly PastStream[]>;
  /** Streams without an end, by id; `after`: those behind this one. */
  listOpen(tenantId: string, env: Env, limit: number, after: string | null): Promise<readonly PastStream[]>;
  /**
   * Agents whose streams have all ended before `awayBefore`, and lasted `leastMs` together since `since` (streams at
   * the same time count twice), with those streams. In no particular order.
   */
  listAway(
    tenantId: string,
    env: Env,
    period: { readonly since: number; readonly awayBefore: number; readonly leastMs: number },
    limit: number,
  ): Promise<readonly AwayAgent[]>;
  /**
   * Removes streams that ended before `before`; returns how many. Open streams stay, however long ago they began: the
   * next owner of their environment ends those that no node announces.
   */
  removeBefore(before: number, limit: number): Promise<number>;
}

/** Part of a list of agents. */
export interface AgentPageRequest {
  /** Items, at most. */
  readonly limit: number;
  /** The agent id that the page before ended with; null: the first page. */
  readonly after: string | null;
}

/** Selection of agents, and their order. */
export interface AgentQuery {
  readonly order: AgentOrder;
  readonly descending: boolean;
  /** Part of the agent id or the display name. ASCII letters count the same in either case. */
  readonly search: string | null;
  /** Items, at most. */
  readonly limit: number;
  /** The page begins behind it; null: the first page. */
  readonly after: AgentPlace | null;
}

/**
 * `fence` is the writer's epoch: where nodes share the store, a rule that a later epoch has written throws HubError
 * unavailable.
 */
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
