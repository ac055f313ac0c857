// The timeline and the decision bundle of a run read its own time, not the whole history, and miss nothing of the run.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { EventStore } from '../../src/event/port.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import type { Caller } from '../../src/http/contract/call.ts';
import { renderMicros } from '../../src/shared/instant.ts';
import { makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let viewer: OperatorCaller;
let agent: Extract<Caller, { kind: 'hostedKey' }>;
/** The start of the run, by the agent's clock. */
let start: number;
const minute = 60_000;
const run = { agent_id: 'agent-1', session_id: 's1' };

beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  viewer = t.operator(user, 'viewer');
  agent = { ...t.key(user), kind: 'hostedKey', env: null };
  start = t.clock.now() - 10 * minute;
});
afterEach(() => t.close());

const report = async (call_id: string, timestamp: number, more: object = {}) => {
  const event = { ...run, call_id, tool_name: 'read_file', tool_args: {}, action: 'call_allowed', ...more };
  const body = { events: [{ ...event, timestamp: renderMicros(timestamp) }] };
  expect((await t.call('hostedIngestEvents', { body }, agent)).body).toMatchObject({ accepted: 1 });
};
const child = (session_id: string) => ({ session_id, parent_session_id: run.session_id });
const timeline = async () => (await t.call('runTimeline', { params: run, query: {} }, user)).body;

/** The filters of all searches from now on. */
function searchFilters(): readonly EventFilter[] {
  const filters: EventFilter[] = [];
  const { events } = t.hub.store;
  const search = events.search.bind(events);
  vi.spyOn(events, 'search').mockImplementation((...args: Parameters<EventStore['search']>) => {
    filters.push(args[1]);
    return search(...args);
  });
  return filters;
}

it('reads the calls from the earliest one on, and the runs that it started from five minutes before', async () => {
  await report('late', start + minute);
  // Reported later, and earlier by the agent's clock, than the first one.
  await report('first', start + 0.25);
  await report('other', start - 60 * minute, { session_id: 's0' });
  await report('slow clock', start - 4 * minute, child('c1'));
  await report('before', start - 60 * minute, child('c0'));
  const filters = searchFilters();
  const { calls, children } = await timeline();
  expect(calls).toHaveLength(2);
  expect(children).toMatchObject([{ session_id: 'c1' }]);
  expect(filters).toMatchObject([
    { sessionId: 's1', since: start + 0.25 },
    { parentSessionId: 's1', since: start + 0.25 - 5 * minute },
  ]);
});

it('ends the search for the runs that it started with the time of one search', async () => {
  await report('one', start);
  await report('two', start + 1, child('c1'));
  const { events } = t.hub.store;
  const search = events.search.bind(events);
  let searches = 0;
  vi.spyOn(events, 'search').mockImplementation(async (...args: Parameters<EventStore['search']>) => {
    const page = await search(...args);
    if (args[1].parentSessionId === undefined) return page;
    searches++;
    return { ...page, next: 'more', searchedTo: start + 2 };
  });
  expect((await timeline()).children).toMatchObject([{ session_id: 'c1' }]);
  expect(searches).toBe(1);
});

it('the decision bundle has all events from the start of the run on, and reads none before', async () => {
  await report('late', start + minute);
  await report('first', start);
  // Of the run as well, and after its first event.
  const request = { tool_name: 'deploy', message: 'May I?', session_id: 's1', agent_id: 'agent-1' };
  await t.call('createApproval', { body: request }, t.key(user));
  const filters = searchFilters();
  const { events } = t.hub.store;
  const facets = vi.spyOn(events, 'facets');
  const ofProduction: OperatorCaller = { ...viewer, roles: [{ env: 'production', role: 'viewer' }] };
  const { body } = await t.call('hostedRunBundle', { params: run, query: {} }, ofProduction);
  const payload = JSON.parse(Buffer.from(body.payload, 'base64').toString());
  expect(payload.events.map(({ call_id: id }: { call_id: string }) => id)).toEqual(['first', 'late']);
  expect(filters).toMatchObject([{ sessionId: 's1', since: start }]);
  expect(facets.mock.calls.map(([, filter]) => filter)).toMatchObject([{ sessionId: 's1', since: start }]);
});
