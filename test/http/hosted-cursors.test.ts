// Cursors of the hosted API's lists of runs and approvals: what comes meanwhile shifts nothing, and none fits another
// list or workspace.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type CallResult, makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let operator: OperatorCaller;
beforeEach(async () => {
  t = await makeHub({ approvalsPerMinute: 1000 });
  user = await t.tenant();
  operator = t.operator(user);
});
afterEach(() => t.close());

async function ask(name: string): Promise<void> {
  t.clock.advance(1000);
  const body = { agent_id: name, session_id: name, tool_name: 't', message: 'm' };
  await t.call('hostedCreateApproval', { body }, t.hostedKey(user, null, null));
}

type Lists = 'hostedListApprovals' | 'hostedListRuns';

/** The agents on each page. */
async function walk(list: Lists, between: () => Promise<void>): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const query: { [name: string]: string } = { limit: '2', ...(cursor === null ? {} : { cursor }) };
    const { body }: CallResult<Lists> = await t.call(list, { query }, operator);
    const items = 'approvals' in body ? body.approvals : body.runs;
    pages.push(items.map((item: { readonly agent_id: string }) => item.agent_id));
    expect(body.next_offset).toBe(cursor === null ? 2 : null);
    expect(body.has_more).toBe(body.next_cursor !== null);
    cursor = body.next_cursor;
    await between();
  } while (cursor !== null);
  return pages;
}

it.each<Lists>(['hostedListApprovals', 'hostedListRuns'])(
  '%s goes on whatever comes meanwhile',
  async (list) => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await ask(name);
    let more = 0;
    const pages = await walk(list, () => ask(`later-${++more}`));
    expect(pages).toEqual([['e', 'd'], ['c', 'b'], ['a']]);
  },
);

it('says where the next page begins', async () => {
  for (const name of ['a', 'b', 'c']) await ask(name);
  for (const list of ['hostedListApprovals', 'hostedListRuns'] as const) {
    const page = async (offset: string) =>
      (await t.call(list, { query: { limit: '2', offset } }, operator)).body;
    expect(await page('0')).toMatchObject({ has_more: true, next_offset: 2, total: 3 });
    expect(await page('2')).toMatchObject({
      has_more: false,
      next_offset: null,
      next_cursor: null,
      total: 3,
    });
  }
});

it('takes no cursor of another list or workspace, nor one that was made up', async () => {
  for (const name of ['a', 'b']) await ask(name);
  const other = t.operator(await t.tenant());
  const query = { limit: '1' };
  const ofApprovals = (await t.call('hostedListApprovals', { query }, operator)).body.next_cursor ?? '';
  const ofRuns = (await t.call('hostedListRuns', { query }, operator)).body.next_cursor ?? '';
  expect(ofRuns).not.toBe('');
  const refusals = [
    t.call('hostedListRuns', { query: { cursor: ofApprovals } }, operator),
    t.call('hostedListApprovals', { query: { cursor: ofRuns } }, operator),
    t.call('hostedListApprovals', { query: { cursor: ofApprovals } }, other),
    t.call('hostedListRuns', { query: { cursor: 'bWFkZSB1cA' } }, operator),
  ];
  for (const refusal of refusals) {
    await expect(refusal).rejects.toMatchObject({
      code: 'bad_request',
      detail: { reason: 'invalid_cursor' },
    });
  }
});
