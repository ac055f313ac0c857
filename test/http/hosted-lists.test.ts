// Lists of the hosted API: each says where its next page begins, and following that passes every item once.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { z } from 'zod';
import type { ReplyBody, RouteDeclaration } from '../../src/http/contract/route.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';
import { type HostedKeyCaller, makeHub, type OperatorCaller, type TestHub } from '../harness.ts';

let t: TestHub;
let operator: OperatorCaller;
let key: HostedKeyCaller;
beforeEach(async () => {
  t = await makeHub({ approvalsPerMinute: 1000 });
  const user = await t.tenant('ann@example.com');
  operator = t.operator(user);
  key = t.hostedKey(user);
});
afterEach(() => t.close());

const count = 5;

const document = (name: string, tool: string): string => `apiVersion: service/v1
kind: Ruleset
metadata: {name: ${name}}
rules:
  - {id: one, type: pre, tool: ${tool}, when: {args.a: {equals: 1}}, then: {action: block, message: m}}
`;

const put = (name: string, tool = 't') =>
  t.call(
    'hostedPutRuleset',
    { params: { name }, query: {}, body: Buffer.from(document(name, tool)) },
    operator,
    { headers: { 'content-type': 'application/x-yaml' } },
  );

/** The request that makes one item of each list, and the list's address. */
const lists = {
  hostedListRuns: {
    field: 'runs',
    make: (i: number) => ingest(i),
  },
  hostedListAgents: { field: 'agents', make: (i: number) => ingest(i) },
  hostedSearchEvents: { field: 'events', make: (i: number) => ingest(i) },
  hostedListRulesets: { field: 'rulesets', make: (i: number) => put(`set-${i}`) },
  hostedRulesetVersions: {
    field: 'versions',
    params: { name: 'one' },
    make: (i: number) => put('one', `tool-${i}`),
  },
  hostedListApprovals: {
    field: 'approvals',
    make: (i: number) =>
      t.call('hostedCreateApproval', { body: { tool_name: `t${i}`, message: 'May I?' } }, key),
  },
  hostedListKeys: {
    field: 'keys',
    make: (i: number) => t.call('hostedCreateKey', { body: { name: `key ${i}` } }, operator),
  },
  hostedListChannels: {
    field: 'channels',
    make: (i: number) =>
      t.call(
        'hostedCreateChannel',
        {
          body: {
            name: `channel ${i}`,
            channel_type: 'webhook',
            config: { url: `https://127.0.0.1/${i}` },
          },
        },
        operator,
      ),
  },
} as const;

const ingest = (i: number) =>
  t.call(
    'hostedIngestEvents',
    {
      body: {
        events: [
          {
            call_id: `c${i}`,
            agent_id: `agent-${i}`,
            session_id: `s${i}`,
            tool_name: 'read',
            action: 'call_allowed',
            timestamp: new Date(t.clock.now() + i).toISOString(),
          },
        ],
      },
    },
    key,
  );

type AgentPage = ReplyBody<(typeof hostedApi)['hostedListAgents']>;
type EventPage = ReplyBody<(typeof hostedApi)['hostedSearchEvents']>;
type Body = { readonly [field: string]: unknown };

const declared = Object.entries(hostedApi).filter(([, route]: [string, RouteDeclaration]) =>
  Object.hasOwn((route.query as z.ZodObject | undefined)?.shape ?? {}, 'offset'),
);

it('are those that take an offset', () => {
  expect(declared.map(([name]) => name).sort()).toEqual(Object.keys(lists).sort());
});

it.each(Object.entries(lists))('%s goes on at next_offset', async (name, list) => {
  for (let i = 0; i < count; i++) await list.make(i);
  const page = async (query: { readonly [name: string]: string }) =>
    (
      await t.call(
        name as 'hostedListRuns',
        { ...('params' in list ? { params: list.params } : {}), query },
        operator,
      )
    ).body as Body;
  const items = (body: Body) => body[list.field] as readonly unknown[];
  const whole = await page({});
  expect(whole).toMatchObject({ offset: 0, has_more: false, next_offset: null });
  expect(items(whole)).toHaveLength(count);
  const walked: unknown[] = [];
  for (let offset: unknown = 0; offset !== null; ) {
    const body = await page({ limit: '2', offset: String(offset) });
    expect(body).toMatchObject({ limit: 2, offset, has_more: body.next_offset !== null });
    walked.push(...items(body));
    offset = body.next_offset;
  }
  expect(walked).toEqual(items(whole));
});

