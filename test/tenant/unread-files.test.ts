// A tenant file that is requested and never read: the threads that read the store end.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../adapters/node/clock.ts';
import { openSqlite, type SqliteStore } from '../../adapters/sqlite/index.ts';
import { Streamed } from '../../src/http/contract/call.ts';
import { makeHub } from '../harness.ts';
import { asKey, edge, raw } from '../http/fixtures.ts';
import { operatorOf, passphrase } from '../tenant-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-unread-'));
let store: SqliteStore;
let tenantId = '';

/** Threads of this process. */
const threads = (): number => (process.report.getReport() as { workers: readonly unknown[] }).workers.length;

beforeAll(async () => {
  store = await openSqlite({ path: join(folder, 'reeve.db'), clock: systemClock });
  const hub = await makeHub({}, undefined, undefined, { store });
  ({ tenantId } = await hub.tenant());
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const start = () => operatorOf(store, Date.now()).exports.start(tenantId, passphrase);

it('leaves no thread after a HEAD, an upgrade, or a client that left before the first part', async () => {
  const { pipeline } = edge({
    serve: { download: async () => new Streamed(await start(), { headers: {} }) },
  });
  const before = threads();
  const unread = await start();
  expect(threads()).toBe(before + 1);
  await unread.return();
  expect(threads()).toBe(before);

  const head = await pipeline.handle(raw('HEAD', '/api/v1/download', asKey));
  expect([head.status, head.live]).toEqual([200, null]);
  const upgrade = raw('GET', '/api/v1/download', asKey, '', { upgrade: true });
  expect((await pipeline.handle(upgrade)).status).toBe(400);
  const left = await pipeline.handle(raw('GET', '/api/v1/download', asKey));
  left.live?.gone();
  await expect.poll(threads).toBe(before);
});

it('is refused with a status while the store cannot begin to read', async () => {
  const { exports } = operatorOf(
    { ...store, readTenant: () => Promise.reject(new Error('away')) },
    Date.now(),
  );
  await expect(exports.start(tenantId, passphrase)).rejects.toThrow('away');
});
