// Everything that a store contains, as records that no store's form shows: what a move carries from one store to
// another. Both sides read the same records, so equal digests prove that nothing was lost or changed.
import type { PinMode } from 'reeve-agent/rules';
import type { AssignmentRule, PastStream, Registration, StoredReport } from '../../agent/record.ts';
import type { Approval, StoredArgs } from '../../approval/record.ts';
import type { AiDay } from '../../assistant/record.ts';
import type { AuditLink, SignedHead } from '../../audit/record.ts';
import type { BundleVersion } from '../../bundle/record.ts';
import type { Composition } from '../../composition/record.ts';
import type { ContractType, ContractVersion } from '../../contract/record.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { StoredEvent } from '../../event/record.ts';
import type { ApprovalChange, OrderedKind } from '../../export/record.ts';
import type { ApiKey } from '../../key/record.ts';
import type { Channel, Delivery } from '../../notification/record.ts';
import type { StoredRun } from '../../run/record.ts';
import type { SessionValue } from '../../session/record.ts';
import type { KeySuccession, SigningKey } from '../../signing/record.ts';
import type { TenantRecord } from '../../tenant/port/records.ts';
import type { RetentionCounts } from '../../tenant/rules/retention.ts';
import type { Setting } from '../../tenant/rules/settings.ts';
import type { ToolDefinition, ToolEntry, ToolServer } from '../../tool/record.ts';
import type { OperatorTokenRecord } from '../../user/port/operator-tokens.ts';
import type { LinkedAccount, Login, ServiceAccount, ServiceToken, User } from '../../user/record.ts';
import type { SavedView } from '../../view/record.ts';
import type { Env } from '../ids.ts';
import type { StoredAnswer } from './idempotency.ts';
import type { JobState } from './jobs.ts';

export interface MovedSignIn {
  readonly userId: string;
  readonly network: string;
  readonly lastAt: number;
}

/** A deployment and its place among all of its tenant, from 1. */
export type MovedDeployment = Deployment & { readonly order: number };

/** Records that decide about a tenant's deployments. Lists are in the order of their names, or of `order`. */
export interface MovedSigning {
  readonly tenantId: string;
  readonly active: SigningKey;
  /** Oldest first. */
  readonly successions: readonly KeySuccession[];
  readonly deployments: number;
  readonly current: readonly MovedDeployment[];
  /** The last sequence of each bundle in each environment; it outlives its deployment. */
  readonly sequences: readonly { readonly env: string; readonly bundleName: string; readonly last: number }[];
  /** The newest version of each bundle that was removed. */
  readonly removed: readonly { readonly bundleName: string; readonly version: number }[];
}

export type MovedBundle = Omit<BundleVersion, 'signature'> & {
  /** Base64; empty for a version that was removed. */
  readonly yaml: string;
  readonly deletedAt: number | null;
};

export type MovedContract = ContractVersion & {
  /** Id of the oldest version. */
  readonly lineage: string;
  readonly order: number;
  readonly isLatest: boolean;
};

/** The contracts and compositions of a tenant, by name. */
export interface MovedLibrary {
  readonly tenantId: string;
  readonly contracts: readonly {
    readonly contractId: string;
    readonly type: ContractType;
    readonly version: number;
    /** Id of that version. */
    readonly row: string;
    readonly lineage: string;
  }[];
  readonly compositions: readonly (Composition & {
    readonly order: number;
    /** Ids of the contract versions of its items, in their order. */
    readonly rows: readonly string[];
  })[];
}

export type MovedEvent = StoredEvent & {
  readonly tenantId: string;
  /** Numbers of its outcomes, which rise in the order of their arrival. */
  readonly outcomeIds: readonly number[];
};

/** Lines of exports that were written together: events of one segment, an outcome, or a change of an approval. */
export type MovedExportItem =
  | { readonly events: readonly string[] }
  | { readonly outcome: { readonly id: number; readonly eventId: string; readonly index: number } }
  | { readonly approval: { readonly id: string; readonly change: ApprovalChange } };

/** The facts contain the ids of its events. */
export type MovedRun = StoredRun;

export type MovedApproval = Approval & {
  /** Tells approvals of one millisecond apart, in order. */
  readonly order: number;
  readonly unannouncedAt: number | null;
  readonly decisionId: string | null;
};

export interface MovedIdempotency {
  readonly tenantId: string;
  readonly id: string;
  readonly bodyHash: string;
  readonly newId: string;
  readonly runsUntil: number;
  readonly expiresAt: number;
  readonly answer: StoredAnswer | null;
}

/** The tool pins of an environment. */
export interface MovedPins {
  readonly tenantId: string;
  readonly env: Env;
  readonly mode: PinMode;
  readonly sequence: number;
  readonly servers: readonly ToolServer[];
  readonly entries: readonly (Omit<ToolEntry, 'lastSeenAt'> & { readonly isAnnounced: boolean })[];
}

