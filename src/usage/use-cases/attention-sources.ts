// The sources of items that need attention: each reads one noun of a tenant and returns its items. The right to read an
// item is checked later.
import { environmentKey } from '../../../actors/protocol.ts';
import { connectedMs } from '../../agent/rules/streams.ts';
import type { Rulings } from '../../agent/use-cases/rulings.ts';
import type { Vocabularies } from '../../agent/use-cases/vocabularies.ts';
import type { Deployment } from '../../deployment/record.ts';
import { policyVersionOf } from '../../event/record.ts';
import type { EventFilter } from '../../event/rules/filter.ts';
import { withContractEntries } from '../../event/rules/query/contract-entries.ts';
import { envOfDelivery } from '../../notification/port/channels.ts';
import type { SampleRuns } from '../../run/use-cases/samples.ts';
import { dayMs, hourMs, minuteMs } from '../../shared/duration.ts';
import type { Env } from '../../shared/ids.ts';
import { refuses } from '../../shared/storage.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { AttentionItem } from '../record.ts';

export type AttentionPorts = Pick<AppPorts, 'store' | 'actors' | 'clock' | 'health'> & {
  readonly rulings: Pick<Rulings, 'entries'>;
  readonly vocabularies: Pick<Vocabularies, 'ofDeployment'>;
  readonly sampleRuns: Pick<SampleRuns, 'approvalIdOf'>;
};

/** Items of one source, at most. */
const maxItems = 20;
const firstPage = { limit: 200, offset: 0 };

const soonMs = 5 * minuteMs;
const soonPart = 0.2;

export async function approvalDeadlines(
  { store, clock, sampleRuns }: AttentionPorts,
  tenantId: string,
  env: Env,
): Promise<readonly AttentionItem[]> {
  const now = clock.now();
  const sampleId = sampleRuns.approvalIdOf(tenantId);
  const urgent = (await store.approvals.listDeadlines(tenantId, env)).filter(
    ({ id, createdAt, deadline }) => {
      const left = deadline - now;
      return left > 0 && (left < soonMs || left < soonPart * (deadline - createdAt)) && id !== sampleId;
    },
  );
  const first = await Promise.all(
    urgent.slice(0, maxItems).map(({ id }) => store.approvals.get(tenantId, id)),
  );
  return first.flatMap((approval) => {
    if (approval === null) return [];
    const { id, toolName, agentId, createdAt, deadline, contractName } = approval;
    return {
      kind: 'approval_deadline' as const,
      severity: 'high' as const,
      env,
      subject: { type: 'approval' as const, id, name: toolName },
      since: createdAt,
      deadline,
      count: 1,
      facts: { agentId, contractName },
      role: 'viewer' as const,
    };
  });
}

const windowMs = 15 * minuteMs;
const windowsBefore = 96;
const minSpike = 20;
const spikeFactor = 4;

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
};

export async function denySpikes(
  { store, clock, rulings }: AttentionPorts,
  tenantId: string,
  env: Env,
): Promise<readonly AttentionItem[]> {
  const now = clock.now();
  const entries = await rulings.entries(tenantId);
  const by = 'contract' as const;
  const recent = { env, by, since: now - windowMs, until: now + 1, entries };
  const { top } = await store.events.seriesTotals(tenantId, recent, maxItems);
  const many = top.filter(({ refused }) => refused >= minSpike);
  if (many.length === 0) return [];
  const until = Math.floor(recent.since / windowMs) * windowMs;
  const before = { env, by, since: until - windowsBefore * windowMs, until, entries };
  const values = many.map(({ value }) => value);
  const series = await store.events.series(tenantId, { ...before, values, bucketMs: windowMs });
  const spikes = many.flatMap(({ value, refused }, i) => {
    const { denied = [], observed = [] } = series[i] ?? {};
    const usual = Math.max(1, median(denied.map((count, at) => count + (observed[at] ?? 0))));
    return refused < spikeFactor * usual ? [] : [{ value, refused, usual }];
  });
  if (spikes.length === 0) return [];
  const deployments = (await store.deployments.listCurrent(tenantId, env)).filter(
    ({ createdAt }) => createdAt >= before.since,
  );
  return Promise.all(
    spikes.map(async ({ value, refused, usual }) => {
      const filter = withContractEntries({ env, decisionName: value, since: recent.since }, entries);
      const version = await newVersionOf(store, tenantId, deployments, filter);
      return {
        kind: 'deny_spike' as const,
        severity: 'high' as const,
        env,
        subject: { type: 'contract' as const, id: value, name: value },
        since: now - windowMs,
        deadline: null,
        count: refused,
        facts: { usual, windowSeconds: windowMs / 1000, version },
        role: 'viewer' as const,
      };
    }),
  );
}

