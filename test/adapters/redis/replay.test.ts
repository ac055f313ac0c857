// Frames for clients that ask for missed ones, and the cost when many ask at once.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeFrame as writeEntry } from '../../../adapters/redis/entry.ts';
import type { Link } from '../../../adapters/redis/link.ts';
import { type Logs, redisLogs } from '../../../adapters/redis/log.ts';
import { openReplay } from '../../../adapters/redis/replay.ts';
import { dashboardsOf } from '../../../src/shared/frame.ts';
import { settled } from '../../clock.ts';
import { readFrame, writeFrame } from '../../frames.ts';

const audience = dashboardsOf('t1');
const bodyOf = (n: number): Buffer =>
  writeEntry(writeFrame({ audience, type: 'event_created', data: { type: 'event_created', n } }));
const place = (n: number): string => `${n}-0`;

/** A log in memory whose entries are at 1-0, 2-0 and so on; those up to `floor` are trimmed. Pages are small. */
class MemoryLog implements Pick<Logs, 'page'> {
  floor = 0;
  end: number;
  pages = 0;
  atOnce = 0;
  max = 0;
  readonly #size: number;
  /** Called before every page. */
  before: (page: number) => void = () => {};

  constructor(end: number, size = 3) {
    this.end = end;
    this.#size = size;
  }

  knows(n: number): boolean {
    return n >= this.floor && n <= this.end;
  }

  async page(_audience: unknown, positions: readonly string[]) {
    this.before(++this.pages);
    this.atOnce++;
    this.max = Math.max(this.max, this.atOnce);
    await settled();
    this.atOnce--;
    const from = positions.find((position) => this.knows(Number.parseInt(position, 10)));
    if (from === undefined) return null;
    const first = Number.parseInt(from, 10) + 1;
    const count = Math.min(this.#size, this.end - first + 1);
    const entries = Array.from({ length: count }, (_, i) => ({
      position: place(first + i),
      before: place(first + i - 1),
      body: bodyOf(first + i),
    }));
    return { from, entries, more: first + count <= this.end };
  }
}

const numbersOf = (missed: Awaited<ReturnType<ReturnType<typeof openReplay>>>): unknown =>
  missed === 'gone' ? 'gone' : missed.map(({ frame }) => readFrame(frame).data.n);
const restOf = (log: MemoryLog, n: number): unknown =>
  log.knows(n) ? Array.from({ length: log.end - n }, (_, i) => n + 1 + i) : 'gone';

describe('replay', () => {
  it('gives each what came after its position, or says that it is gone, whoever asks beside it', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 30 }),
        fc.nat(30),
        fc.array(fc.nat(35), { minLength: 1, maxLength: 12 }),
        async (end, floor, asked) => {
          const log = new MemoryLog(end);
          log.floor = Math.min(floor, end);
          const replay = openReplay(log);
          const got = await Promise.all(asked.map((n) => replay(audience, place(n))));
          expect(got.map(numbersOf)).toEqual(asked.map((n) => restOf(log, n)));
        },
      ),
      { numRuns: 100 },
    ));

  it('is right when the log is trimmed while it is read: some are gone, the others get all', async () => {
    const log = new MemoryLog(20);
    log.before = (page) => {
      if (page === 3) log.floor = 10;
    };
    const replay = openReplay(log);
    const asked = [0, 5, 9, 10, 15, 20];
    const got = await Promise.all(asked.map((n) => replay(audience, place(n))));
    expect(got.map(numbersOf)).toEqual(asked.map((n) => restOf(log, n)));
    expect(got.filter((one) => one === 'gone')).toHaveLength(3);
  });

  it('reads an audience once for a thousand that ask from different positions at once, and once more for those that came meanwhile', async () => {
    const log = new MemoryLog(2000, 500);
    const replay = openReplay(log);
    const asked = Array.from({ length: 1000 }, (_, i) => i * 2);
    const got = await Promise.all(asked.map((n) => replay(audience, place(n))));
    expect(got.map((one) => one.length)).toEqual(asked.map((n) => 2000 - n));
    expect(log.pages).toBeLessThanOrEqual(2 * 4);
  });

  it('gives one who asks while the log is read what was added before it asked', async () => {
    const log = new MemoryLog(2);
    const replay = openReplay(log);
    const first = replay(audience, place(0));
    log.end = 4;
    const second = replay(audience, place(0));
    await first;
    expect(numbersOf(await second)).toEqual([1, 2, 3, 4]);
  });

  it('reads four logs at a time, and all of them in the end', async () => {
    const log = new MemoryLog(10);
    const replay = openReplay(log);
    const got = await Promise.all(
      Array.from({ length: 30 }, (_, i) => replay(dashboardsOf(`t${i}`), place(0))),
    );
    expect(got.map((one) => one.length)).toEqual(got.map(() => 10));
    expect(log.max).toBe(4);
  });

  it('tells all who asked of a failure, and goes on', async () => {
    const log = new MemoryLog(3);
    log.before = (page) => {
      if (page === 1) throw new Error('away');
    };
    const replay = openReplay(log);
    const failed = await Promise.allSettled([
      replay(audience, place(0)),
      replay(dashboardsOf('t2'), place(0)),
    ]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(numbersOf(await replay(audience, place(1)))).toEqual([2, 3]);
  });

  it('does not use the connection on which leases are renewed', async () => {
    const used: string[] = [];
    const named = (name: string): Link => ({
      send: async () => null,
      run: async () => {
        used.push(name);
        return [1, [['2-0', ['b', bodyOf(2)]]], 0];
      },
      close: async () => {},
    });
    const retention = { keepMs: 1000, keepFrames: 10, keepBytes: 1000 };
    const replay = openReplay(redisLogs(named('commands'), named('replay'), 'p:', retention));
    expect(numbersOf(await replay(audience, place(1)))).toEqual([2]);
    expect(used).toEqual(['replay']);
  });
});
