// Processor time of a process, as scenarios read it.
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { processorMsOf } from '../../bench/suite/machine.ts';

it.runIf(existsSync(`/proc/${process.pid}/task/${process.pid}/schedstat`))(
  'is that of the process itself, and finer than a tick of 10 ms',
  async () => {
    const values: number[] = [];
    for (let n = 0; n < 20; n++) {
      const { user, system } = process.cpuUsage();
      const ms = processorMsOf(process.pid) ?? 0;
      values.push(ms);
      // Two roundings of ticks, and what the reading itself takes.
      expect(ms).toBeGreaterThan((user + system) / 1000 - 25);
      const after = process.cpuUsage();
      expect(ms).toBeLessThan((after.user + after.system) / 1000 + 25);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(values.some((ms) => ms % 10 !== 0)).toBe(true);
  },
);

it('is null for a process that there is not', () => {
  expect(processorMsOf(2 ** 30)).toBeNull();
});
