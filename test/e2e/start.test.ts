// Starting and stopping the real process: what it refuses, in which words; whose files it makes; how it ends.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settings } from '../../src/config.ts';
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

  it('is handed on, with its exit code and its words', async () => {
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

  it('makes its folder and files for their owner alone', () => {
    for (const name of ['reeve.db', 'reeve.db-wal', 'reeve.db-shm', 'reeve.db.lock']) {
      expect({ name, mode: statSync(join(hub.dataDir, name)).mode & 0o777 }).toEqual({ name, mode: 0o600 });
    }
    expect(statSync(hub.dataDir).mode & 0o777).toBe(0o700);
  });

  it.each([
    [
      'on the data of a running hub',
      () => ({ DATA_DIR: hub.dataDir }),
      /reeve\.db is in use by another process/,
    ],
    [
      'on a port that is taken',
      () => ({ PORT: String(hub.port), DATA_DIR: join(folder, 'b') }),
      /port is taken/,
    ],
    [
      'on an address that is not ours',
      () => ({ HOST: '192.0.2.1', DATA_DIR: join(folder, 'c') }),
      /Cannot listen on/,
    ],
    [
      'with a file as its folder',
      () => ({ DATA_DIR: join(folder, 'file') }),
      /^The data folder \S+file cannot be used \(.*\): it must be a folder\.$/,
    ],
  ])('%s is refused in one line', async (_what, env, words) => {
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
    expect(hub.output).toContain('WARNING: nobody has set this hub up yet');
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

  it('asks for none on this machine', async () => {
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
});
