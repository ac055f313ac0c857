// An approval that nobody decides counts once in the metrics, whether a timer, a reader or a list expires it first.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { principalOf } from '../../src/http/contract/principal.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
});
afterEach(() => t.close());

const waitMs = 10_000;

async function request(): Promise<string> {
  const body = { agent_id: 'agent-1', tool_name: 'deploy', message: 'May I?', timeout: waitMs / 1000 };
  return (await t.call('createApproval', { body }, t.key(user))).body.id;
}

/** The approvals of a hub whose clock is ahead of the actor's: no timer has run yet. */
const ahead = () => {
  const { clock } = t.hub;
  const later = Object.assign(Object.create(clock), { now: () => clock.now() + waitMs });
  return t.changed({ clock: later }).app.approvals;
};

const timeouts = () =>
  t.hub.meters.approvals
    .series()
    .filter(({ values }) => values[1] === 'timeout')
    .reduce((sum, { count }) => sum + count, 0);
const waits = () => t.hub.meters.approvalWaits.counts.reduce((sum, count) => sum + count, 0);

it.each([
  ['a reader', async (id: string) => void (await ahead().get(principalOf(user), id))],
  [
    'a list',
    async () => void (await ahead().list(principalOf(user), { env: null }, { limit: 10, offset: 0 })),
  ],
  ['a timer', async () => t.clock.advance(waitMs)],
])('that %s expires counts once as a timeout, with its wait', async (_, expireFirst) => {
  const id = await request();
  await expireFirst(id);
  await expect.poll(timeouts).toBe(1);
  // The others come too late.
  t.clock.advance(waitMs);
  await ahead().get(principalOf(user), id);
  expect((await t.call('getApproval', { params: { approval_id: id } }, user)).body.status).toBe('timeout');
  expect([timeouts(), waits(), t.hub.meters.approvalWaits.sumMs]).toEqual([1, 1, waitMs]);
});