/** The version that decided the newest of these calls, if it is one of the new deployments; null otherwise. */
async function newVersionOf(
  store: AttentionPorts['store'],
  tenantId: string,
  deployments: readonly Deployment[],
  filter: EventFilter,
): Promise<number | null> {
  if (deployments.length === 0) return null;
  const [newest] = (await store.events.search(tenantId, filter, 1, null)).events;
  const hash = newest && policyVersionOf(newest);
  return deployments.find(({ revisionHash }) => revisionHash === hash)?.version ?? null;
}

export async function outOfDate(
  { store, actors, clock }: AttentionPorts,
  tenantId: string,
  env: Env,
): Promise<readonly AttentionItem[]> {
  const [followed, current] = await Promise.all([
    actors.ask('environment', environmentKey(tenantId, env), 'followed', null),
    store.deployments.listCurrent(tenantId, env),
  ]);
  return followed.flatMap(({ bundleName, versions }) => {
    if (bundleName === null) return [];
    const behind = versions.filter(({ oldestSince }) => oldestSince !== null);
    const since = Math.min(...behind.map(({ oldestSince }) => oldestSince ?? Number.POSITIVE_INFINITY));
    if (!(since < clock.now() - soonMs)) return [];
    const deployedVersion = current.find((one) => one.bundleName === bundleName)?.version ?? null;
    return {
      kind: 'out_of_date' as const,
      severity: 'medium' as const,
      env,
      subject: { type: 'bundle' as const, id: bundleName, name: bundleName },
      since,
      deadline: null,
      count: behind.reduce((sum, { agents }) => sum + agents, 0),
      facts: { wantedVersion: deployedVersion },
      role: 'viewer' as const,
    };
  });
}

const silentMs = 2 * minuteMs;
const usuallyConnectedMs = 6 * hourMs;
/** Agents without a stream that are looked at. */
const maxAway = 2_000;

/** Agents that were connected for most of a working day, and are away. A short job that has ended is none. */
export async function silentAgents(
  { store, actors, clock }: AttentionPorts,
  tenantId: string,
  env: Env,
): Promise<readonly AttentionItem[]> {
  const now = clock.now();
  const since = now - dayMs;
  const period = { since, awayBefore: now - silentMs, leastMs: usuallyConnectedMs };
  const away = (await store.agentStreams.listAway(tenantId, env, period, maxAway)).filter(
    ({ streams }) => connectedMs(streams, since) >= usuallyConnectedMs,
  );
  if (away.length === 0) return [];
  const agents = away.map(({ agentId }) => ({ agentId, bundleName: null }));
  const states = await actors.ask('environment', environmentKey(tenantId, env), 'agentStates', { agents });
  const silent = away
    .filter((_, i) => states[i]?.streams === 0)
    .map(({ agentId, streams }) => ({
      agentId,
      since: Math.max(...streams.map(({ endedAt }) => endedAt ?? 0)),
    }))
    .sort((a, b) => a.since - b.since);
  const [first] = silent;
  if (!first) return [];
  return [
    {
      kind: 'silent_agents' as const,
      severity: 'medium' as const,
      env,
      subject: { type: 'environment' as const, id: env, name: env },
      since: first.since,
      deadline: null,
      count: silent.length,
      facts: { agentId: first.agentId },
      role: 'viewer' as const,
    },
  ];
}

/** Agents that keep another document, because they do not load the vocabulary of the deployed one. */
export async function unableAgents(
  { store, vocabularies }: AttentionPorts,
  tenantId: string,
  env: Env,
): Promise<readonly AttentionItem[]> {
  const current = await store.deployments.listCurrent(tenantId, env);
  const written = current.filter(({ documentKind }) => documentKind !== null).slice(0, maxItems);
  const unable = await Promise.all(written.map((deployment) => vocabularies.ofDeployment(deployment)));
  return written.flatMap(({ bundleName, createdAt }, i) => {
    const agents = unable[i] ?? null;
    if (agents === null) return [];
    return {
      kind: 'cannot_load' as const,
      severity: 'medium' as const,
      env,
      subject: { type: 'bundle' as const, id: bundleName, name: bundleName },
      since: createdAt,
      deadline: null,
      count: agents.count,
      facts: { agentId: agents.agentIds[0] ?? null, document: agents.kind },
      role: 'viewer' as const,
    };
  });
}

