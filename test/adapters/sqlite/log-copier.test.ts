// The write-ahead log is copied into the file by a thread of its own, and writes go on when that thread fails.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { LogCopier, type LogCopierOptions } from '../../../adapters/sqlite/threads/log-copier.ts';
import { LogIndex } from '../../../adapters/sqlite/threads/log-index.ts';
import { startWorker } from '../../../adapters/sqlite/threads/start-worker.ts';
import type { Log } from '../../../src/shared/ports/log.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-log-'));
  path = join(folder, 'reeve.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const megabyte = 1 << 20;

/** A database whose content is in its log alone. */
function withFullLog(): Database {
  const db = new Database(path);
  db.get('PRAGMA journal_mode = WAL');
  db.get('PRAGMA wal_autocheckpoint = 0');
  db.exec('CREATE TABLE t (body BLOB)');
  db.run('INSERT INTO t VALUES (?)', [Buffer.alloc(megabyte)]);
  return db;
}

/** The locks that processes hold on the index, as Linux lists them. */
const locks = (): number =>
  readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .filter((line) => line.includes(`:${statSync(`${path}-shm`).ino} `)).length;

const pagesToCopy = (): number => new LogIndex(path).pagesToCopy();

function copierOf(over: Partial<LogCopierOptions>) {
  const log = { warn: vi.fn(), error: vi.fn(), info: vi.fn(), debug: vi.fn() };
  const copyFew = vi.fn(async () => true);
  const copyRest = vi.fn(async () => null);
  const start = vi.fn(() => startWorker('log-thread', 'log', { path }));
  const copier = new LogCopier({
    start,
    copyFew,
    copyRest,
    pages: 100,
    count: () => pagesToCopy(),
    log: log as unknown as Log,
    ...over,
  });
  return { copier, log, copyFew, copyRest, start };
}

it('copies what is written once enough is, and leaves the rest to the writer', async () => {
  const db = withFullLog();
  const { copier, log, copyFew } = copierOf({});
  copier.note(1000);
  expect(statSync(path).size).toBeLessThan(megabyte);
  copier.note(megabyte);
  await vi.waitFor(() => expect(copyFew).toHaveBeenCalledTimes(1), { timeout: 20_000 });
  expect(statSync(path).size).toBeGreaterThan(megabyte);
  expect(log.warn).not.toHaveBeenCalled();
  await copier.close();
  expect(db.get('SELECT length(body) FROM t')).toEqual([megabyte]);
  db.close();
});

it('counts the pages in the log after a removal, and copies it early', async () => {
  const db = new Database(path);
  db.get('PRAGMA journal_mode = WAL');
  db.get('PRAGMA wal_autocheckpoint = 0');
  db.exec('CREATE TABLE t (body BLOB)');
  const { copier, copyFew } = copierOf({ pages: 600 });
  const pagesBefore = pagesToCopy();
  db.run('INSERT INTO t VALUES (?)', [Buffer.alloc(50 * 4096)]);
  expect(pagesToCopy() - pagesBefore).toBeGreaterThanOrEqual(50);
  copier.recount();
  db.run('INSERT INTO t VALUES (?)', [Buffer.alloc(60 * 4096)]);
  expect(copyFew).not.toHaveBeenCalled();
  copier.recount();
  await vi.waitFor(() => expect(pagesToCopy()).toBe(0), { timeout: 20_000 });
  await copier.close();
  db.close();
  expect(new LogIndex(join(folder, 'missing.db')).pagesToCopy()).toBe(0);
});

it.runIf(process.platform === 'linux')("keeps SQLite's locks on the index when it is read", () => {
  const db = withFullLog();
  expect(locks()).toBeGreaterThan(0);
  const before = locks();
  expect(pagesToCopy()).toBeGreaterThan(0);
  expect(locks()).toBe(before);
  db.close();
});

it('does not copy early after a removal beside other writes', async () => {
  const { copier, start } = copierOf({ pages: 600, count: () => 599 });
  copier.note(100 * 4096);
  copier.recount();
  await copier.close();
  expect(start).not.toHaveBeenCalled();
});

it('copies again while much is left, and then leaves the rest to the writer', async () => {
  const db = withFullLog();
  const { copier, copyFew, copyRest } = copierOf({});
  copyFew.mockImplementation(async () => {
    expect(pagesToCopy()).toBe(0);
    expect(copyRest).not.toHaveBeenCalled();
    db.run('INSERT INTO t VALUES (?)', [Buffer.alloc(megabyte)]);
    return false;
  });
  copier.note(megabyte);
  await vi.waitFor(() => expect(copyRest).toHaveBeenCalledTimes(1), { timeout: 20_000 });
  expect(copyFew).toHaveBeenCalledTimes(4);
  await copier.close();
  db.close();
});

it('tries again with the next write when its thread ended', async () => {
  const db = withFullLog();
  const { copier, log, copyFew, start } = copierOf({});
  start.mockImplementationOnce(() => new Worker('process.exit(1)', { eval: true }));
  copier.note(megabyte);
  await vi.waitFor(() => expect(log.warn).toHaveBeenCalledTimes(1), { timeout: 20_000 });
  expect(copyFew).not.toHaveBeenCalled();
  copier.note(megabyte);
  await vi.waitFor(() => expect(copyFew).toHaveBeenCalledTimes(1), { timeout: 20_000 });
  await copier.close();
  db.close();
});

it('starts no thread before there is something to copy, and none after it was closed', async () => {
  const { copier, start } = copierOf({});
  copier.note(1000);
  await copier.close();
  copier.note(megabyte);
  await copier.close();
  expect(start).not.toHaveBeenCalled();
});
