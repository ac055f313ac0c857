// `reeve export-events --follow --to FILE` beside a real hub: kill -9 of either side loses no acknowledged event and
// doubles none; retention is reported; formats and standard output.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { random } from '../random.ts';
import { itAtNight, runsOf } from '../runs.ts';
import { HubProcess, mainFile } from './process.ts';

const hub = new HubProcess({ LOG_LEVEL: 'warn', RATE_LIMIT_MAX_ATTEMPTS: '100000' });
const root = mkdtempSync(join(tmpdir(), 'reeve-export-lines-'));
let token = '';
let key = '';
let made = 0;

beforeAll(async () => {
  await hub.start();
  const cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
  const roles = [{ role: 'viewer', env: '*' }];
  const account = await hub.call('POST', '/api/v1/service-accounts', {
    cookie,
    body: { name: 'siem', roles },
  });
  const path = `/api/v1/service-accounts/${account.body.id}/tokens`;
  token = (await hub.call('POST', path, { cookie, body: { label: 'siem' } })).body.token;
}, 60_000);
afterAll(async () => {
  await hub.remove();
  rmSync(root, { recursive: true, force: true });
});

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

function start(...args: string[]): Run {
  const child = spawn(process.execPath, [mainFile, 'export-events', ...args], {
    env: { PATH: process.env.PATH ?? '', REEVE_URL: hub.url, REEVE_TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { out: '', err: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    texts.out += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    texts.err += chunk.toString();
  });
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, ...texts })) };
}

async function ingest(count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => `call-${made++}`);
  const events = ids.map((call_id) => ({
    call_id,
    agent_id: 'a',
    tool_name: 't',
    verdict: 'call_allowed',
    mode: 'enforce',
  }));
  const { status } = await hub.call('POST', '/api/v1/events', { key, body: { events } });
  return status === 200 || status === 202 || status === 201 ? ids : [];
}

interface Line {
  readonly cursor: string;
  readonly type: string;
  readonly data: { readonly call_id: string };
}
const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
const callsIn = (text: string): string[] => linesOf(text).map(({ data }) => data.call_id);

const seed = process.env.SEED ?? '1';

it(`keeps each acknowledged event once while both sides are killed (SEED=${seed})`, async () => {
  const file = join(root, 'events.ndjson');
  const chance = random(seed);
  const acknowledged: string[] = [];
  const running = new AbortController();
  const load = (async () => {
    while (!running.signal.aborted) {
      // A batch without an answer may be stored or not.
      acknowledged.push(...(await ingest(20).catch(() => [])));
      await wait(5);
    }
  })();
  let follower = start('--follow', '--to', file);
  for (let i = 0; i < runsOf(60, 3); i++) {
    await wait(150 + chance.next() * 500);
    if (chance.next() < 0.35) {
      await hub.kill();
      await hub.start();
    } else {
      follower.child.kill('SIGKILL');
      await follower.ended;
      // A kill in the middle of a write.
      if (chance.next() < 0.5 && existsSync(file)) appendFileSync(file, '{"cursor":"half of a li');
      follower = start('--follow', '--to', file);
    }
  }
  running.abort();
  await load;
  const sentinel = (await ingest(1))[0] ?? '';
  await expect
    .poll(() => readFileSync(file, 'utf8').includes(`"${sentinel}"`), { timeout: 45_000, interval: 100 })
    .toBe(true);
  follower.child.kill('SIGTERM');
  expect((await follower.ended).code).toBe(0);
  const calls = callsIn(readFileSync(file, 'utf8'));
  const present = new Set(calls);
  expect(calls).toHaveLength(present.size);
  expect(acknowledged.filter((id) => !present.has(id))).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(200);
  // Exactly what a reader of the hub gets in the end.
  const whole = await start('--to', '-').ended;
  expect(callsIn(whole.out)).toEqual(calls);
}, 180_000);

it('goes on in a new file after the old one was renamed, and ends at the end without --follow', async () => {
  const file = join(root, 'rotated.ndjson');
  await ingest(3);
  expect((await start('--to', file).ended).code).toBe(0);
  renameSync(file, `${file}.1`);
  const ids = await ingest(2);
  expect(await start('--to', file).ended).toMatchObject({ code: 0, out: '', err: '' });
  expect(callsIn(readFileSync(file, 'utf8'))).toEqual(ids);
});

itAtNight('goes on at a cursor on standard output, in every format', async () => {
  await ingest(5);
  const { out } = await start('--to', '-').ended;
  const all = linesOf(out);
  const after = all.at(-3)?.cursor ?? '';
  const rest = await start('--to', '-', '--after', after).ended;
  expect(callsIn(rest.out)).toEqual(all.slice(-2).map(({ data }) => data.call_id));
  const ocsf = await start('--to', '-', '--after', after, '--format', 'ocsf').ended;
  expect(
    ocsf.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).class_uid),
  ).toEqual([6003, 6003]);
  const file = join(root, 'cloud.ndjson');
  for (let i = 0; i < 2; i++)
    expect((await start('--to', file, '--format', 'cloudevents').ended).code).toBe(0);
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(all.length);
});

it('ends without a word when nobody reads its standard output any more', async () => {
  await ingest(1);
  const { child, ended } = start('--follow', '--to', '-');
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  child.stdout?.destroy();
  await ingest(1);
  expect(await ended).toMatchObject({ code: 0, err: '' });
});

it('refuses what does not fit, and touches no file that is not its own', async () => {
  const file = join(root, 'other.txt');
  writeFileSync(file, 'somebody else wrote this\nand this\n');
  expect(await start('--to', file).ended).toMatchObject({ code: 1 });
  expect(readFileSync(file, 'utf8')).toContain('somebody else');
  expect(await start('--to', '-', '--kind', 'audit').ended).toMatchObject({ code: 1 });
  for (const args of [
    [],
    ['--to', ''],
    ['--to', '-', '--format', 'csv'],
    ['--to', 'x', '--after', 'c'],
    ['--nope'],
  ])
    expect((await start(...args).ended).code).toBe(2);
});