export async function waitingTools(
  { store }: AttentionPorts,
  tenantId: string,
  env: Env,
): Promise<readonly AttentionItem[]> {
  const { mode, servers } = await store.tools.listServers(tenantId, env);
  const pinned = servers.filter(({ ownMode }) => (ownMode ?? mode) !== 'observe');
  if (pinned.length === 0) return [];
  const { items: commonEntries } = await store.tools.listEntries(tenantId, { env, server: null }, firstPage);
  // Undecided entries come first, also those of servers in mode observe: these can fill the common page.
  const isFull =
    commonEntries.length === firstPage.limit && commonEntries.every(({ ruling }) => ruling === null);
  const items: AttentionItem[] = [];
  for (const { server } of pinned) {
    const entries = isFull
      ? (await store.tools.listEntries(tenantId, { env, server }, firstPage)).items
      : commonEntries.filter((entry) => entry.server === server);
    const waiting = entries.filter(({ ruling }) => ruling === null);
    if (waiting.length === 0) continue;
    items.push({
      kind: 'tool_waits',
      severity: 'medium',
      env,
      subject: { type: 'server', id: server, name: server },
      since: Math.min(...waiting.map(({ firstSeenAt }) => firstSeenAt)),
      deadline: null,
      count: waiting.length,
      facts: { toolName: waiting[0]?.tool ?? null },
      role: 'viewer',
    });
    if (items.length === maxItems) break;
  }
  return items;
}

const failuresInARow = 3;

/** Of the newest deliveries of each channel; with an environment, of those among them that are about it. */
export async function failingDeliveries(
  { store }: AttentionPorts,
  tenantId: string,
  env: Env | null = null,
): Promise<readonly AttentionItem[]> {
  const { items } = await store.channels.list(tenantId, firstPage);
  const lists = await Promise.all(
    items.map(async ({ id }) => {
      const deliveries = (await store.deliveries.list(tenantId, id, {}, { limit: 10, offset: 0 })).items;
      // Without a failure, the environments of the deliveries are not read.
      if (deliveries.every(({ log }) => log.every(({ failure }) => failure === null))) return [];
      if (env === null) return deliveries;
      const envs = await Promise.all(deliveries.map((delivery) => envOfDelivery(store, delivery)));
      return deliveries.filter((_, i) => envs[i] === env);
    }),
  );
  return items.flatMap(({ id, name, kind }, i) => {
    const attempts = (lists[i] ?? []).flatMap(({ log }) => log).sort((a, b) => b.at - a.at);
    const success = attempts.findIndex(({ failure }) => failure === null);
    const failures = success < 0 ? attempts : attempts.slice(0, success);
    if (failures.length < failuresInARow) return [];
    return {
      kind: 'delivery_failing' as const,
      severity: 'high' as const,
      env,
      subject: { type: 'channel' as const, id, name },
      since: failures.at(-1)?.at ?? null,
      deadline: null,
      count: failures.length,
      facts: { channelKind: kind },
      role: 'operator' as const,
    };
  });
}

const expiringMs = 14 * dayMs;

export async function expiringKeys(
  { store, clock }: AttentionPorts,
  tenantId: string,
): Promise<readonly AttentionItem[]> {
  const now = clock.now();
  const isExpiring = (expiresAt: number | null): expiresAt is number =>
    expiresAt !== null && expiresAt > now && expiresAt <= now + expiringMs;
  const [keys, accounts] = await Promise.all([
    store.keys.list(tenantId, { limit: 1000, offset: 0 }),
    store.serviceAccounts.list(tenantId, firstPage),
  ]);
  const ofKeys = keys.items
    .filter(({ expiresAt, revokedAt }) => revokedAt === null && isExpiring(expiresAt))
    .map(({ id, label, prefix, env, expiresAt }) => ({
      ...{ kind: 'key_expiring' as const, severity: 'medium' as const, env, since: null, count: 1 },
      subject: { type: 'key' as const, id, name: label ?? prefix },
      deadline: expiresAt,
      facts: { prefix },
      role: 'operator' as const,
    }));
  const tokens = await Promise.all(
    accounts.items.map(({ id }) => store.serviceAccounts.listTokens(tenantId, id)),
  );
  const ofAccounts = accounts.items.flatMap(({ id, name }, i) =>
    (tokens[i] ?? [])
      .filter(({ expiresAt }) => isExpiring(expiresAt))
      .map(({ label, expiresAt }) => ({
        ...{ kind: 'key_expiring' as const, severity: 'medium' as const, env: null, since: null, count: 1 },
        subject: { type: 'service_account' as const, id, name },
        deadline: expiresAt,
        facts: { token: label },
        role: 'admin' as const,
      })),
  );
  return [...ofKeys, ...ofAccounts];
}

/** The disk belongs to the installation: its trouble is an item while the installation has one tenant. */
export async function storeTrouble({ health, store }: AttentionPorts): Promise<readonly AttentionItem[]> {
  const { state, freeBytes } = health.storage();
  if (state === 'ok' || (await store.tenants.hasSeveral())) return [];
  return [
    {
      kind: 'store',
      severity: refuses(state) ? 'high' : 'medium',
      env: null,
      subject: { type: 'store', id: 'store', name: state },
      since: null,
      deadline: null,
      count: 1,
      facts: { state, freeBytes },
      role: 'admin',
    },
  ];
}
