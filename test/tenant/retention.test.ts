// Retention: its settings, its preview, and the pass that removes old records.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { entriesOf } from '../../src/audit/record.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Job, Jobs } from '../../src/shared/ports/jobs.ts';
import type { RetentionStore } from '../../src/tenant/port/retention.ts';
import { createRetention } from '../../src/tenant/use-cases/retention.ts';
import { aBatch } from '../conformance/events.ts';
import { anEvent } from '../conformance/fixtures.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

const day = 86_400_000;
let t: TestHub;
let user: UserCaller;
let added: Job[];
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  added = [];
});
afterEach(() => t.close());

const nothing = { events_days: 0, approvals_days: 0, runs_days: 0, deliveries_days: 0 };
const put = async (body: object) => (await t.call('putRetention', { body }, user)).body;
const ingest = (count: number, ageDays: number) => {
  const receivedAt = t.clock.now() - ageDays * day;
  const events = Array.from({ length: count }, () => anEvent());
  return t.hub.store.events.ingest(aBatch(user.tenantId, events, { receivedAt }));
};
const never = new AbortController().signal;

function retention(over: Partial<RetentionStore> = {}) {
  const store = { ...t.hub.store, retention: { ...t.hub.store.retention, ...over } };
  const jobs = { add: async (job: Job) => void added.push(job) } as Partial<Jobs> as Jobs;
  return createRetention({ ...t.hub, store, jobs });
}

it('keeps everything until days are set; absent fields stay', async () => {
  const { body } = await t.call('retention', {}, user);
  expect(body).toEqual({ ...nothing, updated_at: null, updated_by: null });
  const updated_at = new Date(t.clock.now()).toISOString();
  const written = { ...nothing, events_days: 30, updated_by: user.email };
  expect(await put({ events_days: 30 })).toEqual({ ...written, updated_at });
  expect(await put({ runs_days: 36_500 })).toMatchObject({ ...written, runs_days: 36_500 });
  expect((await t.call('retention', {}, user)).body).toMatchObject({ events_days: 30, runs_days: 36_500 });
});

it('loses no field of another request that sets days at the same time', async () => {
  await put({ events_days: 30 });
  await Promise.all([put({ events_days: 365 }), put({ runs_days: 30 }), put({ approvals_days: 7 })]);
  const { body } = await t.call('retention', {}, user);
  expect(body).toMatchObject({ events_days: 365, runs_days: 30, approvals_days: 7 });
});

it.each([-1, 1.5, 40_000, '7', null])('refuses %j days', async (days) => {
  for (const route of ['putRetention', 'previewRetention'] as const)
    await expect(t.call(route, { body: { events_days: days } }, user)).rejects.toMatchObject({
      code: 'validation_failed',
    });
});

it('refuses to set nothing', async () => {
  await expect(put({})).rejects.toMatchObject({ code: 'validation_failed' });
});

it('previews what the days would remove, and removes nothing by it', async () => {
  await ingest(4, 10);
  await ingest(3, 1);
  const preview = async (body?: object) =>
    (await t.call('previewRetention', body ? { body } : {}, user)).body;
  const as_of = new Date(t.clock.now()).toISOString();
  expect(await preview({ events_days: 5 })).toEqual({
    events: 4,
    approvals: 0,
    runs: 0,
    deliveries: 0,
    as_of,
  });
  expect(await preview()).toMatchObject({ events: 0 });
  expect(await t.hub.store.events.count(user.tenantId, { env: null })).toBe(7);
});

it('begins a pass at once when it is set, and each hour', async () => {
  const subject = retention();
  await subject.plan();
  expect(added).toEqual([]);
  await put({ events_days: 5 });
  await subject.plan();
  await subject.plan();
  const ids = added.map(({ id }) => id);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
  expect(added[0]).toMatchObject({ queue: 'retention', payload: { tenantId: user.tenantId } });
});

/** A pass rests after a slice that took long; the clock goes on meanwhile. */
async function applied(subject: ReturnType<typeof retention>): Promise<boolean> {
  let isDone = false;
  const pass = subject.apply(user.tenantId, never).finally(() => {
    isDone = true;
  });
  while (!isDone) await t.clock.advanceAsync(1000);
  return pass;
}

it('removes what is old and records the counts once', async () => {
  await ingest(4, 10);
  await ingest(3, 1);
  await put({ events_days: 5 });
  const subject = retention();
  expect(await applied(subject)).toBe(true);
  expect(await applied(subject)).toBe(true);
  expect(await t.hub.store.events.count(user.tenantId, { env: null })).toBe(3);
  expect(subject.removed.get('events')).toBe(4);
  const links = await t.hub.store.audit.listLinks(user.tenantId, 1, 99, 1 << 20);
  const entries = links.flatMap(({ body }) => entriesOf(body));
  expect(entries.filter(({ action_type }) => action_type === 'setting.retention_applied')).toMatchObject([
    {
      actor: { type: 'system' },
      details: { events: 4, approvals: 0, runs: 0, deliveries: 0, events_days: 5 },
    },
  ]);
});

it('stops when the days are taken back or the job is interrupted, and makes slices smaller that take long', async () => {
  await put({ events_days: 5 });
  const sizes: number[] = [];
  const stop = new AbortController();
  const remove = async (...[, , , after, limit]: Parameters<RetentionStore['remove']>) => {
    sizes.push(limit);
    t.clock.skip(40);
    if (sizes.length === 3) await put({ events_days: 0 });
    return { removed: 1, next: `${Number(after) + 1}` };
  };
  expect(await applied(retention({ remove }))).toBe(true);
  expect(sizes).toEqual([40, 20, 10]);

  await put({ events_days: 5 });
  const endless = retention({
    async remove() {
      stop.abort();
      return { removed: 1, next: '1' };
    },
  });
  expect(await endless.apply(user.tenantId, stop.signal)).toBe(false);
});

it('passes failures of the store on', async () => {
  await put({ events_days: 5 });
  const remove = async (): Promise<never> => {
    throw new HubError('unavailable', 'gone');
  };
  await expect(retention({ remove }).apply(user.tenantId, never)).rejects.toThrow('gone');
});
