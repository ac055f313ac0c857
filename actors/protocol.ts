// The messages of the three actor kinds, which handlers and edges may send. Bodies are plain JSON.

import type {
  AgentStatus,
  AssignmentRule,
  DriftStatus,
  FleetNumbers,
  FollowedBundle,
  OpenStreams,
  StreamTransport,
  Tags,
} from '../src/agent/record.ts';
import type { Resolution } from '../src/agent/rules/assignment.ts';
import type { FetchedRuleset } from '../src/agent/rules/fetched-ruleset.ts';
import type { Approval, Decision } from '../src/approval/record.ts';
import type { AuditActor, AuditNote } from '../src/audit/record.ts';
import type { DocumentKind } from '../src/contract/record.ts';
import type { Deployment, UndeployOrder } from '../src/deployment/record.ts';
import { HubError } from '../src/shared/error.ts';
import { type Env, isEnv } from '../src/shared/ids.ts';
import type { AgentApi, SeenOn } from '../src/shared/vocabulary.ts';
import type { Actors, Kinds, Tell } from './runtime/define.ts';

export const environmentKey = (tenantId: string, env: Env): string => `${tenantId}/${env}`;
/** Joined, because a template would keep its parts, and each connected agent keeps its key. */
export const agentKey = (tenantId: string, env: Env, agentId: string): string =>
  [tenantId, env, agentId].join('/');

/** The parts of an environment's or an agent's key. An agent id may hold slashes; an environment's key gives ''. */
export function readKey(key: string): {
  readonly tenantId: string;
  readonly env: Env;
  readonly agentId: string;
} {
  const [tenantId = '', env, ...agentId] = key.split('/');
  if (tenantId === '' || !isEnv(env)) throw new HubError('internal', `Not a key of an actor: ${key}`);
  return { tenantId, env, agentId: agentId.join('/') };
}

/** An open agent stream, as its edge announces it. */
export interface StreamNotice {
  readonly connectionId: string;
  readonly node: string;
  readonly agentId: string;
  /** The bundle whose updates it follows; null follows all of the environment. */
  readonly bundleName: string | null;
  /** True when the stream asked for this bundle itself: an assignment then moves nothing. */
  readonly pinned: boolean;
  readonly connectedAt: number;
  /** Of the API key that opened it. */
  readonly keyId: string;
  readonly transport: StreamTransport;
  readonly api: AgentApi;
  /** Ruleset that the agent fetched with this key, as its node remembers it; absent if the node remembers none. */
  readonly fetched?: FetchedRuleset;
}

/** Which of an agent's resolutions is the later one: by its owner, then by that owner's clock (epoch ms). */
export interface ResolvedAt {
  readonly epoch: number;
  readonly at: number;
}

export interface StatusEntry extends Omit<AgentStatus, 'cannotLoad'> {
  /** As in AgentState. */
  readonly documentKind: DocumentKind | null;
}

/** Where a stream stands in the order of the status list. */
export interface StatusPlace {
  readonly agentId: string;
  readonly connectedAt: number;
  readonly streamId: string;
}

export interface StatusRequest {
  /** Streams that follow this bundle; null: all. */
  readonly bundleName: string | null;
  readonly limit: number;
  /** Last place of the page before. */
  readonly after: StatusPlace | null;
}

export interface RosterPage {
  readonly entries: readonly StatusEntry[];
  /** Last place of this page; null when nothing is left. */
  readonly next: StatusPlace | null;
}

/** How an agent stands in an environment. */
export interface AgentState {
  /** Open streams. */
  readonly streams: number;
  /** Start of the newest stream, in epoch milliseconds; null without a stream. */
  readonly connectedAt: number | null;
  /** Bundle that its newest stream follows, or the requested bundle. */
  readonly bundleName: string | null;
  /** Version that the agent reported last; null if it reported none. */
  readonly policyVersion: string | null;
  /** The version of the current deployment that this is; null when it is none. */
  readonly version: number | null;
  readonly status: DriftStatus;
  /**
   * The vocabulary of the document that it is to load; null when it runs it, there is none, or both vocabularies load
   * it. Of one that follows all: where all have the same.
   */
  readonly documentKind: DocumentKind | null;
  /** Since when it runs another version than it should; null: it does not. */
  readonly driftSince: number | null;
}

export interface RolloutRequest {
  readonly bundleName: string;
  readonly revisionHash: string;
  /** Agents named, at most. */
  readonly limit: number;
  /** The agent id that the page before ended with. */
  readonly after: string | null;
}

/** How far a document has come among the connected agents that follow its bundle, or all bundles. */
export interface Rollout {
  readonly connected: number;
  readonly running: number;
  /** Agents that run another version. */
  readonly behind: number;
  /** Agents that never reported a version. */
  readonly unknown: number;
  /** Versions that these agents run, most frequent first; at most 50. */
  readonly versions: readonly { readonly policyVersion: string; readonly agents: number }[];
  /** Agents that do not run the document, or do not report it, by agent id. */
  readonly rest: readonly {
    readonly agentId: string;
    readonly policyVersion: string | null;
    readonly connectedAt: number;
  }[];
  readonly more: boolean;
}

