// How many large batches are taken at once.
import { expect, it } from 'vitest';
import type { Caller } from '../../src/http/contract/call.ts';
import { createLargeBatches } from '../../src/http/large-batches.ts';
import { ManualClock, settled } from '../clock.ts';

const of = (tenantId: string) => ({ kind: 'user', userId: 'u', tenantId }) as Caller;
const [small, large] = [256 * 1024, 256 * 1024 + 1];

function batches() {
  const clock = new ManualClock();
  const take = createLargeBatches(clock);
  const ends: (() => void)[] = [];
  const begin = (tenantId: string, bytes = large): Promise<unknown> =>
    take(of(tenantId), bytes, () => new Promise((resolve) => ends.push(() => resolve('stored'))));
  return { clock, begin, ends };
}

it('takes four of a tenant at once, the others in their order, and small ones without a wait', async () => {
  const { begin, ends } = batches();
  const all = Array.from({ length: 10 }, () => begin('t1'));
  await settled();
  expect(ends.length).toBe(4);
  void begin('t1', small);
  void begin('t2');
  await settled();
  expect(ends.length).toBe(6);
  while (ends.length > 0) {
    ends.shift()?.();
    await settled();
  }
  await expect(Promise.all(all)).resolves.toHaveLength(10);
});

it('takes sixteen on a node', async () => {
  const { begin, ends } = batches();
  for (let tenant = 0; tenant < 6; tenant++) for (let i = 0; i < 4; i++) void begin(`t${tenant}`);
  await settled();
  expect(ends.length).toBe(16);
});

it('refuses one that has waited for 10 s with a time to come back', async () => {
  const { begin, clock } = batches();
  for (let i = 0; i < 4; i++) void begin('t1');
  const refused = expect(begin('t1')).rejects.toMatchObject({
    code: 'overloaded',
    detail: { retryAfter: 2 },
  });
  clock.advance(10_000);
  await refused;
});
