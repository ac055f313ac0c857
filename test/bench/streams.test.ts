// Scenarios of streams: short runs of each, and an interrupted run, which leaves nothing behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BareServer, bareRequest } from '../../bench/scenarios/streams-bound.ts';
import { parseResults } from '../../bench/suite/results.ts';
import { root } from '../../bench/suite/root.ts';
import { StreamClient } from '../../bench/suite/streams.ts';
import { isNightly } from '../runs.ts';
import { benchProgram } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-streams-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The suite in a process group of its own, as a shell starts it. */
const startBench = (...args: string[]) =>
  spawn(process.execPath, [...benchProgram, ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });

const isGroupAlive = (pid: number): boolean => {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('a stream client', () => {
  it('counts what each stream reads, and waits for all but the stalled ones', async () => {
    const [client, bare] = [new StreamClient(), new BareServer()];
    try {
      const port = await bare.start();
      const { refused } = await client.open({ port, count: 20, request: bareRequest });
      expect(refused).toBe(0);
      await client.stall(2);
      const awaitLast = await client.expect(4096);
      const began = process.hrtime.bigint();
      await bare.broadcast(4096);
      expect(await awaitLast()).toBeGreaterThan(began);
      expect(await client.tally()).toBeGreaterThanOrEqual(18 * 4096);
    } finally {
      client.stop();
      bare.stop();
    }
  });

  it('fails the run when a stream that was open ends', async () => {
    const [client, bare] = [new StreamClient(), new BareServer()];
    try {
      await client.open({ port: await bare.start(), count: 3, request: bareRequest });
      const awaitLast = await client.expect(4096);
      bare.stop();
      await expect(awaitLast()).rejects.toThrow('A stream that was open has ended.');
    } finally {
      client.stop();
      bare.stop();
    }
  });
});

/** By scenario: its figures. */
const expected = [
  ['fanout', ['fanout.sse_last', 'fanout.sse_stalled_last', 'fanout.json_last', 'fanout.msgpack_last']],
  ['idle', ['idle.rss', 'idle.kernel_memory', 'idle.processor_time']],
  ['storm', ['storm.rate', 'storm.refused', 'storm.processor_time', 'storm.rss']],
] as const;
/** The others run at night. */
const perCommit = expected.filter(([name]) => isNightly || name === 'fanout');

describe('scenarios of streams', () => {
  it.each(perCommit)(
    '%s measures its figures beside a bare loop',
    async (name, ids) => {
      const file = join(folder, `${name}.json`);
      const args = ['--agents', '20', '--frame', '2k', '--rounds', '1', '--seconds', '1', '--json', file];
      const child = startBench(name, ...args, '--hub', root);
      child.stdout.resume();
      child.stderr.resume();
      const [code] = await once(child, 'exit');
      expect([0, 1, 3]).toContain(code);
      const [scenario] = parseResults(readFileSync(file, 'utf8')).scenarios;
      const figures = scenario?.figures ?? [];
      expect(figures.map(({ id }) => id)).toEqual(ids);
      expect(figures.every(({ median }) => median !== null)).toBe(true);
      expect(readdirSync(folder).filter((entry) => entry.startsWith('reeve-bench-'))).toEqual([]);
    },
    120_000,
  );

  it('leave no process and no folder when Ctrl-C ends them', async () => {
    const child = startBench('idle', '--agents', '5', '--seconds', '600', '--hub', root);
    child.stderr.resume();
    child.stdout.resume();
    const exited = once(child, 'exit');
    // The hub has its folder and runs.
    await expect
      .poll(() => readdirSync(folder).some((entry) => entry.startsWith('reeve-bench-')), { timeout: 60_000 })
      .toBe(true);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    expect(await exited).toEqual([130, null]);
    await expect.poll(() => isGroupAlive(child.pid ?? 0), { timeout: 60_000 }).toBe(false);
    expect(readdirSync(folder).filter((entry) => entry.startsWith('reeve-bench-'))).toEqual([]);
  }, 150_000);
});
