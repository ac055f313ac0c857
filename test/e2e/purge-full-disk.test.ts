// A full disk and old events: an administrator signs in and purges them, and the hub takes events again although the
// disk stays full.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../adapters/node/clock.ts';
import { openSqlite, type SqliteStore } from '../../adapters/sqlite/index.ts';
import { fromEventJson } from '../../src/event/record/json.ts';
import { itAtNight, rowsOfRun } from '../runs.ts';
import { canMount, noise, SmallDisk } from '../small-disk.ts';
import { wrongClock } from '../wrong-clock.ts';
import { HubProcess } from './process.ts';

const mebibyte = 1 << 20;
const disks: SmallDisk[] = [];
const hubs: HubProcess[] = [];

afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.remove();
  for (const disk of disks.splice(0)) disk.remove();
});

function smallDisk(mebibytes: number): SmallDisk {
  const disk = new SmallDisk(mebibytes);
  disks.push(disk);
  return disk;
}

let callNumber = 0;
const eventsOf = (count: number, bytes: number) =>
  Array.from({ length: count }, () => ({
    call_id: `call-${++callNumber}`,
    agent_id: 'a',
    tool_name: 't',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: '2026-01-01T00:00:00Z',
    payload: { text: noise(bytes) },
  }));

async function hubOn(
  folder: string,
  settings: { readonly [name: string]: string } = {},
): Promise<HubProcess> {
  const hub = new HubProcess({ DATA_DIR: folder, ...settings });
  hubs.push(hub);
  await hub.start();
  return hub;
}

/** Removes all events that were received before `before`; returns how many. */
async function purgeAll(store: SqliteStore, before: number): Promise<number> {
  for (let removed = 0; ; ) {
    const slice = await store.events.removeBefore('tenant', before, 100);
    if (slice === 0) return removed;
    removed += slice;
  }
}

const stateBecomes = (hub: HubProcess, expected: readonly unknown[]) =>
  vi.waitFor(
    async () => {
      const { status, body } = await hub.call('GET', '/api/v1/health/ready');
      expect([status, body.storage.state]).toEqual(expected);
    },
    { timeout: 15_000, interval: 50 },
  );

describe.skipIf(!canMount)('a disk of 64 MB that another program filled', () => {
  it.each(
    rowsOfRun(
      [
        ['the usual reserve', {}],
        ['a reserve of 8 MiB', { DISK_RESERVE_BYTES: String(8 * mebibyte) }],
      ],
      1,
    ),
  )(
    'has space for a sign-in and a purge of events that are an hour old, with %s',
    async (_reserve, settings) => {
      const disk = smallDisk(64);
      const dataDir = join(disk.folder, 'data');
      mkdirSync(dataDir, { mode: 0o700 });
      const early = await hubOn(dataDir, { ...settings, ...wrongClock(-2 * 3_600_000) });
      const { key } = await early.key(await early.admin());
      for (let i = 0; i < 40; i++) {
        const body = { events: eventsOf(10, 40_000) };
        expect((await early.call('POST', '/api/v1/events', { key, body })).status).toBe(200);
      }
      await early.stop();

      const hub = await hubOn(dataDir, settings);
      const held = statSync(join(dataDir, 'reeve.db.reserve')).size;
      expect(held).toBeGreaterThanOrEqual(4 * mebibyte);
      disk.fill();
      await stateBecomes(hub, [503, 'full']);
      const approve = (agent: string) => {
        const body = { tool_name: 't', tool_args: { a: 'x'.repeat(4000) }, message: 'may I?', timeout: 60 };
        return hub.call('POST', '/api/v1/approvals', { key, agent, body });
      };
      // The write-ahead log has no room left either.
      for (let i = 0; (await approve(`agent-${i}`)).status === 201; i++);
      const refusal = await approve('late');
      expect(refusal.body).toMatchObject({ code: 'disk_full' });
      expect(refusal.body.detail).toMatch(/purge/);

      const cookie = await hub.login();
      expect(cookie).toContain('session');
      const answer = await hub.call('DELETE', '/api/v1/settings/purge-events?older_than_hours=1', { cookie });
      expect(answer).toMatchObject({ status: 200, body: { deleted_count: 400, complete: true } });
      await stateBecomes(hub, [200, 'low']);
      for (let i = 0; i < 5; i++) {
        const sent = await hub.call('POST', '/api/v1/events', { key, body: { events: eventsOf(5, 10_000) } });
        expect(sent.body).toMatchObject({ accepted: 5 });
      }
      expect((await approve('later')).status).toBe(201);

      disk.drain();
      await stateBecomes(hub, [200, 'ok']);
      await vi.waitFor(() => expect(statSync(join(dataDir, 'reeve.db.reserve')).size).toBe(held), 10_000);
    },
    120_000,
  );
});

