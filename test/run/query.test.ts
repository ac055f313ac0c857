// Queries of runs: the whole grammar through the route, with the other filters, from page to page, and its mistakes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/http/contract/call.ts';
import { renderMicros } from '../../src/shared/instant.ts';
import { makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';

type HostedKey = Extract<Caller, { kind: 'hostedKey' }>;

let t: TestHub;
let user: UserCaller;
let viewer: OperatorCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  viewer = t.operator(user, 'viewer');
  for (const [session, agent, action, env] of runs) await report(session, agent, action, env);
});
afterEach(() => t.close());

const runs = [
  ['order-1', 'shop-1', 'call_allowed', 'production'],
  ['order-2', 'shop-1', 'call_blocked', 'production'],
  ['order-3', 'shop-2', 'call_blocked', 'staging'],
  ['ticket-4', 'ci-1', 'call_allowed', 'staging'],
] as const;

async function report(session: string, agent: string, action: string, env: 'production' | 'staging') {
  t.clock.advance(1_000);
  const key: HostedKey = { ...t.key(user, env), kind: 'hostedKey', agentId: agent } as HostedKey;
  const event = {
    call_id: session,
    agent_id: agent,
    session_id: session,
    tool_name: 'refund',
    tool_args: {},
  };
  const timestamp = renderMicros(t.clock.now());
  const body = { events: [{ ...event, action, mode: 'enforce', timestamp }] };
  expect((await t.call('hostedIngestEvents', { body }, key)).body).toMatchObject({ accepted: 1 });
}

const list = async (query: { readonly [name: string]: string | string[] }) =>
  (await t.call('hostedListRuns', { query: query as never }, viewer)).body;
const sessions = async (q: string, more: { readonly [name: string]: string | string[] } = {}) =>
  (await list({ q, ...more })).runs.map(({ session_id: id }) => id);

describe('a query of runs', () => {
  it.each([
    ['is:denied', ['order-3', 'order-2']],
    ['-is:denied', ['ticket-4', 'order-1']],
    ['is:(denied,running) env:staging', ['ticket-4', 'order-3']],
    ['agent:shop-1', ['order-2', 'order-1']],
    ['agent:shop-* -env:staging', ['order-2', 'order-1']],
    ['agent:(shop-2,ci-1)', ['ticket-4', 'order-3']],
    ['run:order-1', ['order-1']],
    ['run:order-* -run:order-2 is:denied', ['order-3']],
    ['ticket', ['ticket-4']],
    ['-order', ['ticket-4']],
    ['"op-1"', ['order-2', 'order-1']],
    ['env:development', []],
    ['is:denied is:running', []],
    ['agent:shop-1 agent:ci-1', []],
  ])('%s', async (q, expected) => {
    expect(await sessions(q)).toEqual(expected);
  });

  it('narrows together with the other filters', async () => {
    expect(await sessions('is:denied', { agent_id: 'shop-1' })).toEqual(['order-2']);
    expect(await sessions('agent:ci-1', { agent_id: 'shop-1' })).toEqual([]);
    expect(await sessions('order', { status: ['active'] })).toEqual(['order-1']);
    expect(await sessions('is:(denied,running)', { status: ['active'] })).toEqual(['ticket-4', 'order-1']);
  });

  it('counts where filters of the store answer it, and not where each run needs a look', async () => {
    expect((await list({ q: 'is:denied agent:shop-1' })).total).toBe(1);
    expect((await list({ q: 'agent:shop-*' })).total).toBeNull();
    expect((await list({})).total).toBe(4);
  });

  it('goes on by its cursor without gap or repeat', async () => {
    for (const q of ['is:(denied,running)', 'order']) {
      const pages: string[][] = [];
      let cursor: string | null = null;
      do {
        const page = await list({ q, limit: '1', ...(cursor === null ? {} : { cursor }) });
        expect(page.next_offset).toBeNull();
        pages.push(page.runs.map(({ session_id: id }) => id));
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(pages.flat()).toEqual(await sessions(q));
    }
  });

  it('is refused with the position of a mistake, and beside an offset', async () => {
    await expect(list({ q: 'agent:a nonsense:b' })).rejects.toMatchObject({
      code: 'validation_failed',
      message: expect.stringMatching(/position 8: expected a field \(is, agent, run, env\)/),
    });
    await expect(list({ q: 'agent:a', offset: '1' })).rejects.toMatchObject({ code: 'validation_failed' });
  });
});
