// All stores on one database of MongoDB, without the guard.
import type { Db } from 'mongodb';
import { type Admission, refusalOf } from '../../src/admission/admission.ts';
import { admissionTable } from '../../src/admission/table.ts';
import type { AuditStore } from '../../src/audit/port.ts';
import { createKeyedMutex, type KeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { AgentRow } from './agent-rows.ts';
import { mongoAgentStreams } from './agent-streams.ts';
import { mongoAgents } from './agents.ts';
import { mongoAiUsage } from './ai-usage.ts';
import type { ApprovalRow } from './approval-rows.ts';
import { mongoApprovals } from './approvals.ts';
import { type BundleCollections, bundleHasVersion, mongoBundles } from './bundles.ts';
import { mongoChannels } from './channels.ts';
import { mongoCompositions } from './compositions.ts';
import { mongoContracts } from './contracts.ts';
import { mongoDeliveries } from './deliveries.ts';
import { mongoDeployments } from './deployments.ts';
import type { EventRow } from './event-filter.ts';
import { notingAgents } from './event-ingest.ts';
import { mongoEvents } from './events.ts';
import { type ExportLinkRow, ExportLog } from './export-log.ts';
import { exportRemovals } from './export-removals.ts';
import { mongoExports } from './exports.ts';
import { mongoIdempotency } from './idempotency.ts';
import { mongoIdentities } from './identities.ts';
import { mongoInstallation } from './installation.ts';
import { mongoKeyCheck } from './key-check.ts';
import { mongoKeys } from './keys.ts';
import type { Library } from './library.ts';
import { mongoLogins } from './logins.ts';
import { mongoOperatorTokens } from './operator-tokens.ts';
import { mongoRetention } from './retention.ts';
import { mongoRules } from './rules.ts';
import { mongoRuns, touchingRuns } from './runs.ts';
import { SeenTimes } from './seen-times.ts';
import { mongoServiceAccounts } from './service-accounts.ts';
import { mongoSettings } from './settings.ts';
import { mongoSigning } from './signing.ts';
import { mongoTenantFiles } from './tenant-files.ts';
import { mongoTenantRecords } from './tenant-records.ts';
import { finishFounding, mongoTenants, type TenantCollections } from './tenants.ts';
import { mongoTools } from './tools.ts';
import { mongoUsage } from './usage.ts';
import { type RisingIds, risingIds } from './uuidv7.ts';
import { mongoViews } from './views.ts';
import { mongoWorkspaces } from './workspaces.ts';

/** Tenants, their people, and others with access. */
function tenantStores(db: Db, founding: TenantCollections, turn: KeyedMutex) {
  const tenants = mongoTenants(founding);
  return {
    tenants,
    tenantRecords: mongoTenantRecords(db, founding),
    tenantFiles: mongoTenantFiles(db),
    logins: mongoLogins(db.collection('logins'), db.collection('signIns')),
    identities: mongoIdentities(db.collection('identities')),
    keys: mongoKeys(db.collection('keys')),
    serviceAccounts: mongoServiceAccounts(db.collection('serviceAccounts'), db.collection('serviceTokens')),
    operatorTokens: mongoOperatorTokens(db.collection('operatorTokens')),
    views: mongoViews(db.collection('views')),
    signing: mongoSigning(founding.signing, turn, (tenantId) => finishFounding(founding, tenantId)),
    settings: mongoSettings(db.collection('settings')),
    aiUsage: mongoAiUsage(db.collection('aiUsage')),
    channels: mongoChannels(db.collection('channels')),
    deliveries: mongoDeliveries(db.collection('deliveries')),
    keyCheck: mongoKeyCheck(db.collection('seals')),
    workspaces: mongoWorkspaces(db.collection('workspaces')),
    idempotency: mongoIdempotency(db.collection('idempotency')),
    installation: mongoInstallation(db, () => tenants.listIds()),
  };
}

/** Documents of people, and those that are deployed. */
function ruleStores(db: Db, founding: TenantCollections, turn: KeyedMutex, newId: () => string) {
  const library: Library = {
    documents: db.collection('libraries'),
    rows: db.collection('contracts'),
    turn,
    newId,
  };
  const bundles: BundleCollections = {
    signing: founding.signing,
    deployments: db.collection('deployments'),
    bundles: db.collection('bundles'),
  };
  return {
    contracts: mongoContracts(library),
    compositions: mongoCompositions(library),
    bundles: mongoBundles(bundles, turn),
    deployments: mongoDeployments(bundles, turn, bundleHasVersion(bundles.bundles)),
    rules: mongoRules(db.collection('rules')),
    tools: mongoTools({ documents: db.collection('toolPins'), rows: db.collection('toolDefinitions') }, turn),
  };
}

interface NodeOptions {
  readonly clock: Clock;
  readonly admission: Admission;
  readonly log: Log;
}

/** Reports and requests of agents, their exports and their retention. */
function activityStores(
  db: Db,
  audit: AuditStore,
  nextId: RisingIds,
  { clock, admission, log }: NodeOptions,
) {
  const events = db.collection<EventRow>('events');
  const approvals = db.collection<ApprovalRow>('approvals');
  const links = db.collection<ExportLinkRow>('exportLinks');
  const exportLog = new ExportLog(
    { links, events, approvals, batches: db.collection('eventBatches') },
    clock,
  );
  const removals = exportRemovals(db.collection('exportRemovals'), links, events, approvals);
  const registrations = db.collection<AgentRow>('agents');
  const seenTimes = new SeenTimes(registrations, clock, log);
  const agents = mongoAgents(registrations, db.collection('reports'), db.collection('leftOut'), seenTimes);
  const eventStore = mongoEvents(events, db.collection('runs'), audit, nextId, clock, {
    log: exportLog,
    removals,
    admission,
  });
  const stores = {
    events: { ...eventStore, ingest: notingAgents(eventStore.ingest, agents) },
    runs: mongoRuns(db.collection('runs'), events, approvals, audit, clock),
    usage: mongoUsage(events),
    approvals: touchingRuns(
      mongoApprovals(approvals, db.collection('approvalArgs'), nextId, clock, exportLog),
      db.collection('runs'),
    ),
    agents,
    agentStreams: mongoAgentStreams(db.collection('agentStreams')),
    exports: mongoExports({ links, events, approvals, removals }),
    retention: mongoRetention({
      events,
      runs: db.collection('runs'),
      approvals,
      approvalArgs: db.collection('approvalArgs'),
      deliveries: db.collection('deliveries'),
      counts: db.collection('retentionCounts'),
      removals,
    }),
  };
  return { stores, exportLog, seenTimes };
}

/** @returns the stores, and what must be closed after them: the log of exports, and the agents' times that wait */
export function storesOf(db: Db, founding: TenantCollections, audit: AuditStore, node: NodeOptions) {
  const { clock } = node;
  // The process's own calls must not lose to each other at compare-and-set.
  const turn = createKeyedMutex({
    now: clock.monotonic,
    maxWaitMs: admissionTable.mongoDocumentChanges.ms,
    refusal: () => refusalOf('mongoDocumentChanges'),
  });
  const nextId = risingIds();
  const { stores, exportLog, seenTimes } = activityStores(db, audit, nextId, node);
  return {
    stores: {
      ...tenantStores(db, founding, turn),
      ...ruleStores(db, founding, turn, () => nextId(clock.now())),
      ...stores,
    },
    exportLog,
    seenTimes,
  };
}
