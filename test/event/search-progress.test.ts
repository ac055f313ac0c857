// Searches by text that take longer than their budget: the headers contain how far each came, and its cursor goes on
// from there. Here each look of the store takes 50 ms and reads one batch.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { EventStore } from '../../src/event/port.ts';
import { searchTimeout } from '../../src/event/record.ts';
import { Streamed } from '../../src/http/contract/call.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

const budget_ms = '50';
const names = ['six', 'five', 'four', 'three', 'two', 'one'];
let t: TestHub;
let user: UserCaller;
/** Milliseconds since the epoch: the time of each call. */
let timeOf: { readonly [name: string]: number };
/** Called before each look. */
let beforeLook: () => Promise<void>;

beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  beforeLook = async () => {};
  const now = t.clock.now();
  timeOf = Object.fromEntries(names.map((name, i) => [name, now - (i + 1) * 60_000]));
  for (const call_id of names.toReversed()) {
    const event = {
      call_id,
      agent_id: 'agent-1',
      tool_name: 'read_file',
      verdict: 'call_denied',
      timestamp: iso(timeOf[call_id] ?? 0),
      payload: { reason: call_id === 'four' ? 'too late' : 'holds secrets' },
    };
    await t.call('ingestEvents', { body: { events: [event] } }, t.key(user));
  }
  const { events } = t.hub.store;
  const search = events.search.bind(events);
  const look: EventStore['search'] = async (tenantId, filter, limit, cursor, order) => {
    await beforeLook();
    t.clock.advance(50);
    return search(tenantId, filter, limit, cursor, order, -1);
  };
  vi.spyOn(events, 'search').mockImplementation(look);
  const listCountable = events.listCountable.bind(events);
  vi.spyOn(events, 'listCountable').mockImplementation(async (tenantId, filter, limit, cursor) => {
    await beforeLook();
    t.clock.advance(50);
    return listCountable(tenantId, filter, limit, cursor, -1);
  });
});
afterEach(() => t.close());

const iso = (at: number): string => new Date(at).toISOString();
const q = 'secrets';
const range = () => ({ since: iso(t.clock.now() - 3_600_000), until: iso(t.clock.now()) });
const page = (more: object = {}) =>
  t.call('searchEvents', { query: { q, budget_ms, limit: '10', ...more } }, user);
/** Matches after the time. */
const countAfter = (at: number): number =>
  names.filter((name) => name !== 'four' && (timeOf[name] ?? 0) > at).length;
const searchedTo = (headers: { readonly [name: string]: string | null }): number => {
  expect(headers['X-Searched-To']).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  return Date.parse(headers['X-Searched-To'] ?? '');
};

it('answer a part with its time and a cursor, which goes on without gap or repeat', async () => {
  const callIds: (string | null)[] = [];
  let cursor: string | undefined;
  let parts = 0;
  let last = Number.POSITIVE_INFINITY;
  for (;;) {
    const { body, headers } = await page(cursor === undefined ? {} : { cursor });
    callIds.push(...body.map(({ call_id }) => call_id));
    cursor = headers['X-Next-Cursor'];
    if (headers['X-Search-Complete'] !== 'false') {
      expect(headers).toMatchObject({ 'X-Search-Complete': 'true' });
      expect(headers['X-Searched-To']).toBeUndefined();
      break;
    }
    parts++;
    expect(cursor).toBeDefined();
    const to = searchedTo(headers);
    expect(to).toBeLessThan(last);
    last = to;
    for (const name of names.filter((one) => one !== 'four' && (timeOf[one] ?? 0) > to))
      expect(callIds).toContain(name);
  }
  expect(cursor).toBeUndefined();
  expect(parts).toBeGreaterThanOrEqual(4);
  expect(callIds).toEqual(names.filter((name) => name !== 'four'));
});

it('go on within a larger budget', async () => {
  const { body, headers } = await page({ budget_ms: '2000' });
  expect(body).toHaveLength(5);
  expect(headers).toMatchObject({ 'X-Search-Complete': 'true' });
});

