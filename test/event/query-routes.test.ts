// Queries in the lists of events: which calls they find, how far a search came, and the answer to a mistake.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { settled } from '../clock.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { brokenQueries } from './query-cases.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user);
});
afterEach(() => t.close());

const event = (call_id: string, more: object = {}) => ({
  call_id,
  agent_id: 'agent-1',
  tool_name: 'read_file',
  verdict: 'call_denied',
  mode: 'enforce',
  timestamp: new Date(t.clock.now()).toISOString(),
  payload: { tool_args: { path: `/srv/${call_id}/.env` }, reason: 'holds secrets' },
  ...more,
});
const ingest = (...events: object[]) => t.call('ingestEvents', { body: { events } }, key);
const idsOf = async (q: string, more: object = {}) => {
  const { body, headers } = await t.call('searchEvents', { query: { q, ...more } }, user);
  return { ids: body.map(({ call_id }) => call_id), headers };
};

it('find calls by fields, words and arguments, page by page', async () => {
  await ingest(event('one'), event('two'), event('three', { tool_name: 'run_sql', verdict: 'call_allowed' }));
  expect((await idsOf('verdict:denied')).ids).toEqual(['two', 'one']);
  const { ids, headers } = await idsOf('args.path:*/t*/.env secrets', { limit: '1' });
  expect(ids).toEqual(['three']);
  expect(headers['X-Search-Complete']).toBe('true');
  expect(headers['X-Searched-To']).toBeUndefined();
  const cursor = String(headers['X-Next-Cursor']);
  expect((await idsOf('args.path:*/t*/.env secrets', { limit: '1', cursor })).ids).toEqual(['two']);
  expect((await t.call('searchEvents', {}, user)).headers['X-Search-Complete']).toBeUndefined();
});

it('count by structure and by text', async () => {
  await ingest(event('one'), event('two', { mode: 'observe' }), event('three', { tool_name: 'run_sql' }));
  for (const q of ['verdict:denied', 'verdict:denied secrets']) {
    const { body, headers } = await t.call('eventFacets', { query: { q } }, user);
    expect(body.total).toBe(2);
    expect(body.facets.tool_name.top).toEqual([
      { value: 'read_file', count: 1 },
      { value: 'run_sql', count: 1 },
    ]);
    expect(headers['X-Search-Complete']).toBe('true');
    const [since, until] = [t.clock.now() - 3_600_000, t.clock.now() + 3_600_000];
    const range = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
    const histogram = await t.call('eventHistogram', { query: { q, ...range } }, user);
    expect(histogram.body.reduce((sum, { denied, observed }) => sum + denied + observed, 0)).toBe(2);
  }
});

it('name a version by its number', async () => {
  const yaml_content = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: shop }
defaults: { mode: enforce }
contracts: []
`;
  const { body } = await t.call('uploadBundle', { body: { yaml_content } }, user);
  await ingest(event('one', { payload: { policy_version: body.revision_hash } }), event('two'));
  expect((await idsOf('version:v1')).ids).toEqual(['one']);
  expect((await idsOf('version:v2')).ids).toEqual([]);
  // Events name no bundle, so this finds none; the versions are looked up all the same.
  expect((await idsOf('bundle:(shop,other,shop) version:(2,1,1)')).ids).toEqual([]);
});

it('look up at most 1,000 versions, a few at a time', async () => {
  const { bundles } = t.hub.store;
  let [atOnce, highest, count] = [0, 0, 0];
  const getVersion = vi.spyOn(bundles, 'getVersion').mockImplementation(async () => {
    highest = Math.max(highest, ++atOnce);
    count++;
    await settled();
    atOnce--;
    return null;
  });
  const some = (length: number) => Array.from({ length }, (_, i) => i + 1).join();
  await idsOf(`verdict:denied bundle:(${some(40)}) version:(${some(25)},1,2)`);
  expect([count, highest]).toEqual([1_000, 8]);
  await expect(idsOf(`bundle:(${some(150)}) version:(${some(150)})`.slice(0, 1000))).rejects.toMatchObject({
    code: 'validation_failed',
  });
  await expect(idsOf(`bundle:(${some(100)}) version:(${some(11)})`)).rejects.toMatchObject({
    code: 'validation_failed',
    message:
      'The query is not valid: position 301: expected at most 1000 pairs of a version number and a bundle, got 1100.',
  });
  expect(count).toBe(1_000);
  getVersion.mockRestore();
});

it.each(brokenQueries.filter(([text]) => text.length <= 1000))('refuse %s', async (q, position, expected) => {
  for (const name of ['searchEvents', 'eventFacets', 'exportEvents'] as const) {
    await expect(t.call(name, { query: { q } }, user)).rejects.toMatchObject({
      code: 'validation_failed',
      detail: { fields: [{ field: ['q', position], message: expect.stringMatching(expected) }] },
    });
  }
});

it('leave a third search of texts to wait', async () => {
  await ingest(event('one'));
  const people = await Promise.all(
    ['a@x.org', 'b@x.org', 'c@x.org'].map(async (email, i) => ({
      ...user,
      email,
      userId: `${user.userId.slice(0, -1)}${i}`,
    })),
  );
  const answers = await Promise.allSettled(
    people.map((person) => t.call('searchEvents', { query: { q: 'secrets' } }, person)),
  );
  const codes = answers.map((answer) => (answer.status === 'fulfilled' ? 200 : answer.reason.code));
  expect(codes).toEqual([200, 200, 'too_busy']);
  expect((await idsOf('secrets')).ids).toEqual(['one']);
});
