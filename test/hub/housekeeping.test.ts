// Data that the hub clears away by itself, on a store in memory and a clock that the test moves.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLocalJobs } from '../../adapters/local/jobs.ts';
import { openSqliteInline, type SqliteStore } from '../../adapters/sqlite/index.ts';
import type { EventStore } from '../../src/event/port.ts';
import { removeLater } from '../../src/event/use-cases/removal.ts';
import { type HousekeepingParts, startHousekeeping, unseenMs } from '../../src/hub/housekeeping.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Jobs } from '../../src/shared/ports/jobs.ts';
import { valueTtlMs } from '../../src/shared/ports/values.ts';
import type { LoginStore } from '../../src/user/port/logins.ts';
import { ManualClock, settled } from '../clock.ts';
import { aBatch } from '../conformance/events.ts';
import { aLogin, anApproval, anEvent, uuid, writerOf } from '../conformance/fixtures.ts';
import { silentLog as log } from '../log.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
let clock: ManualClock;
let store: SqliteStore;
const running: { housekeeping: { stop(): void }; jobs: Jobs }[] = [];

beforeEach(async () => {
  clock = new ManualClock();
  store = await openSqliteInline(':memory:');
});
afterEach(async () => {
  for (const one of running.splice(0)) await end(one);
  await store.close();
});

function start(over: Partial<HousekeepingParts['store']> = {}, largeArgsDays = 90) {
  const jobs = createLocalJobs({ table: store.jobs, clock, log });
  const housekeeping = startHousekeeping(jobs, {
    store: { ...store, ...over },
    clock,
    log,
    signHeads: async () => 0,
    retainAudit: async () => 0,
    retention: { plan: async () => 0, apply: async () => true },
    largeArgsDays,
  });
  const one = { housekeeping, jobs };
  running.push(one);
  return one;
}

async function end({ housekeeping, jobs }: { housekeeping: { stop(): void }; jobs: Jobs }): Promise<void> {
  housekeeping.stop();
  let closed = false;
  const closing = jobs.close(0).then(() => {
    closed = true;
  });
  while (!closed) await clock.advanceAsync(1);
  await closing;
}

const listed = async (tenantId: string) =>
  (await store.agents.list(tenantId, { limit: 99, after: null })).items.map(({ agentId }) => agentId);

it('forgets agents that were not seen for 90 days, but not one that is assigned to a bundle', async () => {
  const tenantId = uuid();
  for (const id of ['gone', 'assigned', 'seen']) {
    await store.agents.noteSeen(tenantId, id, 'production', clock.now(), uuid());
  }
  await store.agents.update(tenantId, 'assigned', { bundleName: 'base' });
  clock.advance(unseenMs - 2 * hour);
  await store.agents.noteSeen(tenantId, 'seen', 'production', clock.now(), uuid());
  start();
  await settled();
  expect(await store.agents.get(tenantId, 'gone')).not.toBeNull();
  await clock.advanceAsync(4 * hour, hour);
  await clock.advanceAsync(minute, minute / 2);
  expect(await listed(tenantId)).toEqual(['assigned', 'seen']);
  expect(await store.agents.get(tenantId, 'gone')).toBeNull();
});

it('retires agents that were not seen for 7 days, but not one that is assigned to a bundle', async () => {
  const tenantId = uuid();
  for (const id of ['idle', 'assigned', 'seen']) {
    await store.agents.noteSeen(tenantId, id, 'production', clock.now(), uuid());
  }
  await store.agents.update(tenantId, 'assigned', { bundleName: 'base' });
  await store.agents.addLeftOut(tenantId, Math.floor(clock.now() / hour), 5);
  const left = Math.floor(clock.now() / hour);
  clock.advance(7 * day - 2 * hour);
  await store.agents.noteSeen(tenantId, 'seen', 'production', clock.now(), uuid());
  start();
  await settled();
  expect(await store.agents.count(tenantId)).toBe(3);
  expect(await store.agents.countLeftOut(tenantId, left)).toBe(0);
  await clock.advanceAsync(4 * hour, hour);
  await clock.advanceAsync(minute, minute / 2);
  expect(await listed(tenantId)).toEqual(['assigned', 'seen']);
  expect(await store.agents.get(tenantId, 'idle')).toMatchObject({ retiredAt: expect.any(Number) });
});