it('of agents goes on behind those that a key does not see', async () => {
  for (const i of [0, 1, 2, 3]) {
    await ingest(i);
    t.clock.advance(1000);
  }
  const bound = { ...key, agentId: null, agentPattern: 'agent-[01]' };
  const agentsFrom = async (offset: number): Promise<AgentPage> =>
    (await t.call('hostedListAgents', { query: { limit: '1', offset: String(offset) } }, bound)).body;
  const seen: string[] = [];
  for (let offset: number | null = 0; offset !== null; ) {
    const page: AgentPage = await agentsFrom(offset);
    seen.push(...page.agents.map(({ id }) => id));
    offset = page.next_offset;
  }
  expect(seen).toEqual(['agent-1', 'agent-0']);
});

it('of events goes from the oldest on, too, by offset and by a cursor of that order alone', async () => {
  for (let i = 0; i < count; i++) await ingest(i);
  const page = async (query: { [name: string]: string }): Promise<EventPage> =>
    (await t.call('hostedSearchEvents', { query }, operator)).body;
  const calls = (body: EventPage) => body.events.map(({ call_id }) => call_id);
  expect(calls(await page({}))).toEqual(['c4', 'c3', 'c2', 'c1', 'c0']);
  const first = await page({ order: 'asc', limit: '2' });
  expect([calls(first), first.next_offset]).toEqual([['c0', 'c1'], 2]);
  expect(calls(await page({ order: 'asc', limit: '2', offset: '2' }))).toEqual(['c2', 'c3']);
  const cursor = first.next_cursor ?? '';
  await ingest(9);
  expect(calls(await page({ order: 'asc', cursor }))).toEqual(['c2', 'c3', 'c4', 'c9']);
  await expect(page({ cursor })).rejects.toMatchObject({ detail: { reason: 'invalid_cursor' } });
  await expect(page({ order: 'up' })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('of events goes on by its cursor alone where a search found nothing in its time', async () => {
  for (let i = 0; i < count; i++) await ingest(i);
  const { events } = t.hub.store;
  const search = events.search.bind(events);
  vi.spyOn(events, 'search').mockImplementation((tenantId, filter, limit, cursor, order) =>
    search(tenantId, filter, limit, cursor, order, -1),
  );
  const pages: EventPage[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: { [name: string]: string } = { session_id: 's0', ...(cursor === '' ? {} : { cursor }) };
    const body: EventPage = (await t.call('hostedSearchEvents', { query }, operator)).body;
    pages.push(body);
    cursor = body.next_cursor;
  }
  expect(pages[0]).toMatchObject({ events: [], has_more: true, next_offset: null });
  expect(pages.flatMap((page) => page.events.map(({ call_id }) => call_id))).toEqual(['c0']);
});

it('of events ends an answer at 4 MiB, and goes on by its cursor as by its offset', async () => {
  // Each field is short enough to be listed, all of them together are not.
  const fields = Object.fromEntries(
    ['reason', 'result_summary', 'error'].map((name) => [name, 'x'.repeat(2_000)]),
  );
  for (let part = 0; part < 6; part++) {
    const events = Array.from({ length: 115 }, (_, i) => ({
      ...fields,
      call_id: `c${part}-${i}`,
      agent_id: 'a',
      tool_name: 'read',
      action: 'call_allowed',
      timestamp: new Date(t.clock.now() - part * 1000 - i).toISOString(),
    }));
    await t.call('hostedIngestEvents', { body: { events } }, key);
  }
  const ids: string[] = [];
  const offsets: (number | null)[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: { [name: string]: string } = { limit: '1000', ...(cursor === '' ? {} : { cursor }) };
    const body: EventPage = (await t.call('hostedSearchEvents', { query }, operator)).body;
    expect(body.has_more).toBe(body.next_cursor !== null);
    ids.push(...body.events.map(({ id }) => id));
    offsets.push(body.next_offset);
    cursor = body.next_cursor;
  }
  expect(new Set(ids).size).toBe(690);
  expect(ids).toHaveLength(690);
  expect(offsets.length).toBeGreaterThan(1);
});