export interface MovedDefinition
  extends Pick<ToolDefinition, 'id' | 'tenantId' | 'env' | 'server' | 'tool' | 'lastSeenAt' | 'definition'> {
  /** JSON. */
  readonly agents: string;
  readonly isRuled: boolean;
}

/** A session value that has not expired. */
export interface MovedJob {
  readonly queue: string;
  readonly id: string;
  readonly payload: unknown;
  /** A job that ran when the hub ended waits. */
  readonly state: Exclude<JobState, 'running'>;
  /** Epoch milliseconds; not before the move's time. 0 for a dead job. */
  readonly runAt: number;
  readonly failures: number;
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
  readonly error: string | null;
  readonly diedAt: number | null;
}

export interface MovedRecords {
  readonly seals: { readonly name: string; readonly value: string };
  readonly tenants: TenantRecord;
  readonly users: User;
  readonly logins: Login;
  readonly signIns: MovedSignIn;
  readonly identities: LinkedAccount;
  readonly workspaces: { readonly issuer: string; readonly workspaceId: string; readonly tenantId: string };
  readonly keys: ApiKey;
  readonly serviceAccounts: ServiceAccount;
  readonly serviceTokens: ServiceToken;
  readonly operatorTokens: OperatorTokenRecord;
  readonly views: SavedView;
  readonly signing: MovedSigning;
  readonly bundles: MovedBundle;
  readonly deployments: MovedDeployment;
  readonly contracts: MovedContract;
  readonly libraries: MovedLibrary;
  readonly rules: AssignmentRule;
  readonly settings: Setting;
  readonly channels: Channel;
  readonly deliveries: Delivery;
  readonly aiUsage: AiDay;
  readonly agents: Registration;
  readonly agentStreams: PastStream;
  readonly reports: StoredReport;
  readonly leftOut: { readonly tenantId: string; readonly hour: number; readonly count: number };
  readonly toolPins: MovedPins;
  readonly toolDefinitions: MovedDefinition;
  readonly approvals: MovedApproval;
  readonly approvalArgs: StoredArgs;
  readonly idempotency: MovedIdempotency;
  readonly retentionCounts: { readonly tenantId: string; readonly removed: RetentionCounts };
  readonly auditLinks: AuditLink & { readonly tenantId: string; readonly at: number };
  readonly auditHeads: SignedHead & { readonly starts: boolean };
  readonly runs: MovedRun;
  readonly events: MovedEvent;
  readonly exportLinks: {
    readonly tenantId: string;
    readonly kind: OrderedKind;
    /** From 1, without a gap. */
    readonly seq: number;
    readonly items: readonly MovedExportItem[];
  };
  /** Number of lines that removal took out of the exports of a tenant. */
  readonly exportRemovals: {
    readonly tenantId: string;
    readonly kind: OrderedKind;
    readonly removed: number;
  };
  readonly values: SessionValue;
  readonly jobs: MovedJob;
}

export type RecordKind = keyof MovedRecords;

/** Kinds whose records are a row, or a document, each. */
export type SingleKind =
  | 'seals'
  | 'tenants'
  | 'users'
  | 'logins'
  | 'signIns'
  | 'identities'
  | 'workspaces'
  | 'keys'
  | 'serviceAccounts'
  | 'serviceTokens'
  | 'operatorTokens'
  | 'views'
  | 'rules'
  | 'settings'
  | 'channels'
  | 'deliveries'
  | 'aiUsage'
  | 'agents'
  | 'agentStreams'
  | 'reports'
  | 'leftOut'
  | 'idempotency'
  | 'retentionCounts';

export type LibraryKind =
  | 'signing'
  | 'deployments'
  | 'bundles'
  | 'contracts'
  | 'libraries'
  | 'toolPins'
  | 'toolDefinitions';

export type ActivityKind = 'events' | 'runs' | 'approvals' | 'approvalArgs' | 'auditLinks' | 'auditHeads';

export type ExportOrderKind = 'exportLinks' | 'exportRemovals';

/** In the order in which they are copied. */
export const recordKinds: readonly RecordKind[] = [
  'seals',
  'tenants',
  'users',
  'logins',
  'signIns',
  'identities',
  'workspaces',
  'keys',
  'serviceAccounts',
  'serviceTokens',
  'operatorTokens',
  'views',
  'signing',
  'bundles',
  'deployments',
  'contracts',
  'libraries',
  'rules',
  'settings',
  'channels',
  'deliveries',
  'aiUsage',
  'agents',
  'agentStreams',
  'reports',
  'leftOut',
  'toolPins',
  'toolDefinitions',
  'approvals',
  'approvalArgs',
  'idempotency',
  'retentionCounts',
  'auditLinks',
  'auditHeads',
  'runs',
  'events',
  'exportLinks',
  'exportRemovals',
  'values',
  'jobs',
];

/** Texts in the order of their code units. */
export const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
