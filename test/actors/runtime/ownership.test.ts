// A node's report of its shards when the answers about its leases come late.
import { expect, it } from 'vitest';
import { startOwnership } from '../../../actors/runtime/ownership.ts';
import { currentFormat } from '../../../src/shared/cluster-format.ts';
import type { Leases } from '../../../src/shared/ports/leases.ts';
import { ManualClock, settled } from '../../clock.ts';
import { silentLog } from '../../log.ts';
import { MemoryBus } from './memory-bus.ts';

it('drops what ended while its renewal was under way, though it was renewed, and takes it anew', async () => {
  const clock = new ManualClock(0);
  const bus = new MemoryBus(clock);
  const real = bus.leases('a');
  let answer: (() => void) | null = null;
  const acquired: string[] = [];
  const leases: Leases = {
    ...real,
    async acquire(names) {
      acquired.push(...names);
      return real.acquire(names);
    },
    async renew(held) {
      const renewed = await real.renew(held);
      if (held.length > 0) await new Promise<void>((resolve) => (answer = resolve));
      return renewed;
    },
  };
  const told: string[] = [];
  const ownership = startOwnership({
    clock,
    log: silentLog,
    node: 'a',
    leases,
    members: bus.members('a'),
    note: () => ({ version: 'test', ...currentFormat, startedAt: 0, agents: 0 }),
    shards: 1,
    taken: async () => void told.push('taken'),
    leaving: async () => {},
    dropped: () => void told.push('dropped'),
    cleared: async () => {},
  });
  await ownership.turn();
  expect(ownership.owns(0)).toBe(true);
  clock.advance(1500);
  await settled();
  // The process stands still until the first leases have ended; those that the answer speaks of have not.
  clock.skip(4000);
  expect(ownership.owns(0)).toBe(false);
  if (!answer) throw new Error('nothing was renewed');
  (answer as () => void)();
  await settled();
  expect(told).toEqual(['taken', 'dropped', 'taken']);
  expect(acquired).toEqual(['shard:0', 'shard:0']);
  expect(ownership.owns(0)).toBe(true);
});
