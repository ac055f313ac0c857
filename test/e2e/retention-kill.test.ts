// Retention under kill -9: the hub is killed again and again while it removes old records, and events come in.
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openSqliteInline } from '../../adapters/sqlite/index.ts';
import { toEventJson } from '../../src/event/record/json.ts';
import { aBatch } from '../conformance/events.ts';
import { anApproval, anEvent } from '../conformance/fixtures.ts';
import { ofSession } from '../conformance/runs.ts';
import { random } from '../random.ts';
import { runsOf } from '../runs.ts';
import { HubProcess } from './process.ts';

const seed = process.env.SEED ?? '1';
const kills = runsOf(100, 2);
const dayMs = 86_400_000;
const runs = 100;
/** A slice takes about ten milliseconds, of which it has a tenth: more than the hub removes between two kills. */
const eventsOfRun = Math.ceil((kills * 800) / runs);

const hub = new HubProcess({ LOG_LEVEL: 'warn', RATE_LIMIT_MAX_ATTEMPTS: '100000' });
let cookie: string;
let tenantId: string;
/** The runs 90 to 99 go on: their last event is of today. */
const isLive = (run: number): boolean => run >= 90;

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  tenantId = (await hub.call('GET', '/api/v1/environments', { cookie })).body.tenant_id;
  await hub.stop();
  const store = await openSqliteInline(join(hub.dataDir, 'reeve.db'));
  const now = Date.now();
  const at = now - 10 * dayMs;
  for (let run = 0; run < runs; run++) {
    for (let from = 0; from < eventsOfRun; from += 500) {
      const size = Math.min(500, eventsOfRun - from);
      const events = Array.from({ length: size }, (_, i) =>
        ofSession(`run-${run}`, { callId: `${run}-${from + i}`, timestamp: at }),
      );
      await store.events.ingest(aBatch(tenantId, events, { receivedAt: at + run }));
    }
    if (isLive(run)) {
      const last = ofSession(`run-${run}`, { callId: `${run}-last`, timestamp: now });
      await store.events.ingest(aBatch(tenantId, [last], { receivedAt: now }));
    }
  }
  const pending = { tenantId, createdAt: at, deadline: now + dayMs };
  for (let i = 0; i < 50; i++) {
    await store.approvals.request(anApproval({ ...pending, status: i < 5 ? 'pending' : 'approved' }));
  }
  await store.approvals.announced(tenantId, 'approved', (await approvalIds(store)).slice());
  await store.close();
}, 120_000);
afterAll(() => hub.remove());

async function approvalIds(store: Awaited<ReturnType<typeof openSqliteInline>>): Promise<string[]> {
  const { items } = await store.approvals.list(
    tenantId,
    { env: null },
    { limit: 100, offset: 0 },
    Date.now(),
  );
  return items.map(({ id }) => id);
}

const policy = { events_days: 5, approvals_days: 5 };
const chance = random(seed);
/** Of an operator token, which is valid for a quarter of an hour. */
let headers: { readonly Authorization: string };
let key: string;
let sent = 0;

/** Old records that are still there. */
const remaining = async () =>
  (await hub.call('POST', '/api/v1/settings/retention/preview', { cookie, body: policy })).body;

it('begins to remove what is old', async () => {
  await hub.start();
  key = (await hub.key(cookie)).key;
  expect(await remaining()).toMatchObject({
    events: 90 * eventsOfRun,
    approvals: 45,
    runs: 0,
    deliveries: 0,
  });
  expect((await hub.call('PUT', '/api/v1/settings/retention', { cookie, body: policy })).status).toBe(200);
}, 60_000);

async function renewToken(): Promise<void> {
  const { token } = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body;
  headers = { Authorization: `Bearer ${token}` };
}

/** A busy machine may read a run for too long. */
async function bundleOf(run: number) {
  for (;;) {
    const answer = await hub.call('GET', `/v1/runs/agent-1/run-${run}/bundle`, { headers });
    if (answer.body.code !== 'search_timeout') return answer;
  }
}

/** Ingest for a moment, a look at a run, a kill and a start. */
async function killOnce(): Promise<void> {
  const end = performance.now() + chance.between(50, 600);
  while (performance.now() < end) {
    const event = {
      ...toEventJson(anEvent({ callId: `new-${sent}` })),
      timestamp: new Date().toISOString(),
    };
    const answer = await hub.call('POST', '/api/v1/events', {
      key,
      agent: 'agent-1',
      body: { events: [event] },
    });
    expect(answer.status).toBe(200);
    sent++;
    await wait(20);
  }
  // A decision bundle contains all of a run, or there is none.
  const run = chance.int(runs);
  const bundle = await bundleOf(run);
  if (isLive(run)) expect(bundle.status).toBe(200);
  else expect([200, 404]).toContain(bundle.status);
  if (bundle.status === 200) {
    const payload = JSON.parse(Buffer.from(bundle.body.payload, 'base64').toString());
    expect([run, payload.event_count]).toEqual([run, eventsOfRun + (isLive(run) ? 1 : 0)]);
  }
  await hub.kill();
  await hub.start();
}

// Each ten have a time limit of their own: on a busy machine, a start takes seconds.
it.each(Array.from({ length: Math.ceil(kills / 10) }, (_, i) => i * 10))(
  `keeps every run whole or without records, after %i kills and up to ten more (SEED=${seed})`,
  async (before) => {
    await renewToken();
    for (let kill = before; kill < Math.min(kills, before + 10); kill++) await killOnce();
  },
  300_000,
);

/** Waits for the end of retention, for as long as it goes on. */
async function untilRemoved(): Promise<void> {
  let [least, since] = [Number.POSITIVE_INFINITY, performance.now()];
  for (;;) {
    const { events, approvals } = await remaining();
    if (events + approvals === 0) return;
    if (events + approvals < least) [least, since] = [events + approvals, performance.now()];
    if (performance.now() - since > 150_000) throw new Error(`retention stands still: ${least} are left`);
    await wait(500);
  }
}

it('has removed what is old, whole, once and nothing else', async () => {
  await untilRemoved();
  await renewToken();
  const entries = async () =>
    (await hub.call('GET', '/v1/audit?action_type=setting.retention_applied&scope=all', { headers })).body
      .entries;
  const sum = async (kind: 'events' | 'approvals') =>
    (await entries()).reduce((total: number, { details }: { details: { [kind: string]: number } }) => {
      return total + (details[kind] ?? 0);
    }, 0);
  await vi.waitFor(async () => expect(await sum('events')).toBe(90 * eventsOfRun), {
    timeout: 90_000,
    interval: 500,
  });
  expect(await sum('approvals')).toBe(45);
  await hub.stop();

  const store = await openSqliteInline(join(hub.dataDir, 'reeve.db'));
  try {
    expect(await store.events.count(tenantId, { env: null })).toBe(10 * (eventsOfRun + 1) + sent);
    for (let run = 0; run < runs; run++) {
      const kept = await store.events.count(tenantId, {
        env: null,
        agentId: 'agent-1',
        sessionId: `run-${run}`,
      });
      expect([run, kept]).toEqual([run, isLive(run) ? eventsOfRun + 1 : 0]);
      const view = await store.runs.get(
        tenantId,
        { agentId: 'agent-1', sessionId: `run-${run}` },
        Date.now(),
      );
      expect(view).toMatchObject({ isTrimmed: !isLive(run) });
    }
    expect(await approvalIds(store)).toHaveLength(5);
  } finally {
    await store.close();
  }
}, 900_000);
