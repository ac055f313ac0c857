// `reeve backup` and `reeve restore` with real processes: under load, over other hubs, on full disks, and what they
// refuse.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Database } from '../../adapters/sqlite/database.ts';
import { backup } from '../../src/hub/commands/backup.ts';
import { restore } from '../../src/hub/commands/restore.ts';
import { bundleYaml } from '../contract/library.ts';
import { isNightly, itAtNight, rowsOfRun, runsOf } from '../runs.ts';
import { canMount, SmallDisk } from '../small-disk.ts';
import { readRecorded } from '../stores/stores.ts';
import { adminEmail, password } from '../stores/world.ts';
import { callCommand } from './command.ts';
import { HubProcess, lines, mainFile, run } from './process.ts';
import { SseClient } from './sse.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-backup-'));
const hubs: HubProcess[] = [];
const at = (name: string): string => join(folder, name);
const hubIn = (dataDir: string, settings: { readonly [name: string]: string } = {}): HubProcess => {
  const hub = new HubProcess({ DATA_DIR: dataDir, ...settings });
  hubs.push(hub);
  return hub;
};
const mode = (path: string): number => statSync(path).mode & 0o777;

afterAll(async () => {
  for (const hub of hubs) await hub.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Calls a command in this process. Its result is in the last line of `text`, behind lines of progress. */
async function call(env: { readonly [name: string]: string }, [word, ...args]: readonly string[]) {
  const { code, out, err } = await callCommand(word === 'backup' ? backup : restore, args, env);
  return { code, text: err + out };
}

/** A command that is to succeed; its result. @param runCommand `run` starts a process */
async function command(dataDir: string, args: readonly string[], runCommand: typeof call = call) {
  const { code, text } = await runCommand({ DATA_DIR: dataDir }, [...args, '--json']);
  expect({ code, text }).toMatchObject({ code: 0 });
  return JSON.parse(text.trim().split('\n').at(-1) ?? '');
}

/** A command that is to be refused; its one line. */
async function refused(env: { readonly [name: string]: string }, ...args: string[]): Promise<string> {
  const { code, text } = await call(env, args);
  expect({ code, lines: lines(text) }).toEqual({ code: 1, lines: [expect.any(String)] });
  return text.trim();
}

describe('a hub that is backed up under load', () => {
  it('comes back with everything that was acknowledged before, and its logins and keys work', async () => {
    const hub = hubIn(at('loaded'));
    await hub.start();
    const cookie = await hub.admin();
    const { key } = await hub.key(cookie);
    const running = new AbortController();
    const acknowledged: string[] = [];
    const sent: string[][] = [];
    let increments = 0;
    let n = 0;
    const loop = async (task: () => Promise<void>): Promise<void> => {
      while (!running.signal.aborted) await task();
    };
    const sender = () =>
      loop(async () => {
        const ids = Array.from({ length: 20 }, () => `call-${++n}`);
        sent.push(ids);
        const events = ids.map((call_id) => ({
          call_id,
          agent_id: 'a',
          tool_name: 't',
          verdict: 'call_allowed',
          mode: 'enforce',
          timestamp: '2026-01-01T00:00:00Z',
          payload: { text: 'x'.repeat(500) },
        }));
        const { status } = await hub.call('POST', '/api/v1/events', { key, body: { events } });
        if (status === 200) acknowledged.push(...ids);
      });
    const counter = () =>
      loop(async () => {
        if ((await hub.call('POST', '/api/v1/sessions/n/increment', { key, body: {} })).status === 200)
          increments++;
      });
    const work = [sender(), sender(), sender(), counter()];
    while (acknowledged.length < runsOf(2000, 500)) await wait(5);
    const ask = { tool_name: 'rm', message: 'may I?', timeout: 600 };
    const approval = (await hub.call('POST', '/api/v1/approvals', { key, agent: 'a', body: ask })).body.id;
    await hub.call('PUT', `/api/v1/approvals/${approval}`, { cookie, body: { approved: true } });

    const before = { ids: [...acknowledged], increments };
    const report = await command(at('loaded'), ['backup', at('loaded.backup')], run);
    const during = acknowledged.length - before.ids.length;
    running.abort();
    await Promise.all(work);
    expect(during).toBeGreaterThan(0);
    expect(mode(at('loaded.backup'))).toBe(0o600);
    expect(report).toMatchObject({
      file: at('loaded.backup'),
      bytes: statSync(at('loaded.backup')).size,
      hub_id: readFileSync(join(at('loaded'), 'hub.id'), 'utf8').trim(),
      master_secret: 'included',
    });
    await hub.kill();

    const restored = await command(at('restored'), ['restore', at('loaded.backup')], run);
    expect(restored).toMatchObject({
      hub_id: report.hub_id,
      data_dir: at('restored'),
      master_secret: 'included',
    });
    for (const name of ['reeve.db', 'secret.key', 'hub.id'])
      expect(mode(join(at('restored'), name))).toBe(0o600);
    expect(mode(at('restored'))).toBe(0o700);
    const again = hubIn(at('restored'));
    await again.start();
    expect((await again.call('GET', '/api/v1/auth/me', { cookie })).status).toBe(200);
    const fresh = await again.login();
    const stored = new Set<string>();
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await again.call('GET', `/api/v1/events?limit=1000${from}`, { cookie: fresh });
      for (const { call_id } of page.body) {
        expect(stored.has(call_id)).toBe(false);
        stored.add(call_id);
      }
      cursor = page.headers.get('x-next-cursor');
    }
    expect(before.ids.filter((id) => !stored.has(id))).toEqual([]);
    // Batches are there as a whole or not at all.
    expect(sent.filter((ids) => new Set(ids.map((id) => stored.has(id))).size > 1)).toEqual([]);
    const { value } = (await again.call('GET', '/api/v1/sessions/n', { key })).body;
    expect(Number(value)).toBeGreaterThanOrEqual(before.increments);
    expect(Number(value)).toBeLessThanOrEqual(increments);
    expect((await again.call('GET', `/api/v1/approvals/${approval}`, { cookie: fresh })).body.status).toBe(
      'approved',
    );
    // The agents' remaining events arrive again and are stored once.
    const repeat = sent[0]?.map((call_id) => ({
      call_id,
      agent_id: 'a',
      tool_name: 't',
      verdict: 'call_allowed',
      mode: 'enforce',
      timestamp: '2026-01-01T00:00:00Z',
    }));
    expect(
      (await again.call('POST', '/api/v1/events', { key, body: { events: repeat } })).body,
    ).toMatchObject({
      accepted: 0,
      duplicates: 20,
    });
    const stream = await SseClient.open(`${again.url}/api/v1/stream?env=production`, {
      Authorization: `Bearer ${key}`,
      'X-Service-Agent-Id': 'a',
    });
    expect(stream.status).toBe(200);
    await again.stop();
  }, 120_000);
});

describe('back-ups of a hub that is stopped', { timeout: 60_000 }, () => {
  const data = at('stopped');
  const file = at('stopped.backup');
  let id = '';

  beforeAll(async () => {
    const hub = hubIn(data);
    await hub.start();
    await hub.admin();
    await hub.stop();
    id = (await command(data, ['backup', file])).hub_id;
  }, 60_000);

  it('leave the folder as it was, with a mark of the time', async () => {
    expect(readdirSync(data).sort()).toEqual([
      'hub.id',
      'last-backup',
      'reeve.db',
      'reeve.db.lock',
      'secret.key',
    ]);
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
  });

  itAtNight(
    'get a name after the time in a folder that is named, and are never overwritten unasked',
    async () => {
      mkdirSync(at('many'));
      const report = await command(data, ['backup', at('many')]);
      expect(report.file).toMatch(/many\/reeve-\d{8}T\d{6}Z\.backup$/);
      const before = readFileSync(report.file);
      expect(await refused({ DATA_DIR: data }, 'backup', report.file)).toMatch(
        /exists\. Name another file, or use --force\.$/,
      );
      expect(readFileSync(report.file).equals(before)).toBe(true);
      expect((await command(data, ['backup', report.file, '--force'])).file).toBe(report.file);
      expect(readdirSync(at('many'))).toHaveLength(1);
    },
  );

  itAtNight(
    'take the place of no file of the hub and of nothing that is no file, also when forced',
    async () => {
      symlinkSync(data, at('link'));
      for (const target of [join(data, 'reeve.db'), join(at('link'), 'reeve.db'), join(data, 'secret.key')]) {
        expect(await refused({ DATA_DIR: data }, 'backup', target, '--force')).toMatch(
          /belongs to the hub itself/,
        );
      }
      const pipe = at('pipe');
      await once(spawn('mkfifo', [pipe]), 'exit');
      expect(await refused({ DATA_DIR: data }, 'backup', pipe, '--force')).toMatch(
        /is not a regular file, so it is not replaced/,
      );
      expect(await refused({ DATA_DIR: data }, 'backup', at('no/such/x'))).toMatch(
        /The folder .* does not exist/,
      );
      expect(await refused({ DATA_DIR: at('pipes') }, 'restore', pipe)).toMatch(
        /is not a regular file\. Name a back-up file/,
      );
      expect(await refused({ DATA_DIR: at('pipes') }, 'restore', folder)).toMatch(
        /is not a regular file\. Name a back-up file/,
      );
      expect(await refused({ DATA_DIR: at('pipes') }, 'restore', at('absent'))).toMatch(/does not exist/);
      const { size } = statSync(file);
      copyFileSync(file, at('cut.backup'));
      truncateSync(at('cut.backup'), size - 1);
      expect(await refused({ DATA_DIR: at('pipes') }, 'restore', at('cut.backup'))).toMatch(
        /its last line is missing/,
      );
      expect(existsSync(at('pipes'))).toBe(false);
      const hub = hubIn(data);
      await hub.start();
      await hub.stop();
    },
  );

  itAtNight('can be checked without touching a folder', async () => {
    const checked = await command(at('untouched'), ['restore', file, '--check']);
    expect(checked).toMatchObject({ ok: true, hub_id: id });
    expect(existsSync(at('untouched'))).toBe(false);
    const damaged = at('damaged.backup');
    copyFileSync(file, damaged);
    const bytes = readFileSync(damaged);
    bytes[20_000] = (bytes[20_000] ?? 0) ^ 1;
    writeFileSync(damaged, bytes);
    for (const args of [['--check'], []]) {
      expect(await refused({ DATA_DIR: at('untouched') }, 'restore', damaged, ...args)).toMatch(
        /its digest does not match/,
      );
    }
    expect(readdirSync(at('untouched'))).toEqual(['reeve.db.lock']);
    truncateSync(damaged, 5000);
    expect(await refused({ DATA_DIR: data }, 'restore', damaged)).toMatch(/not a complete Reeve back-up/);
  });

  it('are refused while the hub runs, and over another hub unless forced', async () => {
    const other = at('other');
    const hub = hubIn(other);
    await hub.start();
    await hub.admin('other@example.com');
    expect(await refused({ DATA_DIR: other }, 'restore', file, '--force')).toMatch(
      /Another process uses the store/,
    );
    await hub.kill();
    expect(existsSync(join(other, 'reeve.db-wal'))).toBe(true);
    // The mark of the hub that is replaced.
    writeFileSync(join(other, 'last-backup'), '2026-01-01T00:00:00.000Z');
    const secret = readFileSync(join(other, 'secret.key'), 'utf8');
    const taken = await refused({ DATA_DIR: other }, 'restore', file);
    expect(taken).toMatch(/other already contains a hub \(reeve\.db, hub\.id, secret\.key\).* --force/);
    expect(readFileSync(join(other, 'secret.key'), 'utf8')).toBe(secret);

    await command(other, ['restore', file, '--force']);
    expect(readdirSync(other).sort()).toEqual([
      'hub.id',
      'reeve.db',
      'reeve.db.lock',
      'secret.key',
      'secret.key.replaced',
    ]);
    expect(readFileSync(join(other, 'secret.key.replaced'), 'utf8')).toBe(secret);
    await hub.start();
    expect(await hub.login()).toContain('session');
    expect(await hub.login('other@example.com')).toBe('');
    await hub.stop();
  }, 60_000);

  it('need SECRET_KEY beside them when the folder does not keep it, and say so', async () => {
    const env = { SECRET_KEY: 'a secret key of thirty-two characters' };
    const hub = hubIn(at('own-secret'), env);
    await hub.start();
    const cookie = await hub.admin();
    const bundle = { yaml_content: bundleYaml('team') };
    await hub.call('POST', '/api/v1/bundles', { cookie, body: bundle });
    const deployment = { cookie, body: { env: 'production' } };
    expect((await hub.call('POST', '/api/v1/bundles/team/1/deploy', deployment)).status).toBe(201);
    await hub.stop();
    const report = await call({ DATA_DIR: at('own-secret') }, ['backup', at('own-secret.backup')]);
    expect(report.text).toMatch(/does not contain the master secret.*Store SECRET_KEY separately/);
    expect(readFileSync(at('own-secret.backup'), 'latin1')).not.toContain(env.SECRET_KEY);
    const without = await call({ DATA_DIR: at('own-1') }, ['restore', at('own-secret.backup')]);
    expect(without).toMatchObject({
      code: 0,
      text: expect.stringMatching(/Set its previous SECRET_KEY/),
    });
    const withIt = await call({ DATA_DIR: at('own-2'), ...env }, ['restore', at('own-secret.backup')]);
    expect(withIt.text).toMatch(/configured SECRET_KEY matches/);
    // Without --keep-sequences agents take the deployments of the back-up, also after newer ones.
    expect(withIt.text).toContain('Current deployments with new sequences: 1. Agents accept them');
    if (!isNightly) return;
    const again = hubIn(at('own-2'), env);
    await again.start();
    expect(await again.login()).toContain('session');
    await again.stop();
  }, 60_000);

  it('are refused on a disk without room for them, and leave nothing there', async () => {
    if (!canMount) return;
    const disk = new SmallDisk(1);
    try {
      disk.fill(100_000);
      const target = join(disk.folder, 'x.backup');
      expect(await refused({ DATA_DIR: data }, 'backup', target)).toMatch(/disk of .* is full\. Free space/);
      expect(readdirSync(disk.folder)).toEqual(['filler']);
      expect(await refused({ DATA_DIR: join(disk.folder, 'data') }, 'restore', file)).toMatch(
        /has .* left, but the database needs|is full/,
      );
      expect(existsSync(join(disk.folder, 'data', 'reeve.db'))).toBe(false);
    } finally {
      disk.remove();
    }
  });

  it('of a damaged database are refused', async () => {
    const bad = at('bad');
    mkdirSync(bad);
    const bytes = readFileSync(join(data, 'reeve.db'));
    bytes.fill(0x5a, 8192, bytes.length - 4096);
    writeFileSync(join(bad, 'reeve.db'), bytes);
    expect(await refused({ DATA_DIR: bad }, 'backup', at('bad.backup'))).toMatch(/is damaged/);
    expect(existsSync(at('bad.backup'))).toBe(false);
  });

  it('of a newer version are refused, and so are those of a schema without a step', async () => {
    const newer = at('newer');
    mkdirSync(newer);
    copyFileSync(join(data, 'reeve.db'), join(newer, 'reeve.db'));
    const changed = new Database(join(newer, 'reeve.db'));
    changed.exec('PRAGMA user_version = 1099');
    changed.close();
    expect(await refused({ DATA_DIR: newer }, 'backup', at('newer.backup'))).toMatch(
      /A newer version of Reeve wrote/,
    );

    mkdirSync(at('older'));
    writeFileSync(join(at('older'), 'reeve.db'), readRecorded('data'));
    const older = new Database(join(at('older'), 'reeve.db'));
    older.exec('PRAGMA user_version = 51');
    older.close();
    expect(await refused({ DATA_DIR: at('older') }, 'backup', at('older.backup'))).toMatch(
      /has schema 51, which this version cannot open\. The last commit that opens it is 3cbbe45e\./,
    );
  });

  itAtNight(
    'from before schema 1 are restored as they are, and stamped by the start',
    async () => {
      writeFileSync(at('recorded.backup'), readRecorded('backup'));
      await command(at('recorded'), ['restore', at('recorded.backup')]);
      const hub = hubIn(at('recorded'));
      await hub.start();
      const cookie = await hub.login(adminEmail, password);
      const { body } = await hub.call('GET', '/api/v1/bundles', { cookie });
      expect(body).toMatchObject([{ name: 'base' }, {}, {}]);
      await hub.stop();
      expect(await command(at('recorded'), ['backup', at('stamped.backup')])).toMatchObject({ schema: 1001 });
    },
    60_000,
  );

  it.each([
    [
      'there is no hub',
      { DATA_DIR: at('nowhere') },
      ['backup', at('x.backup')],
      /nowhere\S* contains no hub/,
    ],
    [
      'the data is in MongoDB',
      { MONGODB_URL: 'mongodb://x' },
      ['backup'],
      /MONGODB_URL is set, .* own tools/,
    ],
    ['the file is missing', {}, ['restore', at('none.backup')], /none\.backup does not exist/],
    ['the file is a folder', {}, ['restore', folder], /is not a regular file/],
    [
      'the target has no folder',
      { DATA_DIR: data },
      ['backup', at('no/such/x.backup')],
      /The folder .* does not exist/,
    ],
  ] as const)('are refused in one line when %s', async (_what, env, [word, ...args], words) => {
    const { code, out, err } = await callCommand(word === 'backup' ? backup : restore, args, { ...env });
    expect({ code, out, lines: lines(err) }).toEqual({ code: 1, out: '', lines: [expect.any(String)] });
    expect(err).toMatch(words);
  });

  itAtNight('tell programs of errors as JSON, and of wrong words how to call', async () => {
    const failed = await run({ DATA_DIR: at('nowhere') }, ['backup', '--json']);
    expect({ ...failed, text: JSON.parse(failed.text) }).toEqual({
      code: 1,
      text: { error: { code: 'not_found', message: expect.stringContaining('contains no hub') } },
    });
    for (const [args, words] of [
      [['restore'], /Name a back-up file/],
      [['restore', 'a', 'b'], /The command takes one file/],
      [['backup', '--forse'], /--forse.*reeve backup --help/s],
      [['bakcup'], /Unknown command bakcup/],
    ] as const) {
      expect(await run({}, args)).toMatchObject({ code: 2, text: expect.stringMatching(words) });
    }
    for (const word of ['backup', 'restore', 'serve']) {
      const help = await run({}, [word, '--help']);
      expect(help).toMatchObject({
        code: 0,
        text: expect.stringContaining(`reeve ${word === 'serve' ? '' : word}`),
      });
    }
  });

  it.each(rowsOfRun(['SIGTERM', 'SIGINT'] as const, 1))(
    'leave nothing behind when %s ends the command',
    async (signal) => {
      // The command waits for a lock that another program holds.
      const other = new Database(join(data, 'reeve.db'));
      other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM jobs');
      try {
        const child = spawn(process.execPath, [mainFile, 'backup', at(`${signal}.backup`)], {
          env: { PATH: process.env.PATH ?? '', DATA_DIR: data },
          stdio: 'ignore',
        });
        const ended = once(child, 'exit');
        const begun = () => readdirSync(folder).filter((name) => name.startsWith(signal));
        await vi.waitFor(() => expect(begun()).toHaveLength(1), { timeout: 10_000, interval: 10 });
        child.kill(signal);
        expect(await ended).toEqual([null, signal]);
        expect(begun()).toEqual([]);
      } finally {
        other.exec('ROLLBACK');
        other.close();
      }
    },
  );

  it('leave nothing behind after the next back-up when one is killed', async () => {
    const killed = at('killed');
    mkdirSync(killed);
    const other = new Database(join(data, 'reeve.db'));
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM jobs');
    try {
      const child = spawn(process.execPath, [mainFile, 'backup', join(killed, 'first.backup')], {
        env: { PATH: process.env.PATH ?? '', DATA_DIR: data },
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      await vi.waitFor(() => expect(readdirSync(killed)).toHaveLength(1), { timeout: 10_000, interval: 10 });
      child.kill('SIGKILL');
      await ended;
    } finally {
      other.exec('ROLLBACK');
      other.close();
    }
    // Of another machine: nobody here knows whether it is still written.
    writeFileSync(join(killed, 'far.backup.far-1.reeve-partial'), '');
    await command(data, ['backup', join(killed, 'second.backup')]);
    expect(readdirSync(killed).sort()).toEqual(['far.backup.far-1.reeve-partial', 'second.backup']);
  });
});