it('drops large arguments of approvals after the days that were set, or never', async () => {
  const approval = anApproval({ createdAt: clock.now(), toolArgs: null, argsBytes: 100_000 });
  const { tenantId, id, env, createdAt } = approval;
  const json = JSON.stringify({ text: 'x'.repeat(100_000) });
  await store.approvals.createArgs(
    { tenantId, id, env, keyId: 'k', json, bytes: json.length, createdAt },
    1e9,
  );
  await store.approvals.request(approval);
  const isKept = async () => (await store.approvals.getWhole(tenantId, id))?.toolArgs !== null;
  clock.advance(2 * day);
  const keeping = start({}, 0);
  await clock.advanceAsync(2 * hour, minute / 2);
  await end(keeping);
  start({}, 2);
  expect(await isKept()).toBe(true);
  await clock.advanceAsync(2 * hour, minute / 2);
  expect(await isKept()).toBe(false);
});

it('removes expired logins and values within two minutes, many at once', async () => {
  const [tenantId, login] = [uuid(), aLogin({ expiresAt: clock.now() + 5 * minute })];
  await store.logins.create(login);
  // Written so long ago that they expire in eight minutes: a clock that is moved by days runs every timer of them.
  const written = clock.now() - valueTtlMs + 8 * minute;
  for (let i = 0; i < 2500; i++) await store.values.set(writerOf(tenantId), `k${i}`, 'v', written);
  start();
  await clock.advanceAsync(4 * minute, minute / 2);
  expect(await store.logins.get(login.tokenHash, 0)).not.toBe(null);
  await clock.advanceAsync(3 * minute, minute / 2);
  expect(await store.logins.get(login.tokenHash, 0)).toBe(null);
  expect(await store.values.get(tenantId, 'k1', 0)).toBe('v');
  await clock.advanceAsync(3 * minute, minute / 2);
  expect(await store.values.getMany(tenantId, ['k0', 'k1', 'k2499'], 0, 1e9)).toEqual(new Map());
});

it('does a turn once, whichever and however many nodes plan it', async () => {
  const turns: number[] = [];
  const logins = {
    ...store.logins,
    removeExpired: async (now: number) => {
      turns.push(now);
      return 0;
    },
  } satisfies LoginStore;
  for (let node = 0; node < 3; node++) start({ logins });
  await settled();
  turns.length = 0;
  await clock.advanceAsync(10 * minute, 1000);
  expect(turns).toHaveLength(10);
});

it('goes on after a failure, and leaves no dead jobs behind', async () => {
  let away = true;
  let swept = 0;
  const logins = {
    ...store.logins,
    removeExpired: async () => {
      if (away) throw new HubError('unavailable', 'gone');
      swept++;
      return 0;
    },
  } satisfies LoginStore;
  const { jobs } = start({ logins });
  await clock.advanceAsync(5 * minute, 1000);
  away = false;
  await clock.advanceAsync(2 * minute, 1000);
  expect(swept).toBeGreaterThan(0);
  expect(await jobs.dead('housekeeping', 10)).toEqual([]);
});

it('a purge left as a job is done in slices, and goes on where it was after a restart', async () => {
  const tenantId = uuid();
  const receivedAt = clock.now();
  for (let i = 0; i < 7; i++) {
    const events = Array.from({ length: 500 }, () => anEvent());
    await store.events.ingest({ ...aBatch(tenantId, events), receivedAt });
  }
  let slices = 0;
  let stuck = () => {};
  const events = {
    ...store.events,
    removeBefore: async (...args: Parameters<typeof store.events.removeBefore>) => {
      slices++;
      if (slices === 3) {
        await new Promise<void>((resolve) => {
          stuck = resolve;
        });
      }
      return store.events.removeBefore(...args);
    },
  } satisfies EventStore;
  const first = start({ events });
  const before = receivedAt + 1;
  await removeLater(first.jobs, tenantId, before, clock.now());
  await removeLater(first.jobs, tenantId, before, clock.now());
  while (slices < 3) await settled();
  const id = `${tenantId}/${before}`;
  expect(await first.jobs.find('purge', id)).toMatchObject({ state: 'running', progress: { deleted: 300 } });
  const ending = end(first);
  stuck();
  await ending;
  const second = start();
  while ((await second.jobs.find('purge', id)) !== null) await clock.advanceAsync(1000);
  expect((await store.events.search(tenantId, { env: null }, 10, null)).events).toEqual([]);
});

it('clears away while a large tenant is erased', async () => {
  let isErasing = true;
  const tenantRecords = { ...store.tenantRecords };
  tenantRecords.listClosed = async () => [
    { id: uuid(), name: 't', createdAt: 0, suspendedAt: null, removedAt: 1 },
  ];
  tenantRecords.removeRecords = async () => {
    await new Promise((resolve) => void clock.after(1_000, () => resolve(null)));
    return isErasing ? 1 : 0;
  };
  let sweeps = 0;
  const logins = { ...store.logins };
  logins.removeExpired = async () => {
    sweeps++;
    return 0;
  };
  start({ tenantRecords, logins });
  await clock.advanceAsync(10 * minute, 1_000);
  expect(sweeps).toBeGreaterThan(8);
  isErasing = false;
});
