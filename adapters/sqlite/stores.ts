// All stores on one connection, and which of their methods only read.
import { agentStreamStore } from './agent-streams.ts';
import { agentStore } from './agents.ts';
import { aiUsageStore } from './ai-usage.ts';
import { approvalStore } from './approvals.ts';
import { auditStore } from './audit.ts';
import { bundleStore } from './bundles.ts';
import { channelStore } from './channels.ts';
import { compositionStore } from './compositions.ts';
import { contractStore } from './contracts.ts';
import type { Database } from './database.ts';
import { deliveryStore } from './deliveries.ts';
import { deploymentStore } from './deployments.ts';
import { arrivals, getNewestSeq, newestOf } from './events/arrival.ts';
import type { CallIndex } from './events/calls.ts';
import { countFitting, countReceived, counts, facets, histogram } from './events/count.ts';
import { eventWriter } from './events/ingest.ts';
import { eventOf, eventPages } from './events/search.ts';
import { rankedSeries, series, seriesTotals } from './events/series.ts';
import { exportStore } from './exports.ts';
import { idempotencyStore } from './idempotency.ts';
import { identityStore } from './identities.ts';
import { installationStore } from './installation.ts';
import { jobTable } from './jobs.ts';
import { sealStore } from './key-check.ts';
import { keyStore } from './keys.ts';
import { loginStore } from './logins.ts';
import { operatorTokenStore } from './operator-tokens.ts';
import { retentionStore } from './retention.ts';
import { ruleStore } from './rules.ts';
import { runStore } from './runs.ts';
import { serviceAccountStore } from './service-accounts.ts';
import { settingsStore } from './settings.ts';
import { signingStore } from './signing.ts';
import { type SqliteStore, type StoreName, type Stores, within } from './sync.ts';
import { tenantFileStore } from './tenant-files.ts';
import { tenantRecordStore } from './tenant-records.ts';
import { tenantStore } from './tenants.ts';
import { toolStore } from './tools.ts';
import { usageStore } from './usage/read.ts';
import type { UsageWriter } from './usage/write.ts';
import { valueStore } from './values.ts';
import { viewStore } from './views.ts';
import { workspaceStore } from './workspaces.ts';

type EventWrites = ReturnType<typeof eventWriter>;

function eventStore(db: Database, { removeOld: _removeOld, ...writes }: EventWrites): Stores['events'] {
  return {
    ...writes,
    ...eventPages(db),
    get: (tenantId, id) => eventOf(db, tenantId, id),
    facets: (tenant, filter, limit, names, ms) => within(facets(db, tenant, filter, limit, names), ms),
    count: (tenantId, filter) => countFitting(db, tenantId, filter),
    series: (tenantId, request) => series(db, tenantId, request),
    seriesTotals: (tenantId, scope, limit) => seriesTotals(db, tenantId, scope, limit),
    rankedSeries: (tenantId, request, limit) => rankedSeries(db, tenantId, request, limit),
    histogram: (tenant, filter, bucketMs, ms) => within(histogram(db, tenant, filter, bucketMs), ms),
    counts: (...request) => counts(db, ...request),
    countReceived: (tenantId, before) => countReceived(db, tenantId, before),
    listArrivals: (tenantId, after, limit) => arrivals(db, tenantId, after, limit),
    getNewestSeq: () => getNewestSeq(db),
    // One writer gives the places, in the order of its commits.
    settledBy: (seq) => seq,
    newestOf: (tenantId, agents) => newestOf(db, tenantId, agents),
  };
}

/**
 * `calls` and `usage` are loaded into memory for the connection that writes. Connections that read never use them.
 * @param mayGrow false while the disk has too little room for what can wait
 */
