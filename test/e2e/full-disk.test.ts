// A disk that fills up under a running hub: what is refused first, what goes on, what probes say, and that it recovers
// by itself.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../adapters/node/clock.ts';
import { reserveOf } from '../../adapters/sqlite/disk.ts';
import { openSqlite } from '../../adapters/sqlite/index.ts';
import type { EventInput } from '../../src/event/record.ts';
import { random } from '../random.ts';
import { itAtNight, runsOf } from '../runs.ts';
import { canMount, noise, SmallDisk } from '../small-disk.ts';
import { HubProcess } from './process.ts';
import { SocketClient } from './socket.ts';

const mebibyte = 1 << 20;
const seed = process.env.SEED ?? '1';
const disks: SmallDisk[] = [];
const hubs: HubProcess[] = [];

afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.remove();
  for (const disk of disks.splice(0)) disk.remove();
});

/** A hub on a disk of its own, set up, with an API key. */
async function hubOn(mebibytes: number, settings: { readonly [name: string]: string } = {}) {
  const disk = new SmallDisk(mebibytes);
  disks.push(disk);
  const dataDir = join(disk.folder, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const hub = new HubProcess({ DATA_DIR: dataDir, ...settings });
  hubs.push(hub);
  await hub.start();
  const cookie = await hub.admin();
  const { key } = await hub.key(cookie);
  return { disk, hub, cookie, key };
}

let events = 0;
const anEvent = (bytes = 10) => ({
  call_id: `call-${++events}`,
  agent_id: 'a',
  tool_name: 't',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: '2026-01-01T00:00:00Z',
  payload: { text: noise(bytes) },
});
type DiskHub = Awaited<ReturnType<typeof hubOn>>;
const send = ({ hub, key }: DiskHub, events: readonly object[]) =>
  hub.call('POST', '/api/v1/events', { key, body: { events } });
const state = async ({ hub }: DiskHub) => {
  const { status, body } = await hub.call('GET', '/api/v1/health/ready');
  return [status, body.status, body.storage.state];
};
/** Until the hub has noticed. */
const becomes = (diskHub: DiskHub, wanted: readonly unknown[]) =>
  vi.waitFor(async () => expect(await state(diskHub)).toEqual(wanted), { timeout: 15_000, interval: 50 });

/** The call ids of all events, in pages. */
async function storedIds({ hub, cookie }: DiskHub): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await hub.call('GET', `/api/v1/events?limit=100${from}`, { cookie });
    ids.push(...page.body.map(({ call_id }: { call_id: string }) => call_id));
    cursor = page.headers.get('x-next-cursor');
  }
  return ids;
}

const refused = {
  status: 503,
  body: { code: 'disk_full', detail: expect.stringContaining('disk of the hub') },
};

