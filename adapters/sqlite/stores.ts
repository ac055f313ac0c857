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
import { arrivals, newestOf, newestSeq } from './events/arrival.ts';
import type { CallIndex } from './events/calls.ts';
import { countFitting, countReceived, counts, facets, histogram } from './events/count.ts';
import { eventWriter } from './events/ingest.ts';
import { eventOf, eventSearch } from './events/search.ts';
import { series, seriesTotals } from './events/series.ts';
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
import type { SqliteStore, StoreName, Stores } from './sync.ts';
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
    search: eventSearch(db),
    get: (tenantId, id) => eventOf(db, tenantId, id),
    facets: (tenantId, filter, limit) => facets(db, tenantId, filter, limit),
    count: (tenantId, filter) => countFitting(db, tenantId, filter),
    series: (tenantId, request) => series(db, tenantId, request),
    seriesTotals: (tenantId, scope, limit) => seriesTotals(db, tenantId, scope, limit),
    histogram: (tenantId, filter, bucketMs) => histogram(db, tenantId, filter, bucketMs),
    counts: (tenantId, env, since, activeSince, entries) =>
      counts(db, tenantId, env, since, activeSince, entries),
    countReceived: (tenantId, before) => countReceived(db, tenantId, before),
    arrivals: (tenantId, after, limit) => arrivals(db, tenantId, after, limit),
    newestSeq: () => newestSeq(db),
    // One writer gives the places, in the order of its commits.
    settledBy: (seq) => seq,
    newestOf: (tenantId, agents) => newestOf(db, tenantId, agents),
  };
}