export function storesOf(
  db: Database,
  { calls, usage }: { readonly calls: CallIndex; readonly usage: UsageWriter },
  mayGrow: () => boolean,
): Stores {
  const eventWrites = eventWriter(db, calls, usage);
  return {
    tenants: tenantStore(db),
    tenantRecords: tenantRecordStore(db),
    tenantFiles: tenantFileStore(db, usage),
    retention: retentionStore(db, { removeOld: eventWrites.removeOld, flush: () => usage.flush() }),
    logins: loginStore(db),
    identities: identityStore(db),
    keys: keyStore(db),
    operatorTokens: operatorTokenStore(db),
    views: viewStore(db),
    serviceAccounts: serviceAccountStore(db),
    signing: signingStore(db),
    contracts: contractStore(db),
    compositions: compositionStore(db),
    bundles: bundleStore(db),
    deployments: deploymentStore(db),
    events: eventStore(db, eventWrites),
    runs: runStore(db),
    usage: usageStore(db),
    approvals: approvalStore(db, mayGrow),
    agents: agentStore(db),
    agentStreams: agentStreamStore(db),
    rules: ruleStore(db),
    settings: settingsStore(db),
    tools: toolStore(db),
    aiUsage: aiUsageStore(db),
    channels: channelStore(db),
    deliveries: deliveryStore(db),
    values: valueStore(db, mayGrow),
    keyCheck: sealStore(db),
    jobs: jobTable(db),
    audit: auditStore(db),
    workspaces: workspaceStore(db),
    exports: exportStore(db),
    idempotency: idempotencyStore(db),
    installation: installationStore(db),
  };
}

export type Kind = 'read' | 'write';