describe.skipIf(!canMount)('a disk with nothing left but the reserve', () => {
  it('takes no events and no growing values; decisions, counters and reads go on', async () => {
    const diskHub = await hubOn(64, { DISK_RESERVE_BYTES: String(8 * mebibyte) });
    const { hub, disk, key, cookie } = diskHub;
    const ask = { tool_name: 'rm', message: 'may I?', timeout: 60 };
    const value = (name: string) => `/api/v1/sessions/${name}`;
    expect((await send(diskHub, [anEvent()])).status).toBe(200);
    await hub.call('PUT', value('text'), { key, body: { value: 'abc' } });
    await hub.call('PUT', value('count'), { key, body: { value: '9' } });
    expect(await state(diskHub)).toEqual([200, 'ready', 'ok']);

    disk.fill(12 * mebibyte);
    await becomes(diskHub, [200, 'ready', 'low']);
    expect((await send(diskHub, [anEvent()])).status).toBe(200);

    disk.fill(6 * mebibyte);
    await becomes(diskHub, [200, 'ready', 'reserved']);
    const answer = await send(diskHub, [anEvent()]);
    expect(answer).toMatchObject(refused);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'a' };
    const socket = await SocketClient.open(
      hub.port,
      '/api/v1/stream?env=production',
      headers,
      'reeve.v1.json',
    );
    expect(await socket.ask('events', 1, { events: [anEvent()] })).toMatchObject({
      status: 503,
      code: 'disk_full',
    });
    socket.close();

    expect(await hub.call('PUT', value('text'), { key, body: { value: 'abcd' } })).toMatchObject(refused);
    expect(await hub.call('PUT', value('new'), { key, body: { value: '' } })).toMatchObject(refused);
    expect((await hub.call('PUT', value('text'), { key, body: { value: 'xyz' } })).status).toBe(200);
    expect((await hub.call('POST', `${value('count')}/increment`, { key, body: {} })).body).toEqual({
      value: 10,
    });
    expect((await hub.call('POST', `${value('fresh')}/increment`, { key, body: {} })).body).toEqual({
      value: 1,
    });
    expect((await hub.call('DELETE', value('text'), { key })).status).toBe(200);

    const approval = await hub.call('POST', '/api/v1/approvals', { key, agent: 'a', body: ask });
    expect(approval.status).toBe(201);
    const path = `/api/v1/approvals/${approval.body.id}`;
    expect((await hub.call('PUT', path, { cookie, body: { approved: true } })).status).toBe(200);
    expect((await hub.call('GET', path, { cookie })).body.status).toBe('approved');
    expect((await hub.call('GET', '/api/v1/events', { cookie })).body).toHaveLength(2);
    expect(await hub.login()).toContain('session');
    const details = (await hub.call('GET', '/api/v1/health/details', { cookie })).body;
    expect(details).toMatchObject({
      status: 'degraded',
      storage: { state: 'reserved', reserve_bytes: 8 * mebibyte },
    });
    expect(details.storage.free_bytes).toBeLessThan(8 * mebibyte);
    expect((await hub.call('GET', '/api/v1/health')).body.status).toBe('degraded');

    disk.drain();
    await becomes(diskHub, [200, 'ready', 'ok']);
    expect((await send(diskHub, [anEvent()])).status).toBe(200);
    expect((await hub.call('PUT', value('new'), { key, body: { value: 'abcd' } })).status).toBe(200);
  }, 60_000);

  itAtNight(
    'is reached by events themselves, and never gone below; emptying the log makes room again and again',
    async () => {
      const diskHub = await hubOn(48, { DISK_RESERVE_BYTES: String(8 * mebibyte) });
      const batch = () => Array.from({ length: 10 }, () => anEvent(40_000));
      let accepted = 0;
      let last = { status: 0 };
      for (let i = 0; i < 400 && last.status !== 503; i++) {
        last = await send(diskHub, batch());
        if (last.status === 200) accepted++;
      }
      expect(last).toMatchObject(refused);
      const [status, , room] = await state(diskHub);
      expect({ status, room }).toEqual({ status: 200, room: expect.stringMatching(/^(low|reserved)$/) });
      expect(diskHub.disk.free).toBeGreaterThan(7 * mebibyte);
      // Most of the disk holds events, not the log.
      expect(accepted * 0.4).toBeGreaterThan(28);
    },
    60_000,
  );
});

it('the usual reserve is a twentieth of a disk, 16 to 512 MiB, and a quarter of a small one', () => {
  const reserves = [48, 64, 1 << 10, 10 << 10, 1 << 20].map((size) => reserveOf(size * mebibyte) / mebibyte);
  expect(reserves).toEqual([12, 16, expect.closeTo(51.2), 512, 512]);
});

describe.skipIf(!canMount)('a small disk that events filled', () => {
  itAtNight(
    'keeps a quarter for decisions',
    async () => {
      const disk = new SmallDisk(64);
      disks.push(disk);
      const store = await openSqlite({ path: join(disk.folder, 'reeve.db'), clock: systemClock });
      try {
        const event = (i: number): EventInput => ({
          ...{ agentId: 'a', toolName: 't', verdict: 'call_allowed', mode: 'enforce', timestamp: 1 },
          callId: `call-${i}`,
          payload: { text: noise(40_000) },
        });
        const ingest = (from: number) =>
          store.events.ingest({
            tenantId: 't',
            env: 'production',
            receivedAt: 1,
            events: Array.from({ length: 10 }, (_, i) => event(from + i)),
          });
        let sent = 0;
        let refusal: unknown = null;
        while (sent < 4000 && refusal === null) {
          refusal = await ingest(sent).then(
            () => null,
            (error: unknown) => error,
          );
          sent += 10;
        }
        expect(refusal).toMatchObject({ code: 'disk_full' });
        expect(disk.free).toBeGreaterThan(14 * mebibyte);
      } finally {
        await store.close();
      }
    },
    60_000,
  );
});

