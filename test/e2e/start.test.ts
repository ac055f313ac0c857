// Starting and stopping the real process: what it refuses, in which words; whose files it makes; how it ends.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settings } from '../../src/hub/config.ts';
import { itAtNight, rowsOfRun } from '../runs.ts';
import { HubProcess, lines, run } from './process.ts';
import { SseClient } from './sse.ts';

describe('a command of the agent library', () => {
  const contracts = (root: string) => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: handed-on }
defaults: { mode: enforce }
contracts:
  - { id: a, type: pre, tool: t, when: { ${root}.path: { equals: x } }, then: { effect: deny, message: m } }
`;

  itAtNight('is handed on, with its exit code and its words', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-check-'));
    const [good, bad] = [join(folder, 'good.yaml'), join(folder, 'bad.yaml')];
    writeFileSync(good, contracts('args'));
    writeFileSync(bad, contracts('arg'));
    expect(await run({}, ['check', good])).toMatchObject({
      code: 0,
      text: expect.stringContaining('1 file, 0 errors'),
    });
    expect(await run({}, ['check', bad])).toMatchObject({
      code: 1,
      text: expect.stringContaining('Did you mean args?'),
    });
    expect(await run({}, ['check'])).toMatchObject({ code: 2 });
    for (const word of ['test', 'verify', 'gate', 'mcp']) {
      const { code, text } = await run({}, [word, '--help']);
      expect({ word, code, text }).toMatchObject({
        code: 0,
        text: expect.stringContaining(`reeve-agent ${word}`),
      });
    }
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('a start', () => {
  const hub = new HubProcess({ SECRET_KEY: 'a secret key of thirty-two characters' });
  const folder = mkdtempSync(join(tmpdir(), 'reeve-start-'));
  beforeAll(() => hub.start());
  afterAll(async () => {
    await hub.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  itAtNight('reads a secret from a file, and names a file that it cannot read', async () => {
    const file = join(folder, 'setup-token');
    writeFileSync(file, 'a token from a file\n');
    const reading = new HubProcess({ SETUP_TOKEN_FILE: file });
    try {
      await reading.start();
      const body = { email: 'ann@example.com', password: 'correct horse battery' };
      const attempt = (token: string) =>
        reading.call('POST', '/api/v1/setup', { body, headers: { 'X-Setup-Token': token } });
      expect((await attempt('another token here')).status).toBe(403);
      expect((await attempt('a token from a file')).status).toBe(201);
    } finally {
      await reading.remove();
    }
    const missing = join(folder, 'missing');
    const { code, text } = await run({ DATA_DIR: folder, SECRET_KEY_FILE: missing });
    expect(code).not.toBe(0);
    expect(text).toContain(
      `SECRET_KEY_FILE: must name a readable file that is not empty; the value is ${missing}`,
    );
  });

  it('makes its folder and files for their owner alone', () => {
    for (const name of ['reeve.db', 'reeve.db-wal', 'reeve.db-shm', 'reeve.db.lock']) {
      expect({ name, mode: statSync(join(hub.dataDir, name)).mode & 0o777 }).toEqual({ name, mode: 0o600 });
    }
    expect(statSync(hub.dataDir).mode & 0o777).toBe(0o700);
  });

  const refusals: readonly (readonly [
    what: string,
    env: () => { readonly [name: string]: string },
    words: RegExp,
  ])[] = [
    [
      'on the data of a running hub',
      () => ({ DATA_DIR: hub.dataDir }),
      /Another process uses the store \S*reeve\.db/,
    ],
    [
      'on a port that is taken',
      () => ({ PORT: String(hub.port), DATA_DIR: join(folder, 'b') }),
      /the port is in use/,
    ],
    [
      'with a file as its folder',
      () => ({ DATA_DIR: join(folder, 'file') }),
      /^The data folder \S+file cannot be used \(.*\): it must be a folder\.$/,
    ],
    [
      'on an address that is not ours',
      () => ({ HOST: '192.0.2.1', DATA_DIR: join(folder, 'c') }),
      /Cannot listen on/,
    ],
  ];
  it.each(rowsOfRun(refusals, 2))('%s is refused in one line', async (_what, env, words) => {
    writeFileSync(join(folder, 'file'), '');
    const { code, text } = await run(env());
    expect(code).toBe(1);
    expect(lines(text)).toEqual([expect.stringMatching(words)]);
  });

  it('with wrong settings tells them all, and nothing else', async () => {
    const { code, text } = await run({
      PORT: 'x',
      SECRET_KEY: 'short',
      LOG_LEVEL: 'loud',
      DRAIN_SECONDS: '-1',
    });
    expect(code).toBe(2);
    expect(lines(text)).toHaveLength(6);
    for (const name of ['PORT', 'SECRET_KEY', 'LOG_LEVEL', 'DRAIN_SECONDS'])
      expect(text).toContain(`${name}: must`);
    expect(text).not.toContain('short');
  });

  it('asked for help prints every setting, asked for anything else says so', async () => {
    const help = await run({}, ['--help']);
    expect(help.code).toBe(0);
    expect(settings.filter(({ name }) => !help.text.includes(`  ${name} `))).toEqual([]);
    expect(await run({}, ['--prot'])).toMatchObject({ code: 2, text: expect.stringContaining('--prot') });
  });
});

describe('a start that other machines can reach, before anybody set the hub up', () => {
  const hub = new HubProcess({ HOST: '0.0.0.0' });
  afterAll(() => hub.remove());
  const tokenOf = () => /X-Setup-Token: (\S+)/.exec(hub.output)?.[1];
  const setUp = (headers: { [name: string]: string }) =>
    hub.call('POST', '/api/v1/setup', {
      body: { email: 'first@example.com', password: 'at least twelve characters' },
      headers,
    });

  it('prints a token and asks for it whoever is not on this machine, until there is an admin', async () => {
    await hub.start();
    const token = tokenOf();
    expect(hub.output).toContain('WARNING: this hub has no admin yet');
    expect(token).toMatch(/^[\w-]{24}$/);
    const forwarded = { 'X-Forwarded-For': '127.0.0.1' };
    expect((await setUp(forwarded)).status).toBe(403);
    expect((await setUp({ ...forwarded, 'X-Setup-Token': 'x'.repeat(24) })).status).toBe(403);
    await hub.stop();
    await hub.start();
    expect(tokenOf()).toBe(token);
    expect((await setUp({ ...forwarded, 'X-Setup-Token': token ?? '' })).status).toBe(201);
    await hub.stop();
    await hub.start();
    expect(tokenOf()).toBeUndefined();
  });

  itAtNight('asks for none on this machine', async () => {
    const other = new HubProcess({ HOST: '0.0.0.0' });
    try {
      await other.start();
      await other.admin();
    } finally {
      await other.remove();
    }
  });
});

describe('a stop', () => {
  it('on SIGTERM while it starts ends with 0 after the start', async () => {
    const early = new HubProcess();
    try {
      const started = early.start().catch(() => {});
      while (!existsSync(early.dataDir)) await wait(1);
      const { child } = early;
      if (!child) throw new Error('no process');
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
      await started;
    } finally {
      await early.remove();
    }
  });

  it('on SIGTERM finishes what is under way, ends streams over the window, and exits with 0', async () => {
    const hub = new HubProcess({ DRAIN_SECONDS: '1' });
    try {
      await hub.start();
      const cookie = await hub.admin();
      const { key } = await hub.key(cookie);
      const streams = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          SseClient.open(`${hub.url}/api/v1/stream?env=production`, {
            Authorization: `Bearer ${key}`,
            'X-Service-Agent-Id': `agent-${i}`,
          }),
        ),
      );
      const ended = streams.map((stream) => stream.end().then(() => performance.now()));
      const event = {
        agent_id: 'a',
        tool_name: 't',
        verdict: 'v',
        mode: 'enforce',
        timestamp: '2026-01-01T00:00:00Z',
      };
      const batches = Array.from({ length: 20 }, (_, i) =>
        hub
          .call('POST', '/api/v1/events', { key, body: { events: [{ ...event, call_id: `c${i}` }] } })
          .then(({ status }) => (status === 200 ? `c${i}` : null))
          // Refused because the hub listens no more: not acknowledged.
          .catch(() => null),
      );
      await batches[0];
      const stopped = hub.stop();
      const acknowledged = (await Promise.all(batches)).filter((id) => id !== null);
      const times = await Promise.all(ended);
      expect(await stopped).toBe(0);
      expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(200);
      await hub.start();
      const stored = (await hub.call('GET', '/api/v1/events', { key })).body as { call_id: string }[];
      expect(stored.map(({ call_id }) => call_id)).toEqual(expect.arrayContaining(acknowledged));
      expect(acknowledged.length).toBeGreaterThan(0);
    } finally {
      await hub.remove();
    }
  });

  it('on SIGHUP is not ready at once, and answers new connections until its streams have ended', async () => {
    const hub = new HubProcess({ DRAIN_SECONDS: '2' });
    try {
      await hub.start();
      const cookie = await hub.admin();
      const { key } = await hub.key(cookie);
      const openStream = (i: number) =>
        SseClient.open(`${hub.url}/api/v1/stream?env=production`, {
          Authorization: `Bearer ${key}`,
          'X-Service-Agent-Id': `agent-${i}`,
        });
      const streams = await Promise.all(Array.from({ length: 8 }, (_, i) => openStream(i)));
      const exit = once(hub.child as ChildProcess, 'exit');
      hub.child?.kill('SIGHUP');
      // The first stream ends on the first turn after the signal, so the others are still open then.
      await Promise.any(streams.map((stream) => stream.end()));
      const ready = await hub.call('GET', '/api/v1/health/ready');
      expect(ready).toMatchObject({ status: 503, body: { status: 'not_ready' } });
      expect(ready.headers.get('connection')).toBe('close');
      const { status } = await hub.call('POST', '/api/v1/events', { key, body: { events: [] } });
      expect(status).not.toBe(503);
      expect((await openStream(9)).status).toBe(503);
      expect(streams.filter(({ ended }) => !ended).length).toBeGreaterThan(0);
      expect(await exit).toEqual([0, null]);
      expect(streams.every(({ ended }) => ended)).toBe(true);
    } finally {
      await hub.remove();
    }
  });
});