describe.skipIf(!canMount)('a hub that starts on a full disk', () => {
  itAtNight(
    'opens in the space for a purge, and goes on after the purge',
    async () => {
      const disk = smallDisk(64);
      const dataDir = join(disk.folder, 'data');
      mkdirSync(dataDir, { mode: 0o700 });
      const early = await hubOn(dataDir, wrongClock(-2 * 3_600_000));
      const { key } = await early.key(await early.admin());
      const send = (hub: HubProcess, count: number) =>
        hub.call('POST', '/api/v1/events', { key, body: { events: eventsOf(count, 40_000) } });
      for (let i = 0; i < 40; i++) expect((await send(early, 10)).status).toBe(200);
      await early.kill();
      disk.fill();
      const hub = await hubOn(dataDir);
      const cookie = await hub.login();
      const answer = await hub.call('DELETE', '/api/v1/settings/purge-events?older_than_hours=1', { cookie });
      expect(answer).toMatchObject({ status: 200, body: { deleted_count: 400 } });
      await stateBecomes(hub, [200, 'low']);
      expect((await send(hub, 2)).body).toMatchObject({ accepted: 2 });
    },
    120_000,
  );
});

describe.skipIf(!canMount)('a disk of 64 MB that events filled', () => {
  itAtNight(
    'has space for a purge when the rest is taken at once, whatever the log holds',
    async () => {
      const disk = smallDisk(64);
      const path = join(disk.folder, 'reeve.db');
      const store = await openSqlite({ path, clock: systemClock });
      const ingest = (receivedAt: number, bytes: number) =>
        store.events.ingest({
          tenantId: 'tenant',
          env: 'production',
          receivedAt,
          events: eventsOf(10, bytes).map((event) => fromEventJson({ ...event, timestamp: 1 })),
        });
      try {
        for (const batches of [3, 11, 17, 29, 53]) {
          const condition = () => [store.storage().state, existsSync(`${path}.reserve`)];
          await vi.waitFor(() => expect(condition()).toEqual(['ok', true]), 10_000);
          for (let i = 0; i < batches; i++) await ingest(1, 40_000);
          disk.fill();
          expect(await purgeAll(store, 2)).toBe(10 * batches);
          // The reserve for decisions comes first: a purge of little makes room for them alone.
          expect([batches, store.storage().state]).toEqual([batches, batches < 53 ? 'reserved' : 'low']);
          if (batches === 53) expect(await ingest(1, 10_000)).toMatchObject({ accepted: 10 });
          await purgeAll(store, 2);
          disk.drain();
        }
      } finally {
        await store.close();
      }
    },
    120_000,
  );

  itAtNight(
    'takes events again after a purge, as often as it fills',
    async () => {
      const disk = smallDisk(64);
      const store = await openSqlite({ path: join(disk.folder, 'reeve.db'), clock: systemClock });
      const batch = (receivedAt: number) => ({
        tenantId: 'tenant',
        env: 'production' as const,
        receivedAt,
        events: eventsOf(10, 40_000).map((event) => fromEventJson({ ...event, timestamp: 1 })),
      });
      try {
        for (let round = 1; round <= 3; round++) {
          let stored = 0;
          let refusal: unknown = null;
          while (refusal === null && stored < 5000) {
            await store.events.ingest(batch(round)).then(
              () => {
                stored += 10;
              },
              (error: unknown) => {
                refusal = error;
              },
            );
          }
          expect(refusal).toMatchObject({ code: 'disk_full' });
          expect(stored * 40_000).toBeGreaterThan(16 * mebibyte);
          expect(await purgeAll(store, round + 1)).toBe(stored);
        }
      } finally {
        await store.close();
      }
    },
    120_000,
  );
});

describe('a disk with room for years', () => {
  it('has no file that keeps space for a purge', async () => {
    const hub = await hubOn(join(smallDisk(2000).folder, 'data'));
    await stateBecomes(hub, [200, 'ok']);
    expect(existsSync(join(hub.settings.DATA_DIR ?? '', 'reeve.db.reserve'))).toBe(false);
  });
});