/** Key: tenant/env. Orders deployments and approvals of an environment; knows who is connected and who drifts. */
export type EnvironmentMessages = {
  /**
   * Signs the version with the active key, deploys it and announces that. `id` makes a repeat harmless.
   * Throws not_found (no such bundle version), changed (`ifMatch` is absent without a condition).
   */
  deploy: {
    body: {
      readonly ifMatch?: readonly string[];
      readonly id: string;
      readonly bundleName: string;
      readonly version: number;
      readonly deployedBy: string;
      readonly forced: boolean;
      /** Why; null if the deployer gave no reason. */
      readonly reason: string | null;
      /** The vocabulary of the document; null when both vocabularies load it. */
      readonly documentKind: DocumentKind | null;
      /** Deployer, for the audit chain; absent: the hub itself, or the deployer that `deployedBy` names. */
      readonly actor?: AuditActor;
    };
    reply: Deployment;
  };
  /**
   * Ends the bundle's current deployment and informs dashboards; agents keep their ruleset. The reply is the ended
   * deployment; null: nothing was deployed. Throws changed.
   */
  undeploy: { body: UndeployOrder; reply: Deployment | null };
  /** Announces every current deployment again (after a rotation of the signing key), `after` a bundle's name. */
  reannounce: { body: { readonly after: string } | null; reply: null };
  /** Stores a pending approval, sets its timer and announces it. `approval.id` makes a repeat harmless. */
  requestApproval: {
    body: {
      readonly approval: Approval;
      /**
       * Fingerprint that repeats of a request share; absent where repeats share an id. A second request with the same
       * fingerprint within 10 s may receive the first one's approval.
       */
      readonly fingerprint?: string;
      /** Id of the requesting API key, for the audit chain. */
      readonly keyId?: string;
    };
    reply: Approval;
  };
  /**
   * Finds the pending approval that a request with this fingerprint repeats, once, and creates none. Null: the request
   * is no repeat.
   */
  findRepeatedApproval: { body: { readonly fingerprint: string }; reply: Approval | null };
  /** Its agent has read it by its id, so that the answer to its request was not lost. */
  approvalRead: { body: { readonly id: string }; reply: null };
  /** Decides, and announces that. Throws not_found (unknown id) or conflict (not pending, or past its deadline). */
  decideApproval: {
    /** `actor`: the decider, for the audit chain; absent: a person known by `decidedBy` alone. */
    body: { readonly id: string; readonly decision: Decision; readonly actor?: AuditActor };
    reply: Approval;
  };
  /** Times out a due approval, and announces that once. The reply is true if this call timed the approval out. */
  expireApproval: { body: { readonly id: string }; reply: boolean };
  /** Announces again what an approval came to, unless that was announced: its owner may have died before. */
  announceApproval: { body: { readonly id: string }; reply: null };
  /** Removes an approval that nobody asked for, as the sample run's. */
  removeApproval: { body: { readonly id: string }; reply: null };
  /**
   * A stream opened (or is announced again). The reply contains the current deployments that the stream lacks by its
   * policy version. The reply also contains the bundle to follow, which an assignment may have changed since the
   * opening.
   */
  join: {
    body: StreamNotice & { readonly policyVersion: string | null };
    reply: { readonly catchUp: readonly Deployment[]; readonly bundleName: string | null };
  };
  leave: { body: { readonly connectionId: string; readonly agentId: string }; reply: null };
  /** The agent fetched a document; its streams that follow none count as running this one. */
  fetched: {
    body: { readonly agentId: string; readonly keyId: string; readonly fetched: FetchedRuleset };
    reply: null;
  };
  /**
   * The agent's effective bundle changed: its streams that are not pinned follow the new one, and get its current
   * deployment at once. A bundle that was resolved before the last received one changes nothing. `connected`: the agent
   * may have a stream that was not announced here yet.
   */
  retarget: {
    body: {
      readonly agentId: string;
      readonly bundleName: string | null;
      readonly connected?: boolean;
      readonly resolvedAt: ResolvedAt;
    };
    reply: null;
  };
  /** The agent runs this version (from events, a report or the connect query); an older `at` changes nothing. */
  reportVersion: {
    body: {
      readonly agentId: string;
      readonly bundleName: string | null;
      readonly policyVersion: string;
      readonly at: number;
    };
    reply: null;
  };
  /** Many `reportVersion` in one message, as an ingested batch yields them. */
  reportVersions: {
    body: {
      readonly reports: readonly {
        readonly agentId: string;
        readonly bundleName: string | null;
        readonly policyVersion: string;
        readonly at: number;
      }[];
    };
    reply: null;
  };
  /**
   * The tenant's assignment rules changed: every connected agent is resolved again. `rest`: those of an earlier change
   * that still are to be.
   */
  rulesChanged: { body: { readonly rest: true } | null; reply: null };
  /** A page of one entry per open stream, by agent id then time of connection. */
  status: { body: StatusRequest; reply: RosterPage };
  /** The open streams of an agent, the newest first, and how many there are. */
  streamsOf: {
    body: { readonly agentId: string; readonly limit: number };
    reply: OpenStreams;
  };
  rollout: { body: RolloutRequest; reply: Rollout };
  /** How the connected agents stand. Looks at each of them once. */
  fleet: { body: null; reply: FleetNumbers };
  /** Which bundles the connected agents follow and which versions they run. Looks at each of them once. */
  followed: { body: null; reply: readonly FollowedBundle[] };
  /** Open streams by the API key that opened them. */
  streamsByKey: { body: null; reply: { readonly [keyId: string]: number } };
  /** How these agents stand, in their order; at most a few hundred. `bundleName` counts for one without a stream. */
  agentStates: {
    body: { readonly agents: readonly { readonly agentId: string; readonly bundleName: string | null }[] };
    reply: readonly AgentState[];
  };
};