describe.skipIf(!canMount)('a disk without any room', () => {
  it('is not ready, says so before a commit fails, and never answers anything but 503', async () => {
    const diskHub = await hubOn(48);
    const { hub, disk, key, cookie } = diskHub;
    disk.fill();
    await becomes(diskHub, [503, 'not_ready', 'full']);
    expect((await hub.call('GET', '/api/v1/events', { cookie })).status).toBe(200);
    expect((await hub.call('GET', '/api/v1/health/live')).status).toBe(200);
    // Decisions go on while the log has room of its own, and then say what is wrong.
    const seen = new Set<number>();
    const large = { target: 'x'.repeat(4000) };
    for (let i = 0; i < 200 && !seen.has(503); i++) {
      const body = { tool_name: 'rm', tool_args: large, message: 'may I?', timeout: 60 };
      const answer = await hub.call('POST', '/api/v1/approvals', { key, agent: `a-${i}`, body });
      seen.add(answer.status);
      if (answer.status === 503) expect(answer.body.code).toBe('disk_full');
    }
    expect([...seen].filter((status) => ![201, 503].includes(status))).toEqual([]);
    expect(seen.has(503)).toBe(true);
    expect(await state(diskHub)).toEqual([503, 'not_ready', 'full']);
    // A line or two in the log, not one for each call.
    expect(hub.printed.split('\n').filter((line) => line.includes('disk of the store')).length).toBeLessThan(
      6,
    );

    disk.drain();
    await becomes(diskHub, [200, 'ready', 'ok']);
    const body = { tool_name: 'rm', message: 'may I?', timeout: 60 };
    expect((await hub.call('POST', '/api/v1/approvals', { key, agent: 'late', body })).status).toBe(201);
    expect((await send(diskHub, [anEvent()])).status).toBe(200);
  }, 60_000);

  itAtNight(
    'without a reserve loses nothing acknowledged, and goes on by itself when there is room',
    async () => {
      const diskHub = await hubOn(40, { DISK_RESERVE_BYTES: '0' });
      const { hub, disk } = diskHub;
      // At 16 MiB the index of the log has to grow as well: then a refused batch may be there or not.
      disk.fill(12 * mebibyte);
      const acknowledged: string[] = [];
      const refusedBatches: object[][] = [];
      const refusals = new Set<string>();
      const sender = async () => {
        for (let i = 0; i < 20; i++) {
          const events = Array.from({ length: 10 }, () => anEvent(20_000));
          const answer = await send(diskHub, events);
          if (answer.status === 200) {
            expect(answer.body).toEqual({ accepted: 10, duplicates: 0 });
            acknowledged.push(...events.map(({ call_id }) => call_id));
          } else {
            refusals.add(`${answer.status} ${answer.body.code}`);
            if (answer.body.code === 'disk_full') refusedBatches.push(events);
          }
        }
      };
      await Promise.all(Array.from({ length: 6 }, sender));
      // Where nobody knows what a death would leave, it is said so.
      expect([...refusals].filter((one) => one !== '503 unavailable')).toEqual(['503 disk_full']);
      expect((await state(diskHub))[1]).toBe('not_ready');

      const stored = async () => (await storedIds(diskHub)).sort();
      const before = new Set(await stored());
      expect(acknowledged.filter((id) => !before.has(id))).toEqual([]);

      disk.drain();
      await becomes(diskHub, [200, 'ready', 'ok']);
      // A batch is stored as a whole or not at all: all of a repeat is new, or nothing is (when only the agent's last
      // contact had no room).
      for (const events of refusedBatches.slice(0, 20)) {
        expect([0, 10]).toContain((await send(diskHub, events)).body.accepted);
        acknowledged.push(...(events as { call_id: string }[]).map(({ call_id }) => call_id));
      }
      const after = await stored();
      expect(new Set(after).size).toBe(after.length);
      expect(acknowledged.filter((id) => !after.includes(id))).toEqual([]);
      await hub.kill();
      await hub.start();
      expect(await stored()).toEqual(after);
    },
    60_000,
  );

  it(`is filled, emptied and killed again and again, and keeps what it acknowledged, each batch whole and once (SEED=${seed})`, async () => {
    const diskHub = await hubOn(96, { DISK_RESERVE_BYTES: '0' });
    const { hub, disk } = diskHub;
    const chance = random(seed);
    const acknowledged: string[] = [];
    const batches: string[][] = [];
    let refusals = 0;

    const attempt = async (): Promise<void> => {
      const events = Array.from({ length: 1 + chance.int(8) }, () => anEvent(chance.int(30_000)));
      const ids = events.map(({ call_id }) => call_id);
      batches.push(ids);
      const answer = await send(diskHub, events).catch(() => null);
      if (answer?.status === 200) acknowledged.push(...ids);
      else if (answer) {
        expect(answer.status).toBe(503);
        refusals++;
      }
    };
    for (let round = 0; round < runsOf(6, 4); round++) {
      disk.fill(chance.int(2 * mebibyte));
      const senders = Array.from({ length: 5 }, async () => {
        for (let i = 0; i < 8; i++) await attempt();
      });
      if (round % 2 === 1) {
        for (let i = 0; i < 10; i++) await attempt();
        await hub.kill();
      }
      await Promise.all(senders);
      disk.drain();
      if (round % 2 === 1) await hub.start();
      await becomes(diskHub, [200, 'ready', 'ok']);
    }
    const ids = await storedIds(diskHub);
    const stored = new Set(ids);
    const sent = new Set(batches.flat());
    expect(stored.size).toBe(ids.length);
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(ids.filter((id) => !sent.has(id))).toEqual([]);
    expect(batches.filter((batch) => new Set(batch.map((id) => stored.has(id))).size > 1)).toEqual([]);
    expect(refusals).toBeGreaterThan(10);
    expect(acknowledged.length).toBeGreaterThan(50);
  }, 120_000);
});
