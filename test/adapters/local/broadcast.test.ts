import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLocalBroadcast, type LocalBroadcastOptions } from '../../../adapters/local/broadcast.ts';
import { agentsOf, dashboardsOf, type Frame } from '../../../src/shared/frame.ts';
import type { BroadcastEntry } from '../../../src/shared/ports/broadcast.ts';
import { isAfter } from '../../../src/shared/position.ts';
import { ManualClock } from '../../clock.ts';
import { readFrame, writeFrame } from '../../frames.ts';
import { silentLog } from '../../log.ts';

const audience = dashboardsOf('t1');
const frame = (n: number, to = audience, pad = 0): Frame =>
  writeFrame({
    audience: to,
    type: 'event_created',
    data: { type: 'event_created', accepted: n, pad: 'x'.repeat(pad) },
  });
const numberOf = ({ frame: placed }: BroadcastEntry) => readFrame(placed).data.accepted;
const numbers = (placed: readonly BroadcastEntry[] | 'gone') =>
  placed === 'gone' ? placed : placed.map(numberOf);

function setUp(options: Partial<LocalBroadcastOptions> = {}) {
  const clock = new ManualClock(1000);
  return { clock, broadcast: createLocalBroadcast({ clock, log: silentLog, ...options }) };
}

describe('following', () => {
  it('delivers frames published afterwards, in order, to every follower of the audience and no other', async () => {
    const { broadcast } = setUp();
    await broadcast.publish([frame(0)]);
    const seen: unknown[][] = [[], [], []];
    const follow = (to: typeof audience, i: number) =>
      broadcast.follow(to, (p) => seen[i]?.push(numberOf(p)));
    const first = await follow(audience, 0);
    await follow(audience, 1);
    await follow(dashboardsOf('t2'), 2);
    await broadcast.publish([frame(1), frame(2)]);
    first.stop();
    await broadcast.publish([frame(3)]);
    expect(seen).toEqual([[1, 2], [1, 2, 3], []]);
  });

  it('keeps log order for all when a follower publishes in turn', async () => {
    const { broadcast } = setUp();
    const seen: unknown[] = [];
    await broadcast.follow(audience, (p) => {
      if (numberOf(p) === 1) void broadcast.publish([frame(2)]);
    });
    await broadcast.follow(audience, (p) => seen.push(numberOf(p)));
    await broadcast.publish([frame(1)]);
    expect(seen).toEqual([1, 2]);
  });

  it('leaves a frame out whose idempotency key it had within the hour, and not later', async () => {
    const { broadcast, clock } = setUp();
    const seen: unknown[] = [];
    await broadcast.follow(audience, (p) => seen.push(numberOf(p)));
    const named = (n: number) => broadcast.publish([{ ...frame(n), idempotencyKey: 'deployment:1' }]);
    await named(1);
    clock.advance(3_599_999);
    await named(2);
    expect(seen).toEqual([1]);
    clock.advance(1);
    await named(3);
    await named(4);
    expect(seen).toEqual([1, 3]);
  });

  it('remembers an idempotency key for as long as its frame asks', async () => {
    const { broadcast, clock } = setUp();
    const seen: unknown[] = [];
    await broadcast.follow(audience, (p) => seen.push(numberOf(p)));
    const brief = (n: number) =>
      broadcast.publish([{ ...frame(n), idempotencyKey: 'counts:1', idempotencyMs: 1_000 }]);
    await brief(1);
    clock.advance(999);
    await brief(2);
    clock.advance(1);
    await brief(3);
    expect(seen).toEqual([1, 3]);
  });

  it('goes on when a follower throws', async () => {
    const { broadcast } = setUp();
    const seen: unknown[] = [];
    await broadcast.follow(audience, () => {
      throw new Error('broken');
    });
    await broadcast.follow(audience, (p) => seen.push(numberOf(p)));
    await broadcast.publish([frame(1)]);
    expect(seen).toEqual([1]);
  });

  it('hands control messages to every listener', async () => {
    const { broadcast } = setUp();
    const seen: unknown[] = [];
    broadcast.onControl((message) => seen.push(message));
    await broadcast.control({ kind: 'login_ended', tokenHash: 'h' });
    expect(seen).toEqual([{ kind: 'login_ended', tokenHash: 'h' }]);
  });
});

