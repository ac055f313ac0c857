// Cursors of all lists that have them: a list takes its own alone.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { deploy } from '../deployment/deploy.ts';
import { makeHub, type Operation, type TestHub, type UserCaller } from '../harness.ts';

const lists = Object.entries(api)
  // Those of one thing, which a path names, and those with pages of a fixed size have their own tests.
  .filter(
    ([, { params, query }]: [string, RouteDeclaration]) =>
      !params && query && 'cursor' in query.shape && 'limit' in query.shape,
  )
  .map(([name]) => name as Operation);

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  await t.tenant('second@example.com');
  // Two of everything that is listed.
  for (const content of ['1', '2']) await deploy(t, user, 'listed', content);
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  for (const agentId of ['a1', 'a2']) {
    const key = t.key(user, 'production', agentId);
    const stream = await streams.admitAgent(key, { env: 'production' }, agentId);
    await stream.catchUp();
    const event = { call_id: agentId, agent_id: agentId, tool_name: 't', verdict: 'v', mode: 'enforce' };
    const events = [{ ...event, timestamp: new Date(t.clock.now()).toISOString() }];
    await t.call('ingestEvents', { body: { events } }, key);
    await t.call('createApproval', { body: { tool_name: 't', message: 'May I?', timeout: 60 } }, key);
  }
});
afterEach(() => t.close());

const list = (name: Operation, query: { [name: string]: string }) =>
  t.call(name, { query: { limit: '1', ...query } }, user);

async function cursorOf(name: Operation): Promise<string> {
  const { headers, body } = await list(name, {});
  const cursor =
    headers['X-Next-Cursor'] ?? (body as { readonly next_cursor?: string | null } | null)?.next_cursor;
  if (cursor === undefined || cursor === null) throw new Error(`${name} has no second page`);
  return cursor;
}

it('has several lists', () => {
  expect(lists.length).toBeGreaterThan(2);
});

it.each(lists)('%s goes on from its own cursor, and refuses those of the others', async (name) => {
  await list(name, { cursor: await cursorOf(name) });
  for (const other of lists) {
    if (other === name) continue;
    const cursor = await cursorOf(other);
    await expect(list(name, { cursor }), other).rejects.toMatchObject({ code: 'bad_request' });
  }
});

it.each(['approvalGroups', 'fleetMatrix'] as const)('%s refuses the cursors of other lists', async (name) => {
  for (const other of lists) {
    const cursor = await cursorOf(other);
    await expect(t.call(name, { query: { cursor } }, user), other).rejects.toMatchObject({
      code: 'bad_request',
    });
  }
});
