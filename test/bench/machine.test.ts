// Processor time of a process, as scenarios read it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { processorMsOf, waitUntilQuiet } from '../../bench/suite/machine.ts';

/** Works for 15 ms after each message, and answers with its processor time in milliseconds. */
const worker = `process.on('message', () => {
  const end = performance.now() + 15;
  while (performance.now() < end);
  const { user, system } = process.cpuUsage();
  process.send((user + system) / 1000);
});`;

it.runIf(existsSync(`/proc/${process.pid}/task/${process.pid}/schedstat`))(
  'is that of the process itself, and finer than a tick of 10 ms',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reeve-machine-'));
    const file = join(folder, 'worker.mjs');
    writeFileSync(file, worker);
    const child = fork(file, { execArgv: [] });
    try {
      const values: number[] = [];
      for (let n = 0; n < 10; n++) {
        child.send('');
        const [ms] = (await once(child, 'message')) as [number];
        const value = processorMsOf(child.pid ?? 0) ?? 0;
        values.push(value);
        // Two roundings of ticks, and what an answer takes.
        expect(Math.abs(value - ms)).toBeLessThan(30);
      }
      expect(values.some((ms) => ms % 10 !== 0)).toBe(true);
    } finally {
      child.kill();
      await rm(folder, { recursive: true, force: true });
    }
  },
);

it('is null for a process that there is not', () => {
  expect(processorMsOf(2 ** 30)).toBeNull();
});

it('waits for other work until it is as little as a verdict allows, whatever the number of cores', async () => {
  const measurements = [0.3, 0.15, 0.11, 0.1, 0.05];
  await waitUntilQuiet(60, async () => measurements.shift() ?? 0);
  expect(measurements).toEqual([0.05]);
});
