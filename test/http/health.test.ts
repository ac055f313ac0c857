// Probes and health details.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Reply } from '../../src/http/contract/call.ts';
import type { NodeHealth } from '../../src/http/contract/handler.ts';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { health } from '../../src/hub/api/health-handlers.ts';
import { healthRoutes } from '../../src/hub/api/health-routes.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import type { StorageState } from '../../src/shared/storage.ts';
import { settled } from '../clock.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
beforeEach(async () => {
  t = await makeHub();
});
afterEach(() => t.close());

/** The test's hub, feeling otherwise. */
const ill = (changed: Partial<NodeHealth>) => ({ ...t.hub, health: { ...t.hub.health, ...changed } });
const none = { params: {}, query: { scope: 'all' as const }, body: {} };
const node = { ...none, query: { scope: 'node' as const } };
const limits = {
  count: async () => {},
  tryCount: async () => null,
  refusal: () => null,
  check: async () => {},
  takeBack: async () => {},
};
const request = {
  id: '',
  network: '',
  local: true,
  isFromForeignPage: false,
  header: () => null,
  limits,
  recheckCaller: async () => true,
  newId: null,
};

it('says nothing but the status and whether it is set up', async () => {
  expect((await t.call('health')).body).toEqual({ status: 'ok', bootstrap_complete: false });
  await t.tenant();
  expect((await t.call('health')).body).toEqual({ status: 'ok', bootstrap_complete: true });
});

it('is degraded without the key-value store, and answers all the same', async () => {
  const hub = ill({ keyValue: async () => null });
  const answer = await health.health(hub, none, { kind: 'none' }, request);
  expect(answer).toEqual({ status: 'degraded', bootstrap_complete: false });
});

it('is ready with 200 and the latencies rounded', async () => {
  expect(await t.call('ready')).toMatchObject({
    status: 200,
    body: {
      status: 'ready',
      database: { connected: true, latency_ms: 0.12 },
      storage: { state: 'ok' },
      workers: { deadlines: 'running' },
    },
  });
});

const stored = (state: StorageState): Partial<NodeHealth> => ({
  storage: () => ({ state, freeBytes: 7, totalBytes: 70, reserveBytes: 9 }),
});

const ills: [string, Partial<NodeHealth>][] = [
  ['the store does not answer', { store: async () => null }],
  ['the key-value store does not answer', { keyValue: async () => null }],
  ['a worker crashed', { workers: () => ({ deadlines: 'crashed' }) }],
  ['a worker stopped', { workers: () => ({ deadlines: 'running', jobs: 'stopped' }) }],
  ['the disk is full', stored('full')],
  ['commits fail', stored('failing')],
  ['the database is damaged', stored('damaged')],
  ['the node is draining', { draining: () => true }],
];

it.each(ills)('is not ready, with 503, when %s', async (_what, changed) => {
  const answer = await health.ready(ill(changed), none, { kind: 'none' }, request);
  expect(answer).toMatchObject({ status: 503, body: { status: 'not_ready' } });
});

it.each(ills)('is not ready for its own part either, in one process, when %s', async (_what, changed) => {
  const answer = await health.ready(ill(changed), node, { kind: 'none' }, request);
  expect(answer).toMatchObject({ status: 503 });
});

it('is ready for its own part while no node reaches a service, unless it stops', async () => {
  const away = { keyValue: async () => null, workers: () => ({ leases: 'crashed' }) as const };
  const statusOf = async (changed: Partial<NodeHealth>) =>
    ((await health.ready(ill({ ...away, ...changed }), node, { kind: 'none' }, request)) as Reply<unknown>)
      .status;
  expect(await statusOf({ isAloneWithout: async () => false })).toBe(200);
  expect(await statusOf({ isAloneWithout: async () => true })).toBe(503);
  expect(await statusOf({ isAloneWithout: async () => false, draining: () => true })).toBe(503);
  const crashed = { workers: () => ({ leases: 'crashed' }) as const, isAloneWithout: async () => false };
  expect(await health.ready(ill(crashed), node, { kind: 'none' }, request)).toMatchObject({ status: 503 });
});

it.each(['low', 'reserved'] as const)('is ready while the room is %s, and says so', async (state) => {
  const hub = ill(stored(state));
  const answer = await health.ready(hub, none, { kind: 'none' }, request);
  expect(answer).toMatchObject({ status: 200, body: { status: 'ready', storage: { state } } });
  const details = await health.healthDetails(hub, none, await t.tenant(), request);
  expect(details).toMatchObject({
    status: state === 'low' ? 'ok' : 'degraded',
    storage: { state, free_bytes: 7, reserve_bytes: 9 },
  });
  const brief = await health.health(hub, none, { kind: 'none' }, request);
  expect(brief).toMatchObject({ status: state === 'low' ? 'ok' : 'degraded' });
});