it('count facets and buckets down to the time in the header', async () => {
  const budget = { budget_ms: '200' };
  const facets = await t.call('eventFacets', { query: { q, ...budget } }, user);
  expect(facets.headers).toMatchObject({ 'X-Search-Complete': 'false' });
  expect(facets.body.total).toBeGreaterThan(0);
  expect(facets.body.total).toBe(countAfter(searchedTo(facets.headers)));
  const histogram = await t.call('eventHistogram', { query: { q, ...budget, ...range() } }, user);
  expect(histogram.headers).toMatchObject({ 'X-Search-Complete': 'false' });
  const sum = histogram.body.reduce((total, { denied }) => total + denied, 0);
  expect(sum).toBeGreaterThan(0);
  expect(sum).toBe(countAfter(searchedTo(histogram.headers)));
  for (const headers of [facets.headers, histogram.headers]) expect(headers['X-Next-Cursor']).toBeUndefined();
});

it('count by terms that need no payload down to the time in the header', async () => {
  const { events } = t.hub.store;
  const facetsOf = vi.spyOn(events, 'facets').mockRejectedValue(searchTimeout());
  const histogramOf = vi.spyOn(events, 'histogram').mockRejectedValue(searchTimeout());
  const query = { q: 'verdict:denied', budget_ms: '300' };
  const after = (at: number) => names.filter((name) => (timeOf[name] ?? 0) > at).length;
  const facets = await t.call('eventFacets', { query }, user);
  expect(facets.headers).toMatchObject({ 'X-Search-Complete': 'false' });
  expect(facets.body.total).toBeGreaterThan(0);
  expect(facets.body.total).toBe(after(searchedTo(facets.headers)));
  const histogram = await t.call('eventHistogram', { query: { ...query, ...range() } }, user);
  expect(histogram.headers).toMatchObject({ 'X-Search-Complete': 'false' });
  const sum = histogram.body.reduce((total, { denied }) => total + denied, 0);
  expect(sum).toBe(after(searchedTo(histogram.headers)));
  // Half of the time is for the store's own count.
  expect(facetsOf.mock.lastCall?.[4]).toBe(150);
  expect(histogramOf.mock.lastCall?.[3]).toBe(150);
});

it('list by terms that need no payload within their budget, and count all without a query', async () => {
  const { events } = t.hub.store;
  const facets = vi.spyOn(events, 'facets');
  await page({ q: 'verdict:denied' });
  expect(vi.mocked(events.search).mock.lastCall?.[5]).toBe(50);
  const { body } = await t.call('eventFacets', { query: {} }, user);
  expect(body.total).toBe(names.length);
  expect(facets.mock.lastCall?.[4]).toBeUndefined();
});

it('refuse other budgets', async () => {
  for (const wrong of ['49', '2001', 'x'])
    await expect(page({ budget_ms: wrong })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('leave an export to run to its end', async () => {
  const { body, headers } = await t.call('exportEvents', { query: { q, format: 'ndjson' } }, user);
  const written: unknown = body;
  if (!(written instanceof Streamed)) throw new Error('The export is no stream.');
  let text = '';
  for (let part = await written.pieces.next(); !part.done; part = await written.pieces.next())
    text += part.value;
  const lines = text.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).call_id)).toEqual(names.filter((name) => name !== 'four'));
  expect(headers['X-Search-Complete']).toBeUndefined();
});

it("end a person's older search at the look that it takes when a newer one begins", async () => {
  const gates: (() => void)[] = [];
  beforeLook = () => new Promise((resolve) => gates.push(resolve));
  const budget = { budget_ms: '2000' };
  const older = [
    page(budget),
    t.call('eventFacets', { query: { q, ...budget } }, { ...user, userId: user.userId.replace(/.$/, 'x') }),
  ];
  await expect.poll(() => gates.length).toBe(2);
  const newer = [
    page(budget),
    t.call('eventFacets', { query: { q, ...budget } }, { ...user, userId: user.userId.replace(/.$/, 'x') }),
  ];
  await expect.poll(() => gates.length).toBe(4);
  beforeLook = async () => {};
  for (const open of gates) open();
  for (const { headers } of await Promise.all(older)) {
    expect(headers).toMatchObject({ 'X-Search-Complete': 'false' });
    searchedTo(headers);
  }
  for (const { headers } of await Promise.all(newer))
    expect(headers).toMatchObject({ 'X-Search-Complete': 'true' });
});
