// How many searches run at once: of a user, of a key's agent, of a tenant.
import { expect, it } from 'vitest';
import type { Caller } from '../../src/http/contract/call.ts';
import { createSearches } from '../../src/http/searches.ts';
import { ManualClock } from '../clock.ts';

const user = (userId: string, tenantId = 't1') => ({ kind: 'user', userId, tenantId }) as Caller;
const agent = (agentId: string, keyId = 'k1', tenantId = 't1') =>
  ({ kind: 'key', keyId, agentId, tenantId }) as Caller;
const refused = { code: 'rate_limited', detail: { retryAfter: 1 } };

function searches() {
  const clock = new ManualClock();
  const run = createSearches(clock);
  const ends: (() => void)[] = [];
  /** Begins a search that ends when it is told to; what its caller hears. */
  const begin = (caller: Caller): Promise<string> =>
    run(caller, () => new Promise((resolve) => ends.push(() => resolve('found'))));
  return { clock, run, begin, running: () => ends.length, endOne: () => ends.shift()?.() };
}

it('of a user 4 run and 16 wait; the next is refused at once, those that wait after 2 s', async () => {
  const { clock, begin, running } = searches();
  for (let i = 0; i < 4; i++) void begin(user('u'));
  const waiting = Array.from({ length: 16 }, () => begin(user('u')));
  const told = Promise.allSettled(waiting);
  await expect(begin(user('u'))).rejects.toMatchObject(refused);
  expect(running()).toBe(4);
  clock.advance(2000);
  for (const result of await told) expect(result).toMatchObject({ status: 'rejected', reason: refused });
});

it('one that waits runs when another ends', async () => {
  const { begin, running, endOne } = searches();
  const first = begin(agent('a'));
  void begin(agent('a'));
  const third = begin(agent('a'));
  expect(running()).toBe(2);
  endOne();
  await expect(first).resolves.toBe('found');
  endOne();
  endOne();
  await expect(third).resolves.toBe('found');
});

it('of an agent of a key 2 run and 4 wait; other agents and users do not notice', async () => {
  const { begin, run, running } = searches();
  for (let i = 0; i < 6; i++) void begin(agent('a'));
  expect(running()).toBe(2);
  await expect(begin(agent('a'))).rejects.toMatchObject(refused);
  const others = [agent('b'), agent('a', 'k2'), user('u')];
  for (const caller of others) await expect(run(caller, async () => 'found')).resolves.toBe('found');
});

it('of a tenant 16 run, whatever names its agents take; another tenant does not notice', async () => {
  const { begin, run, running } = searches();
  for (let i = 0; i < 80; i++) void begin(agent(`agent-${i}`));
  expect(running()).toBe(16);
  await expect(begin(agent('one-more'))).rejects.toMatchObject(refused);
  await expect(run(agent('a', 'k9', 't2'), async () => 'found')).resolves.toBe('found');
});
