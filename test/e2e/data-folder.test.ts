// The data folder of an embedded hub: what a start says of one it cannot use, and what a stop leaves in it.
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNightly, itAtNight, rowsOfRun } from '../runs.ts';
import { canMount, SmallDisk } from '../small-disk.ts';
import { HubProcess, lines, run } from './process.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-data-'));
const secret = { SECRET_KEY: 'a secret key of thirty-two characters' };
let dataDir = '';
/** The files of a hub that was set up and stopped. */
let stopped: readonly string[] = [];

beforeAll(async () => {
  const hub = new HubProcess({ ...secret, DATA_DIR: join(folder, 'good') });
  await hub.start();
  await hub.admin();
  await hub.stop();
  dataDir = join(folder, 'good');
  stopped = readdirSync(dataDir);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let copies = 0;
/** A copy of the stopped hub's folder. */
function copy(files: readonly string[] = stopped): { readonly dir: string; readonly db: string } {
  const dir = join(folder, `copy-${++copies}`);
  mkdirSync(dir, { mode: 0o700 });
  for (const name of files) copyFileSync(join(dataDir, name), join(dir, name));
  return { dir, db: join(dir, 'reeve.db') };
}

/** Starts on the folder and expects it to be refused with one line. */
async function refused(dir: string, user = {}): Promise<string> {
  const { code, text } = await run({ ...secret, DATA_DIR: dir }, [], user);
  expect(lines(text)).toHaveLength(1);
  expect(text).not.toContain('    at ');
  expect(code).toBe(1);
  return text.trim();
}

async function starts(dir: string): Promise<HubProcess> {
  const hub = new HubProcess({ ...secret, DATA_DIR: dir });
  await hub.start();
  return hub;
}

// Starts of the process, several in one test, on a machine that may be busy.
const slow = { timeout: 60_000 };

describe('a database that cannot be used is told in one line', slow, () => {
  it('is damaged', async () => {
    const { dir, db } = copy();
    const bytes = readFileSync(db);
    bytes.fill(0x5a, 100, 4096);
    writeFileSync(db, bytes);
    expect(await refused(dir)).toMatch(/reeve\.db is damaged \(.*\)\. Keep a copy .* restore a back-up/);
  });

  itAtNight('is damaged in the pages that a start reads last', async () => {
    const { dir, db } = copy();
    const bytes = readFileSync(db);
    bytes.fill(0x5a, 4096);
    writeFileSync(db, bytes);
    expect(await refused(dir)).toMatch(/reeve\.db is damaged/);
  });

  itAtNight('is cut off', async () => {
    const { dir, db } = copy();
    writeFileSync(db, readFileSync(db).subarray(0, 8192));
    expect(await refused(dir)).toMatch(/reeve\.db is damaged/);
  });

  it('is no database', async () => {
    const { dir, db } = copy();
    writeFileSync(db, 'dear diary, '.repeat(1000));
    expect(await refused(dir)).toMatch(/reeve\.db is not a Reeve database .* Set DATA_DIR to another folder/);
    expect(readFileSync(db, 'utf8')).toContain('dear diary');
  });

  it("is another program's, and stays as it was", async () => {
    const dir = join(folder, 'foreign');
    mkdirSync(dir);
    const other = new Libsql(join(dir, 'reeve.db'));
    other.exec('CREATE TABLE notes (text)');
    other.close();
    const before = readFileSync(join(dir, 'reeve.db'));
    expect(await refused(dir)).toMatch(/is a database of another program\. Set DATA_DIR to another folder/);
    expect(readFileSync(join(dir, 'reeve.db'))).toEqual(before);
  });

  it('was made by a newer version', async () => {
    const { dir, db } = copy();
    const newer = new Libsql(db);
    newer.exec('PRAGMA user_version = 1099');
    newer.close();
    expect(await refused(dir)).toMatch(
      /A newer version of Reeve wrote .* \(schema 1099; .* Start that version/,
    );
  });

  it('is locked by another program', async () => {
    const { dir, db } = copy();
    const other = new Libsql(db);
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM jobs');
    try {
      expect(await refused(dir)).toMatch(/Another program locks .* \(.*\)\. Close that program/);
    } finally {
      other.exec('ROLLBACK');
      other.close();
    }
  });

  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

  const locks: readonly (readonly [what: string, forbid: (dir: string) => void])[] = [
    ['the folder', (dir) => chmodSync(dir, 0o500)],
    ['the database', (dir) => chmodSync(join(dir, 'reeve.db'), 0o000)],
  ];
  it.each(rowsOfRun(locks, 1))('%s may not be written by the hub', async (_what, forbid) => {
    const { dir } = copy();
    chmodSync(folder, 0o755);
    for (const name of ['.', ...stopped]) chownSync(join(dir, name), nobody.uid ?? -1, nobody.gid ?? -1);
    forbid(dir);
    expect(await refused(dir, nobody)).toMatch(
      /cannot be (used|opened) \(.*\)\. Make the user that runs this command/,
    );
    chmodSync(dir, 0o700);
  });

  it.runIf(isNightly && canMount)('is on a disk that is full', async () => {
    const disk = new SmallDisk(8);
    try {
      for (const name of stopped) copyFileSync(join(dataDir, name), join(disk.folder, name));
      disk.fill();
      expect(await refused(disk.folder)).toMatch(/^The disk of \S+ is full\. Free space there/);
      rmSync(join(disk.folder, 'hub.id'));
      rmSync(join(disk.folder, 'reeve.db'));
      writeFileSync(join(disk.folder, 'more'), '');
      disk.fill();
      expect(await refused(disk.folder)).toMatch(/ is full/);
      const { code, text } = await run({ DATA_DIR: disk.folder });
      expect(lines(text)).toEqual([expect.stringMatching(/^The data folder \S+ is on a full disk/)]);
      expect(code).toBe(1);
      disk.drain();
      await (await starts(disk.folder)).stop();
    } finally {
      disk.remove();
    }
  });
});

describe('a folder and its database', slow, () => {
  it('are marked with the same id at set-up, and a stop leaves no write-ahead log', () => {
    expect([...stopped].sort()).toEqual(['hub.id', 'reeve.db', 'reeve.db.lock']);
    const id = readFileSync(join(dataDir, 'hub.id'), 'utf8').trim();
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(statSync(join(dataDir, 'hub.id')).mode & 0o777).toBe(0o600);
    const db = new Libsql(join(dataDir, 'reeve.db'));
    expect(db.prepare('SELECT mark FROM store').raw().get()).toEqual([id]);
    expect(db.prepare('SELECT count(*) FROM users').raw().get()).toEqual([1]);
    db.close();
  });

  itAtNight('have no id before there is a user', async () => {
    const hub = await starts(join(folder, 'fresh'));
    expect(existsSync(join(folder, 'fresh', 'hub.id'))).toBe(false);
    await hub.admin();
    expect(existsSync(join(folder, 'fresh', 'hub.id'))).toBe(true);
    await hub.stop();
  });

  itAtNight('hold the users in the file itself from set-up on, whatever becomes of the log', async () => {
    const hub = await starts(join(folder, 'killed'));
    await hub.admin();
    await hub.kill();
    const dir = join(folder, 'killed-copy');
    mkdirSync(dir);
    copyFileSync(join(folder, 'killed', 'reeve.db'), join(dir, 'reeve.db'));
    const again = await starts(dir);
    expect((await again.call('POST', '/api/v1/setup', { body: credentials })).status).toBe(409);
    expect(await again.login()).toContain('session');
    await again.stop();
  });

  const changes: readonly (readonly [what: string, change: (db: string) => void, words: RegExp])[] = [
    ['is gone', (db: string) => rmSync(db), /reeve\.db is missing or empty, but the file hub\.id/],
    [
      'is empty',
      (db: string) => writeFileSync(db, ''),
      /reeve\.db is missing or empty, but the file hub\.id/,
    ],
    [
      "is another hub's",
      (db: string) => {
        const opened = new Libsql(db);
        opened.exec(`UPDATE store SET mark = '0123456789abcdef'`);
        opened.close();
      },
      /is the database of hub 0123456789abcdef, but the file hub\.id beside it contains [0-9a-f]{16}/,
    ],
    [
      'has no users',
      (db: string) => {
        const opened = new Libsql(db);
        opened.exec('PRAGMA foreign_keys = OFF; DELETE FROM users; DELETE FROM tenants');
        opened.close();
      },
      /reeve\.db contains no users, but the file hub\.id/,
    ],
  ];
  it.each(rowsOfRun(changes, 3))('are refused when the database %s', async (_what, change, words) => {
    const { dir, db } = copy();
    change(db);
    expect(await refused(dir)).toMatch(words);
  });

  it('without an id are adopted', async () => {
    const { dir } = copy(['reeve.db']);
    const hub = await starts(dir);
    expect(readFileSync(join(dir, 'hub.id'), 'utf8')).toBe(readFileSync(join(dataDir, 'hub.id'), 'utf8'));
    expect(await hub.login()).toContain('session');
    await hub.stop();
  });
});

const credentials = { email: 'second@example.com', password: 'correct horse battery' };