/** Where each method runs. The compiler asks for every method of the port. */
export const kinds: { readonly [N in StoreName]: { readonly [M in keyof SqliteStore[N]]: Kind } } = {
  tenants: {
    anyUser: 'read',
    hasSeveral: 'read',
    bootstrap: 'write',
    provision: 'write',
    create: 'write',
    createUser: 'write',
    getUserByEmail: 'read',
    getUser: 'read',
    listUsers: 'read',
    updateRoles: 'write',
    removeUser: 'write',
    updatePassword: 'write',
    listIds: 'read',
  },
  tenantRecords: {
    list: 'read',
    get: 'read',
    getFigures: 'read',
    update: 'write',
    markRemoved: 'write',
    listClosed: 'read',
    removeRecords: 'write',
    remove: 'write',
  },
  tenantFiles: {
    begin: 'write',
    get: 'read',
    write: 'write',
    createPart: 'write',
    listParts: 'read',
    open: 'write',
  },
  retention: { count: 'read', remove: 'write', settle: 'write' },
  identities: { get: 'read', getOfUser: 'read', create: 'write', removeOfUser: 'write' },
  logins: {
    create: 'write',
    listOfProviderSession: 'read',
    get: 'read',
    extend: 'write',
    listOfUser: 'read',
    remove: 'write',
    removeOfUser: 'write',
    removeExpired: 'write',
    signedInFrom: 'write',
    hasSignedInFrom: 'read',
    removeNetworks: 'write',
  },
  keys: { create: 'write', list: 'read', getByHash: 'read', revoke: 'write', used: 'write' },
  serviceAccounts: {
    create: 'write',
    list: 'read',
    get: 'read',
    update: 'write',
    remove: 'write',
    createToken: 'write',
    listTokens: 'read',
    getNextExpiries: 'read',
    revokeToken: 'write',
    getByHash: 'read',
    used: 'write',
    removeExpiredTokens: 'write',
  },
  agentStreams: { record: 'write', list: 'read', listOpen: 'read', listAway: 'read', removeBefore: 'write' },
  views: {
    create: 'write',
    get: 'read',
    list: 'read',
    update: 'write',
    remove: 'write',
    removeOwn: 'write',
  },
  operatorTokens: {
    create: 'write',
    list: 'read',
    isRevoked: 'read',
    revoke: 'write',
    removeExpired: 'write',
  },
  signing: { getActive: 'read', create: 'write', listSuccessions: 'read', rotate: 'write' },
  contracts: {
    create: 'write',
    update: 'write',
    get: 'read',
    getVersion: 'read',
    listVersions: 'read',
    list: 'read',
    listTags: 'read',
    remove: 'write',
    listUsage: 'read',
    countUsage: 'read',
    importBundle: 'write',
  },
  compositions: {
    create: 'write',
    update: 'write',
    get: 'read',
    listItems: 'read',
    listEnabledItems: 'read',
    list: 'read',
    listAutomatic: 'read',
    remove: 'write',
  },
  bundles: {
    upload: 'write',
    uploadAfter: 'write',
    getVersion: 'read',
    listVersions: 'read',
    getYaml: 'read',
    list: 'read',
    listByRevision: 'read',
    remove: 'write',
  },
  deployments: {
    getLastSequence: 'read',
    deploy: 'write',
    attest: 'write',
    undeploy: 'write',
    wasDeployed: 'read',
    getLast: 'read',
    listCurrent: 'read',
    getCurrent: 'read',
    listAllCurrent: 'read',
    get: 'read',
    list: 'read',
    listRollbacks: 'read',
  },
  events: {
    ingest: 'write',
    search: 'read',
    listCountable: 'read',
    get: 'read',
    facets: 'read',
    count: 'read',
    listArrivals: 'read',
    getNewestSeq: 'read',
    settledBy: 'read',
    newestOf: 'read',
    histogram: 'read',
    series: 'read',
    seriesTotals: 'read',
    rankedSeries: 'read',
    counts: 'read',
    countReceived: 'read',
    removeBefore: 'write',
    removeIdleRuns: 'write',
    removeAll: 'write',
    removeSample: 'write',
  },
  runs: { list: 'read', get: 'read', listRecent: 'read', countPending: 'read' },
  usage: {
    listTools: 'read',
    fleet: 'read',
    listToolsOfAgents: 'read',
    listContracts: 'read',
    getSpan: 'read',
    listVersionsAt: 'read',
  },
  approvals: {
    createArgs: 'write',
    removeArgs: 'write',
    removeLargeArgs: 'write',
    request: 'write',
    getWhole: 'read',
    count: 'read',
    get: 'read',
    list: 'read',
    listPending: 'read',
    countAlike: 'read',
    decide: 'write',
    assign: 'write',
    release: 'write',
    expire: 'write',
    listDeadlines: 'read',
    listDue: 'read',
    listDueOf: 'read',
    announced: 'write',
    listUnannounced: 'read',
    remove: 'write',
    countPending: 'read',
  },
  agents: {
    noteSeen: 'write',
    get: 'read',
    list: 'read',
    listLastOn: 'read',
    listVocabularies: 'read',
    search: 'read',
    update: 'write',
    assign: 'write',
    listManifests: 'read',
    updateManifest: 'write',
    report: 'write',
    listReports: 'read',
    count: 'read',
    retire: 'write',
    removeBefore: 'write',
    addLeftOut: 'write',
    countLeftOut: 'read',
    removeLeftOut: 'write',
  },
  rules: { list: 'read', create: 'write', update: 'write', remove: 'write' },
  settings: { get: 'read', update: 'write', remove: 'write' },
  tools: {
    observe: 'write',
    announced: 'write',
    getPins: 'read',
    decide: 'write',
    updateMode: 'write',
    listServers: 'read',
    listEntries: 'read',
    get: 'read',
    listHistory: 'read',
    removeBefore: 'write',
  },
  aiUsage: { add: 'write', listDays: 'read', removeBefore: 'write' },
  idempotency: { claim: 'write', find: 'read', answered: 'write', release: 'write', removeExpired: 'write' },
  channels: {
    create: 'write',
    list: 'read',
    get: 'read',
    getById: 'read',
    listEnabled: 'read',
    anyEnabled: 'read',
    listEnabledOfKind: 'read',
    update: 'write',
    disable: 'write',
    tested: 'write',
    remove: 'write',
  },
  deliveries: {
    create: 'write',
    get: 'read',
    update: 'write',
    listOfApproval: 'read',
    list: 'read',
    removeOfChannel: 'write',
  },
  values: {
    get: 'read',
    getMany: 'read',
    set: 'write',
    increment: 'write',
    remove: 'write',
    removeExpired: 'write',
    removeAll: 'write',
  },
  keyCheck: { first: 'write' },
  workspaces: { create: 'write', getTenantId: 'read', hasAny: 'read' },
  installation: { figures: 'read' },
  exports: { list: 'read' },
  audit: {
    append: 'write',
    list: 'read',
    getHead: 'read',
    listLinks: 'read',
    createHead: 'write',
    getLastBefore: 'read',
    getSignedHead: 'read',
    start: 'read',
    retain: 'write',
    recover: 'read',
  },
  jobs: {
    add: 'write',
    take: 'write',
    release: 'write',
    renew: 'write',
    finish: 'write',
    again: 'write',
    bury: 'write',
    progress: 'write',
    find: 'read',
    counts: 'read',
    dead: 'read',
    retry: 'write',
    remove: 'write',
  },
};