it('tells a signed-in user the details', async () => {
  const { body } = await t.call('healthDetails', {}, await t.tenant());
  expect(body).toEqual({
    status: 'ok',
    version: '0.0.0-test',
    auth_provider: 'local',
    base_url_https: false,
    database: { connected: true, latency_ms: 0.12 },
    cache: { connected: true, latency_ms: 0.46 },
    storage: { state: 'ok', free_bytes: 9_000_000_000, reserve_bytes: 512 },
    workers: 1,
    connected_agents: 0,
  });
});

it("counts the connected agents of the caller's tenant alone", async () => {
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const [first, second] = [await t.tenant(), await t.tenant()];
  const connect = async (key: KeyCaller) => {
    const stream = await streams.admitAgent(
      key,
      { env: key.env },
      `${key.tenantId}/${key.env}/${key.agentId}`,
    );
    await stream.catchUp();
  };
  await connect(t.key(first));
  await connect(t.key(second));
  await connect(t.key(second, 'staging', 'agent-2'));
  await settled();
  const agentsOf = async (caller: UserCaller) =>
    (await t.call('healthDetails', {}, caller)).body.connected_agents;
  expect([await agentsOf(first), await agentsOf(second)]).toEqual([1, 2]);
});

it.each(ills)('has details that say degraded when %s', async (_what, changed) => {
  const details = await health.healthDetails(ill(changed), none, await t.tenant(), request);
  expect(details).toMatchObject({ status: 'degraded' });
});

it('counts the workers that run', async () => {
  const hub = ill({
    workers: () => ({ sweep: 'running', push: 'running', leases: 'crashed', jobs: 'stopped' }),
  });
  const details = await health.healthDetails(hub, none, await t.tenant(), request);
  expect(details).toMatchObject({ workers: 2 });
});

it('tells an admin who owns what, and what waits', async () => {
  const { body } = await t.call('healthCluster', {}, await t.tenant());
  expect(body).toEqual({
    mode: 'embedded',
    node: 'n1',
    nodes: [
      {
        node: 'n1',
        version: '0.0.0-test',
        started_at: '1970-01-01T00:00:00.000Z',
        connected_agents: 0,
        shard_count: 2,
        shards: [0, 1],
      },
    ],
    shards: { total: 3, owned: 2, unowned: [2] },
    lag: { waiting: 2, oldest_ms: 5, shards: [{ shard: 1, waiting: 2, oldest_ms: 5 }] },
    broadcast: { lag_ms: 0 },
  });
});

it('says to admins what the node has done', async () => {
  const { body } = await t.call('healthMetrics', {}, await t.tenant());
  expect(body).toMatchObject({
    node: 'n1',
    routes: [],
    events_stored: 0,
    installation: { store_bytes: null, dead_jobs: 0, unsigned_since: null, last_backup_at: null },
    event_loop: { p99_ms: 0 },
  });
});

it('answers admins with the points of the node, oldest first, in snake_case', async () => {
  const figures = {
    ...{ loopLagMs: 1.5, loopLagMaxMs: 20, commitMs: null, storeBytes: 4_096 },
    ...{ diskFreeBytes: null, diskTotalBytes: null, memoryBytes: 64 },
  };
  const points = [0, 300_000].map((at) => ({ at, ...figures }));
  const series = { node: 'n1', startedAt: 7, intervalMs: 300_000, points };
  const answer = await health.healthSeries(
    ill({ series: async () => series }),
    none,
    await t.tenant(),
    request,
  );
  const wire = {
    ...{ loop_lag_ms: 1.5, loop_lag_max_ms: 20, commit_ms: null, store_bytes: 4_096 },
    ...{ disk_free_bytes: null, disk_total_bytes: null, memory_bytes: 64 },
  };
  expect(answer).toEqual({
    node: 'n1',
    started_at: '1970-01-01T00:00:00.007Z',
    interval_seconds: 300,
    points: [
      { at: '1970-01-01T00:00:00.000Z', ...wire },
      { at: '1970-01-01T00:05:00.000Z', ...wire },
    ],
  });
  expect(healthRoutes.healthSeries.reply.parse(answer)).toEqual(answer);
});
