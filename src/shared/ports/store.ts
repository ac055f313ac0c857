// The store: the truth, in one place. Adapters: sqlite (embedded) and mongo (cluster); both pass test/contract.
// Adapters keep promise P19.

import type { AgentStore, AgentStreamStore, RuleStore } from '../../agent/port.ts';
import type { ApprovalStore } from '../../approval/port.ts';
import type { AiUsageStore } from '../../assistant/port/usage.ts';
import type { AuditStore, Noting } from '../../audit/port.ts';
import type { BundleStore } from '../../bundle/port.ts';
import type { CompositionStore } from '../../composition/port.ts';
import type { ContractStore } from '../../contract/port.ts';
import type { DeploymentStore } from '../../deployment/port.ts';
import type { EventStore } from '../../event/port.ts';
import type { ExportStore } from '../../export/port.ts';
import type { KeyStore } from '../../key/port.ts';
import type { ChannelStore, DeliveryStore } from '../../notification/port/channels.ts';
import type { RunStore } from '../../run/port.ts';
import type { SigningStore } from '../../signing/port.ts';
import type { TenantFileStore, TenantReading } from '../../tenant/port/files.ts';
import type { TenantRecordStore } from '../../tenant/port/records.ts';
import type { RetentionStore } from '../../tenant/port/retention.ts';
import type { SettingsStore } from '../../tenant/port/settings.ts';
import type { TenantStore } from '../../tenant/port/tenants.ts';
import type { WorkspaceStore } from '../../tenant/port/workspaces.ts';
import type { ToolStore } from '../../tool/port.ts';
import type { UsageStore } from '../../usage/port.ts';
import type { IdentityStore } from '../../user/port/identities.ts';
import type { LoginStore } from '../../user/port/logins.ts';
import type { OperatorTokenStore } from '../../user/port/operator-tokens.ts';
import type { ServiceAccountStore } from '../../user/port/service-accounts.ts';
import type { ViewStore } from '../../view/port.ts';
import type { Storage } from '../storage.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { InstallationStore } from './installation.ts';
import type { KeyCheckStore } from './key-check.ts';
import type { ValueStore } from './values.ts';

/** All but session values, which a cluster keeps in Redis. */
export type DocumentStore = Omit<Store, 'values'>;

/** The stores whose writes can take a note along. */
export type NotingStores = Omit<
  Store,
  | 'events'
  | 'values'
  | 'aiUsage'
  | 'agentStreams'
  | 'idempotency'
  | 'installation'
  | 'keyCheck'
  | 'audit'
  | 'exports'
  | 'readTenant'
  | 'noting'
  | 'ping'
  | 'storage'
  | 'close'
>;

/** All store ports of one database. */
export interface Store {
  readonly tenants: TenantStore;
  readonly tenantRecords: TenantRecordStore;
  readonly tenantFiles: TenantFileStore;
  readonly retention: RetentionStore;
  readonly logins: LoginStore;
  readonly identities: IdentityStore;
  readonly keys: KeyStore;
  readonly operatorTokens: OperatorTokenStore;
  readonly views: ViewStore;
  readonly serviceAccounts: ServiceAccountStore;
  readonly signing: SigningStore;
  readonly contracts: ContractStore;
  readonly compositions: CompositionStore;
  readonly bundles: BundleStore;
  readonly deployments: DeploymentStore;
  readonly events: EventStore;
  readonly runs: RunStore;
  readonly usage: UsageStore;
  readonly approvals: ApprovalStore;
  readonly agents: AgentStore;
  readonly agentStreams: AgentStreamStore;
  readonly rules: RuleStore;
  readonly settings: SettingsStore;
  readonly tools: ToolStore;
  readonly aiUsage: AiUsageStore;
  readonly channels: ChannelStore;
  readonly deliveries: DeliveryStore;
  readonly values: ValueStore;
  readonly keyCheck: KeyCheckStore;
  readonly audit: AuditStore;
  readonly workspaces: WorkspaceStore;
  readonly exports: ExportStore;
  readonly idempotency: IdempotencyStore;
  readonly installation: InstallationStore;
  /**
   * The stores with a note for the next write: it is recorded exactly when the write's answer means a change
   * (`didChange`), never without it and never twice. For one write; reads take no note along.
   */
  noting(noting: Noting): NotingStores;
  /**
   * Begins to read all records of a tenant. Records acknowledged before are among them; a later change is whole or not
   * at all. The reading must be closed.
   */
  readTenant(tenantId: string): Promise<TenantReading>;
  /** Round trip to the store in milliseconds. Throws `unavailable` when it does not answer within 2 s. */
  ping(): Promise<number>;
  /** State of the space for writes, without a request. It is about a second old at most. */
  storage(): Storage;
  /** Finishes what is acknowledged and closes. */
  close(): Promise<void>;
}