/** Key: tenant/env/agent. Owns an agent's streams, effective assignment and reported versions. */
export type AgentMessages = {
  /**
   * Registers the agent if unknown, within the caps of its API key, and resolves its assignment. `requested` is the
   * bundle that the stream asks for: it wins outright.
   */
  connect: {
    body: {
      readonly connectionId: string;
      readonly keyId: string;
      readonly node: string;
      readonly requested: string | null;
      readonly policyVersion: string | null;
      readonly tags: Tags;
      readonly at: number;
      readonly on: SeenOn;
    };
    reply: Resolution & { readonly resolvedAt: ResolvedAt };
  };
  disconnect: { body: { readonly connectionId: string }; reply: null };
  /**
   * Registration or rules changed: resolves again; when the result changed, announces that to the agent and retargets
   * its streams. `onward`: then sends word to the environment that the next agents may resolve.
   */
  resolve: { body: { readonly onward: true } | null; reply: Resolution };
  /** Report of the version that the agent runs now: stored, then sent to the environment. */
  report: {
    body: { readonly bundleName: string | null; readonly policyVersion: string; readonly at: number };
    reply: null;
  };
};

/**
 * `note` is for the audit chain. Conditions of a change, absent without one: `ifMatch`, hashes of the rule that is
 * changed, and `ifEnv`, the environment that it belongs to.
 */
export type RuleChange = {
  readonly note: AuditNote;
  readonly ifMatch?: readonly string[];
  readonly ifEnv?: Env;
} & (
  | { readonly action: 'create'; readonly rule: AssignmentRule }
  | {
      readonly action: 'update';
      readonly id: string;
      readonly patch: Partial<
        Pick<AssignmentRule, 'priority' | 'pattern' | 'tagMatch' | 'bundleName' | 'env'>
      >;
    }
  | { readonly action: 'delete'; readonly id: string }
);

/** Key: tenant. Orders changes of assignment rules and signing keys, and tells the environments. */
export type TenantMessages = {
  /** Throws conflict (priority taken, another environment), changed or not_found. Announces the change. */
  changeRule: { body: RuleChange; reply: AssignmentRule };
  /**
   * Explicit assignment of registered agents (null: unassign); announces it, and has each agent resolved again. `envs`:
   * where it holds. The reply: ids that were registered.
   */
  assign: {
    body: {
      readonly agentIds: readonly string[];
      readonly bundleName: string | null;
      readonly envs: readonly Env[];
      readonly bulk: boolean;
      readonly note: AuditNote;
    };
    reply: readonly string[];
  };
  /**
   * Makes `newKeyId` the active signing key and signs every current deployment with it; announces the key and every
   * deployment again. `compromised`: the old key does not vouch for the new one, and no agent that pinned it follows
   * (`followed` is false).
   */
  rotateSigningKey: {
    /** `actor`: the person or system that rotates the key, for the audit chain. */
    body: { readonly newKeyId: string; readonly compromised: boolean; readonly actor: AuditActor };
    reply: {
      readonly publicKey: string;
      readonly rotatedAt: number;
      readonly resigned: number;
      readonly followed: boolean;
    };
  };
};

export type HubKinds = {
  environment: EnvironmentMessages;
  agent: AgentMessages;
  tenant: TenantMessages;
};

export type HubActors = Actors<HubKinds>;

const teller =
  <K extends Kinds>() =>
  <Kind extends keyof K & string, T extends keyof K[Kind] & string>(
    kind: Kind,
    key: string,
    type: T,
    body: K[Kind][T]['body'],
  ): Tell => ({ kind, key, type, body });

/** A tell to one of the hub's actors, with its body held to the protocol. */
export const tellTo = teller<HubKinds>();

/** A stream ends within an hour and its jitter; one known for longer has gone without a word (its node died). */
export const streamLifeMs = 75 * 60_000;