describe('positions', () => {
  it('rise strictly, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 50 }), (steps) => {
        let now = 100;
        const clock = Object.assign(new ManualClock(), { now: () => now });
        const broadcast = createLocalBroadcast({ clock, log: silentLog });
        const seen: string[] = [];
        void broadcast.follow(audience, (p) => seen.push(p.position));
        for (const step of steps) {
          now += step;
          void broadcast.publish([frame(0)]);
        }
        expect(seen).toHaveLength(steps.length);
        for (const [i, at] of seen.entries()) expect(isAfter(at, seen[i - 1] ?? '')).toBe(true);
      }),
    );
  });

  it('replay exactly what came after them', async () => {
    const { broadcast, clock } = setUp();
    const positions: string[] = [
      (await broadcast.follow(audience, (p) => positions.push(p.position))).position,
    ];
    for (const n of [1, 2, 3]) {
      clock.advance(n - 1);
      await broadcast.publish([frame(n), frame(n * 10, agentsOf('t1', 'staging'))]);
    }
    const after = positions.map(async (p) => numbers(await broadcast.since(audience, p)));
    expect(await Promise.all(after)).toEqual([[1, 2, 3], [2, 3], [3], []]);
  });

  it('of a frame made for one stream count as the shared position before it', async () => {
    const { broadcast } = setUp();
    const { position } = await broadcast.follow(audience, () => {});
    await broadcast.publish([frame(1)]);
    expect(numbers(await broadcast.since(audience, `${position}.2`))).toEqual([1]);
  });

  it('are gone when of another process, another audience, the future, or no position at all', async () => {
    const { broadcast, clock } = setUp();
    clock.advance(5);
    await broadcast.publish([frame(1, dashboardsOf('t2')), frame(2)]);
    for (const position of ['999-0', '1005-0', '9999-0', 'x', '']) {
      expect(await broadcast.since(audience, position)).toBe('gone');
    }
    expect(numbers(await broadcast.since(audience, '1000-0'))).toEqual([2]);
    expect(numbers(await broadcast.since(dashboardsOf('t3'), '1000-0'))).toEqual([]);
    expect(await broadcast.since(dashboardsOf('t3'), '999-0')).toBe('gone');
  });
});

describe('bounds', () => {
  it('keeps the newest frames by count; the last one dropped is still an exact position', async () => {
    const { broadcast } = setUp({ frames: 3 });
    const positions: string[] = [];
    await broadcast.follow(audience, (p) => positions.push(p.position));
    await broadcast.publish([1, 2, 3, 4, 5].map((n) => frame(n)));
    const after = positions.map(async (p) => numbers(await broadcast.since(audience, p)));
    expect(await Promise.all(after)).toEqual(['gone', [3, 4, 5], [4, 5], [5], []]);
  });

  it('keeps the newest frames by bytes, and always the newest', async () => {
    const { broadcast } = setUp({ bytes: 3000 });
    const positions: string[] = [];
    await broadcast.follow(audience, (p) => positions.push(p.position));
    await broadcast.publish([frame(1, audience, 1000), frame(2, audience, 1000), frame(3, audience, 1000)]);
    expect(numbers(await broadcast.since(audience, positions[0] ?? ''))).toEqual([2, 3]);
    await broadcast.publish([frame(4, audience, 9000)]);
    expect(numbers(await broadcast.since(audience, positions[2] ?? ''))).toEqual([4]);
    expect(await broadcast.since(audience, positions[1] ?? '')).toBe('gone');
  });

  it('takes the bytes over all audiences from the quietest', async () => {
    const { broadcast } = setUp({ totalBytes: 5000 });
    const [quiet, busy] = [dashboardsOf('quiet'), dashboardsOf('busy')];
    await broadcast.publish([frame(1, quiet, 1000), frame(2, quiet, 1000)]);
    await broadcast.publish([1, 2, 3].map((n) => frame(n, busy, 1000)));
    expect(await broadcast.since(quiet, '1000-0')).toBe('gone');
    expect(numbers(await broadcast.since(busy, '1000-0'))).toEqual([1, 2, 3]);
  });
});

it('refuses after it was closed', async () => {
  const { broadcast } = setUp();
  await broadcast.close();
  await expect(broadcast.publish([frame(1)])).rejects.toMatchObject({ code: 'unavailable' });
});
