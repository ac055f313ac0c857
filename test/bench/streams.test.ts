// Scenarios of streams: short runs of each, and an interrupted run, which leaves nothing behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BareServer, bareRequest } from '../../bench/scenarios/streams-bound.ts';
import { processTree } from '../../bench/suite/machine.ts';
import { parseResults } from '../../bench/suite/results.ts';
import { root } from '../../bench/suite/root.ts';
import { StreamClient } from '../../bench/suite/streams.ts';
import { isNightly, itAtNight } from '../runs.ts';
import { benchProgram } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-streams-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The suite in a process group of its own, as a shell starts it. */
const startBench = (env: { readonly [name: string]: string }, ...args: string[]) =>
  spawn(process.execPath, [...benchProgram, ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: folder, ...env },
    stdio: 'ignore',
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

const benchFolders = (): readonly string[] =>
  readdirSync(folder).filter((entry) => entry.startsWith('reeve-bench-'));

/** The suite ends with this code, and so does its whole process group. */
async function expectEnd(child: ChildProcess, interrupt: () => void, code: number): Promise<void> {
  const exited = once(child, 'exit');
  interrupt();
  expect(await exited).toEqual([code, null]);
  await expect.poll(() => isGroupAlive(child.pid ?? 0), { timeout: 60_000 }).toBe(false);
  expect(benchFolders()).toEqual([]);
}

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

  it('fails the run in one sentence when streams do not open in time, and counts those that are open', async () => {
    const silent = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const client = new StreamClient();
    try {
      const { port } = silent.address() as AddressInfo;
      const opening = client.open({ port, count: 3, request: bareRequest, limitMs: 300 });
      const failed = expect(opening).rejects.toThrow(
        '0 of 3 streams are open, 0 openings were refused, and no further stream opened within 0.3 s.',
      );
      expect(await client.opened()).toBe(0);
      await failed;
    } finally {
      client.stop();
      silent.close();
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
  ['storm', ['storm.rate', 'storm.back_rate', 'storm.refused', 'storm.processor_time', 'storm.rss']],
] as const;

describe('scenarios of streams', () => {
  itAtNight.each(expected)(
    '%s measures its figures beside a bare loop',
    async (name, ids) => {
      const file = join(folder, `${name}.json`);
      const args = ['--agents', '20', '--frame', '2k', '--rounds', '1', '--seconds', '1', '--json', file];
      const child = startBench({}, name, ...args, '--hub', root);
      const [code] = await once(child, 'exit');
      expect([0, 1, 3]).toContain(code);
      const [scenario] = parseResults(readFileSync(file, 'utf8')).scenarios;
      const figures = scenario?.figures ?? [];
      // Where a compiler is, a loop in C stands beside the fan-out.
      const isOfC = (id: string): boolean => id.endsWith('_of_c');
      expect(figures.map(({ id }) => id).filter((id) => !isOfC(id))).toEqual(ids);
      // So few streams can add less memory than the process gives back: then it is not measured.
      const others = figures.filter(({ id }) => !/rss|memory/.test(id));
      expect(others.every(({ median }) => median !== null)).toBe(true);
      expect(benchFolders()).toEqual([]);
    },
    120_000,
  );

  it('leave no process and no folder when Ctrl-C ends them', async () => {
    const child = startBench({}, 'idle', '--agents', '5', '--seconds', '600', '--hub', root);
    // The hub has its folder and runs.
    await expect.poll(benchFolders, { timeout: 60_000 }).not.toEqual([]);
    await expectEnd(child, () => process.kill(-(child.pid ?? 0), 'SIGINT'), 130);
  }, 150_000);

  // A hub and a bare loop are measured first, which takes 20 s: at night.
  it.runIf(isNightly)(
    'end a rival that ignores Ctrl-C and does not answer yet',
    async () => {
      const programs = mkdtempSync(join(folder, 'programs-'));
      const [program, pidFile] = [join(programs, 'mercure'), join(programs, 'pid')];
      const script = `[ "$1" = version ] && exit 0\ntrap '' INT\necho $$ > ${pidFile}\nexec sleep 600\n`;
      writeFileSync(program, `#!/bin/sh\n${script}`, { mode: 0o755 });
      const env = { PATH: `${programs}:${process.env.PATH}` };
      const sizes = ['--agents', '5', '--seconds', '1', '--rounds', '1', '--hub', root];
      const child = startBench(env, 'idle', '--rivals', 'mercure', ...sizes);
      await expect.poll(() => existsSync(pidFile), { timeout: 100_000 }).toBe(true);
      await expectEnd(child, () => process.kill(-(child.pid ?? 0), 'SIGINT'), 130);
    },
    200_000,
  );

  itAtNight(
    'end the simulation of an owner with SIGTERM to the suite alone',
    async () => {
      const child = startBench({}, 'owner', '--agents', '200000', '--rounds', '50', '--hub', root);
      const commands = () =>
        processTree(child.pid ?? 0).map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
      await expect.poll(() => commands().join(), { timeout: 60_000 }).toContain('fleet-simulation');
      await expectEnd(child, () => child.kill('SIGTERM'), 143);
    },
    150_000,
  );
});
