// Events for connected clients, in the words of the domain. src/http/live selects the events of each API, their
// receivers and their words. Pure.

import type { IsolationMode } from 'reeve-agent/rules';
import type { FleetNumbers } from '../agent/record.ts';
import type { Resolution } from '../agent/rules/assignment.ts';
import type { Approval } from '../approval/record.ts';
import type { BundleVersion } from '../bundle/record.ts';
import type { Deployment } from '../deployment/record.ts';
import type { VerdictCounts } from '../event/record.ts';
import type { KeySuccession } from '../signing/record.ts';
import type { Env } from './ids.ts';

/** A deployment, and what clients check it by. */
interface DeployedBytes {
  readonly deployment: Deployment;
  /** Its bundle version's bytes, over which the signature was made. */
  readonly yaml: Uint8Array;
  /** The tenant's, oldest first. */
  readonly successions: readonly KeySuccession[];
}

/** Trace of an earlier request that a message belongs to: the trace of a call goes on with the decision about it. */
export interface OfTrace {
  /** A `traceparent`; absent: it belongs to the work that announces it. */
  readonly trace?: string;
}

/** Announcements by kind. */
export interface Announcements {
  approvalRequested: { readonly approval: Approval };
  approvalDecided: { readonly approval: Approval } & OfTrace;
  approvalExpired: { readonly approval: Approval } & OfTrace;
  /** Somebody has taken a pending approval, or given it back. */
  approvalAssigned: { readonly approval: Approval };

  /** A bundle version was put to work in an environment. */
  bundleDeployed: DeployedBytes & {
    /** Of the bundle, in the environment; null when there was none, or it is not known any more. */
    readonly previousVersion?: number | null;
    /** Epoch milliseconds; absent where it was announced before. */
    readonly acceptedAt?: number;
  };
  /** A bundle was undeployed from an environment. Its agents keep it. */
  bundleUndeployed: { readonly deployment: Deployment; readonly undeployedBy: string };
  /** A current deployment has a new signature. */
  deploymentResigned: DeployedBytes;
  /**
   * A deployment that was announced before is due to this agent, because it was assigned the bundle; null: to the
   * stream that connects.
   */
  deploymentDue: DeployedBytes & { readonly agentId: string | null };

  /** An assignment or a rule gives an agent another bundle in an environment. */
  agentReassigned: {
    readonly tenantId: string;
    readonly env: Env;
    readonly agentId: string;
    readonly bundleName: string | null;
    readonly source: Resolution['source'];
  };
  /** The numbers of an environment's connected agents changed, or somebody begins to watch them. */
  fleetChanged: { readonly tenantId: string; readonly env: Env; readonly numbers: FleetNumbers };
  /**
   * Somebody assigned a bundle to registered agents (null: took it away); `bulk` when it was done for a list of them.
   */
  agentsAssigned: {
    readonly tenantId: string;
    readonly agentIds: readonly string[];
    readonly bundleName: string | null;
    /** Environments in which the assignment holds. */
    readonly envs: readonly Env[];
    readonly bulk: boolean;
  };
  assignmentRuleChanged: {
    readonly tenantId: string;
    readonly ruleId: string;
    /** Environment of the rule; every environment if an update may have moved the rule from another. */
    readonly envs: readonly Env[];
    readonly change: 'created' | 'updated' | 'deleted';
  };
  /** Modes or decisions of tool pins changed, or definitions are new. `server` is null for a whole environment. */
  toolPinsChanged: {
    readonly tenantId: string;
    readonly env: Env;
    readonly server: string | null;
    readonly sequence: number;
    /** False if no pin document changed. */
    readonly isForAgents: boolean;
  };
  /** The tenant's least isolation of programs changed, or an agent's stream opens. */
  isolationChanged: { readonly tenantId: string; readonly env: Env; readonly isolation: IsolationMode };
  signingKeyRotated: { readonly tenantId: string; readonly publicKey: string };

  bundleUploaded: { readonly bundle: Omit<BundleVersion, 'snapshot' | 'signature'> };
  /** `version` is null where many were imported at once. */
  contractCreated: {
    readonly tenantId: string;
    readonly contractId: string;
    readonly version: number | null;
  };
  contractUpdated: {
    readonly tenantId: string;
    readonly contractId: string;
    readonly version: number | null;
  };
  /** A composition was created, changed or deleted, or, with the bundle version that was saved, deployed. */
  compositionChanged: {
    readonly tenantId: string;
    readonly name: string;
    readonly bundleVersion: number | null;
  };
  /** A batch of audit events was stored; `accepted` counts those that were new. */
  eventsAccepted: { readonly tenantId: string; readonly env: Env; readonly accepted: number };
  /**
   * Counts of events that a node received in a minute and stored since its announcement before. All are zero when only
   * outcomes of stored events came.
   */
  callsCounted: {
    /** The same when it is repeated, because nobody knows whether it reached anybody. */
    readonly id: string;
    readonly tenantId: string;
    readonly env: Env;
    /** Time when the minute began, epoch milliseconds. */
    readonly minute: number;
    readonly counts: VerdictCounts;
  };
  apiKeyCreated: {
    readonly tenantId: string;
    readonly keyId: string;
    readonly env: Env | null;
    readonly label: string | null;
  };
  apiKeyRevoked: { readonly tenantId: string; readonly keyId: string; readonly env: Env | null };
}

export type AnnouncementKind = keyof Announcements;

export type AnnouncementOf<K extends AnnouncementKind> = { readonly kind: K } & Announcements[K];

export type Announcement = { [K in AnnouncementKind]: AnnouncementOf<K> }[AnnouncementKind];