/**
 * `calls` and `usage` are what the connection that writes keeps in memory, loaded; others never ask them.
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
    tenantFiles: tenantFileStore(db),
    retention: retentionStore(db, eventWrites.removeOld),
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
    addUser: 'write',
    userByEmail: 'read',
    userById: 'read',
    users: 'read',
    setRoles: 'write',
    removeUser: 'write',
    setPassword: 'write',
    tenantIds: 'read',
  },
  tenantRecords: {
    list: 'read',
    get: 'read',
    figures: 'read',
    update: 'write',
    markRemoved: 'write',
    closed: 'read',
    erase: 'write',
    forget: 'write',
  },
  tenantFiles: {
    begin: 'write',
    get: 'read',
    write: 'write',
    putPart: 'write',
    parts: 'read',
    open: 'write',
  },
  retention: { count: 'read', remove: 'write', settle: 'write' },
  identities: {
    find: 'read',
    ofUser: 'read',
    link: 'write',
    unlink: 'write',
  },
  logins: {
    put: 'write',
    ofProviderSession: 'read',
    get: 'read',
    extend: 'write',
    ofUser: 'read',
    remove: 'write',
    removeOfUser: 'write',
    sweep: 'write',
    signedInFrom: 'write',
    hasSignedInFrom: 'read',
    forgetNetworks: 'write',
  },
  keys: { insert: 'write', list: 'read', byHash: 'read', revoke: 'write', used: 'write' },
  serviceAccounts: {
    insert: 'write',
    list: 'read',
    get: 'read',
    update: 'write',
    remove: 'write',
    addToken: 'write',
    tokens: 'read',
    nextExpiries: 'read',
    removeToken: 'write',
    byHash: 'read',
    used: 'write',
    sweep: 'write',
  },
  agentStreams: { record: 'write', of: 'read', open: 'read', away: 'read', forget: 'write' },
  views: {
    add: 'write',
    get: 'read',
    list: 'read',
    update: 'write',
    remove: 'write',
    removeOwn: 'write',
  },
  operatorTokens: { insert: 'write', list: 'read', isRevoked: 'read', revoke: 'write', sweep: 'write' },
  signing: { active: 'read', add: 'write', successions: 'read', rotate: 'write' },
  contracts: {
    create: 'write',
    addVersion: 'write',
    latest: 'read',
    version: 'read',
    history: 'read',
    list: 'read',
    remove: 'write',
    usage: 'read',
    usageCount: 'read',
    importAll: 'write',
  },
  compositions: {
    create: 'write',
    update: 'write',
    get: 'read',
    items: 'read',
    enabledItems: 'read',
    list: 'read',
    automatic: 'read',
    remove: 'write',
  },
  bundles: {
    addVersion: 'write',
    addVersionAfter: 'write',
    version: 'read',
    versions: 'read',
    yaml: 'read',
    summaries: 'read',
    byRevision: 'read',
    remove: 'write',
  },
  deployments: {
    lastSequence: 'read',
    add: 'write',
    attest: 'write',
    undeploy: 'write',
    wasDeployed: 'read',
    lastOf: 'read',
    current: 'read',
    currentOf: 'read',
    currentAll: 'read',
    get: 'read',
    list: 'read',
    rollbacks: 'read',
  },
  events: {
    ingest: 'write',
    search: 'read',
    get: 'read',
    facets: 'read',
    count: 'read',
    arrivals: 'read',
    newestSeq: 'read',
    settledBy: 'read',
    newestOf: 'read',
    histogram: 'read',
    series: 'read',
    seriesTotals: 'read',
    counts: 'read',
    countReceived: 'read',
    purge: 'write',
    erase: 'write',
    removeSample: 'write',
  },
  runs: { list: 'read', get: 'read', recent: 'read', pendingOf: 'read' },
  usage: {
    toolsOf: 'read',
    fleet: 'read',
    toolsOfAgents: 'read',
    contracts: 'read',
    spanOf: 'read',
    versionsAt: 'read',
  },
  approvals: {
    keepArgs: 'write',
    dropArgs: 'write',
    dropLargeArgs: 'write',
    insert: 'write',
    getWhole: 'read',
    count: 'read',
    get: 'read',
    list: 'read',
    listPending: 'read',
    decide: 'write',
    assign: 'write',
    release: 'write',
    expire: 'write',
    pending: 'read',
    due: 'read',
    dueOf: 'read',
    announced: 'write',
    unannounced: 'read',
    remove: 'write',
    countPending: 'read',
  },
  agents: {
    seen: 'write',
    get: 'read',
    list: 'read',
    lastOn: 'read',
    vocabularies: 'read',
    find: 'read',
    update: 'write',
    assign: 'write',
    manifests: 'read',
    putManifest: 'write',
    report: 'write',
    reports: 'read',
    count: 'read',
    retire: 'write',
    forget: 'write',
    addLeftOut: 'write',
    leftOut: 'read',
    forgetLeftOut: 'write',
  },
  rules: { list: 'read', create: 'write', update: 'write', remove: 'write' },
  settings: { get: 'read', put: 'write', remove: 'write' },
  tools: {
    observe: 'write',
    announced: 'write',
    pins: 'read',
    decide: 'write',
    setMode: 'write',
    servers: 'read',
    entries: 'read',
    get: 'read',
    history: 'read',
    forget: 'write',
  },
  aiUsage: { add: 'write', days: 'read', forget: 'write' },
  idempotency: { claim: 'write', find: 'read', answered: 'write', release: 'write', sweep: 'write' },
  channels: {
    insert: 'write',
    list: 'read',
    get: 'read',
    byId: 'read',
    enabled: 'read',
    anyEnabled: 'read',
    enabledOfKind: 'read',
    update: 'write',
    disable: 'write',
    tested: 'write',
    remove: 'write',
  },
  deliveries: {
    add: 'write',
    get: 'read',
    replace: 'write',
    ofApproval: 'read',
    list: 'read',
    removeOfChannel: 'write',
  },
  values: {
    get: 'read',
    getMany: 'read',
    set: 'write',
    increment: 'write',
    remove: 'write',
    sweep: 'write',
    removeAll: 'write',
  },
  keyCheck: { first: 'write' },
  workspaces: { link: 'write', tenantOf: 'read', hasAny: 'read' },
  installation: { figures: 'read' },
  exports: { lines: 'read' },
  audit: {
    append: 'write',
    feed: 'read',
    head: 'read',
    links: 'read',
    keepHead: 'write',
    signedHead: 'read',
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
