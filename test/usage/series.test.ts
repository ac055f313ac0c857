// Counts over time by the API: buckets that fit, the values with most denials, and ranges that are refused.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user);
});
afterEach(() => t.close());

const ingest = (...events: object[]) =>
  t.call(
    'ingestEvents',
    {
      body: {
        events: events.map((more, i) => ({
          call_id: `c${i}`,
          agent_id: 'a',
          tool_name: 'x',
          verdict: 'call_allowed',
          timestamp: new Date(t.clock.now() - 60_000).toISOString(),
          ...more,
        })),
      },
    },
    key,
  );

it('of the last 24 hours in half hours, all of which add up', async () => {
  await ingest(
    {},
    { verdict: 'call_denied' },
    { verdict: 'call_denied', mode: 'observe' },
    { verdict: 'call_asked' },
  );
  const { body } = await t.call('statsSeries', { query: {} }, user);
  expect(body.bucket_seconds).toBe(3600);
  const [total] = body.series;
  expect(total).toMatchObject({ value: null, total: 4 });
  const sum = (counts: readonly number[] = []) => counts.reduce((all, one) => all + one, 0);
  expect(
    [total?.allowed, total?.denied, total?.would_deny, total?.asked].map((counts) => sum(counts)),
  ).toEqual([1, 1, 1, 1]);
  const overview = await t.call('statsOverview', {}, user);
  expect(overview.body.events_24h).toBe(total?.total);
});

it('by tool: those with most denials first, or the named ones', async () => {
  await ingest(
    { tool_name: 'a' },
    { tool_name: 'a' },
    { tool_name: 'b', verdict: 'call_denied' },
    { tool_name: 'c' },
  );
  const { body } = await t.call('statsSeries', { query: { by: 'tool', top: '2' } }, user);
  expect(body.series.map(({ value, total }) => [value, total])).toEqual([
    ['b', 1],
    ['a', 2],
  ]);
  const query = { by: 'tool', values: ['c', 'nobody'] as unknown as string };
  const named = await t.call('statsSeries', { query }, user);
  expect(named.body.series.map(({ value, total }) => [value, total])).toEqual([
    ['c', 1],
    ['nobody', 0],
  ]);
});

it('of agents by the hour at least', async () => {
  await ingest({});
  const since = new Date(t.clock.now() - 600_000).toISOString();
  expect((await t.call('statsSeries', { query: { by: 'agent', since } }, user)).body.bucket_seconds).toBe(
    3600,
  );
  expect((await t.call('statsSeries', { query: { by: 'tool', since } }, user)).body.bucket_seconds).toBe(60);
});

it('not over a reversed range, nor without points', async () => {
  const at = (ms: number) => new Date(t.clock.now() + ms).toISOString();
  const reversed = { since: at(0), until: at(-1000) };
  for (const query of [reversed, { points: '0' }, { points: '201' }, { top: '21' }, { by: 'env' }])
    await expect(t.call('statsSeries', { query }, user)).rejects.toMatchObject({ code: 'validation_failed' });
  const long = { since: at(-400 * 86_400_000), until: at(0), points: '10' };
  await expect(t.call('statsSeries', { query: long }, user)).rejects.toMatchObject({ code: 'unprocessable' });
});

it('by tool: those beyond 2,000 follow as one more', async () => {
  const events = Array.from({ length: 2_003 }, (_, i) => ({
    tool_name: `tool-${String(i).padStart(4, '0')}`,
  }));
  await ingest(...events);
  const { body } = await t.call('statsSeries', { query: { by: 'tool', top: '2' } }, user);
  expect(body.series.map(({ value, total }) => [value, total])).toEqual([
    ['tool-0000', 1],
    ['tool-0001', 1],
    ['other', 3],
  ]);
});
