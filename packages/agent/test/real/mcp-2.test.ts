// Guarded tools of version 2 of the MCP SDK: every way to register and to serve them, and calls that ask their user.
// Each client reaches the server by HTTP requests in memory.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  acceptedContent,
  createMcpHandler,
  InMemoryTransport,
  inputRequired,
  McpServer,
  Server,
} from '@modelcontextprotocol/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Guard, guardServer, localApproval, systemClock } from '../../src/index.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { pay: { side_effect: irreversible }, query: { side_effect: read } }
contracts:
  - id: no-drop
    type: pre
    tool: "*"
    when: { args.sql: { matches: '(?i)\\bdrop\\b' } }
    then: { effect: deny, message: "tables stay" }
  - id: once
    type: session
    limits: { max_calls_per_tool: { pay: 1 } }
    then: { effect: deny, message: "one payment" }
  - id: large
    type: pre
    tool: pay
    when: { args.amount: { gt: 100 } }
    then: { effect: approve, message: "a large payment" }
  - id: numbers
    type: post
    tool: "*"
    when: { output.text: { matches: '\\d{3}-\\d{4}' } }
    then: { effect: redact, message: "numbers are hidden" }
`;
type Result = { readonly content?: readonly { readonly text?: string }[]; readonly requestState?: string };
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
const question = (message: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } },
  });

let guard: Guard;
let client: Client;
let payments: number[] = [];
let approvalCount = 0;

beforeEach(() => {
  payments = [];
  approvalCount = 0;
  guard = Guard.fromYaml(yaml, {
    openTelemetry: null,
    approvals: localApproval(async () => {
      approvalCount += 1;
      return { approved: true, decidedBy: 'ann' };
    }, systemClock),
  });
});
afterEach(() => client.close());

/** The server of each connection: a payment asks its user once, and says with which state it went on. */
const paymentServer = (): McpServer => {
  const server = guardServer(guard, new McpServer({ name: 'shop', version: '1.0.0' }));
  const inputSchema = z.object({ amount: z.coerce.number() });
  server.registerTool('pay', { inputSchema }, ({ amount }, { mcpReq }) => {
    const answer = acceptedContent<{ sure: boolean }>(mcpReq.inputResponses, 'sure');
    if (!answer)
      return inputRequired({
        inputRequests: { sure: question(`pay ${amount}?`) },
        requestState: `state of ${amount}`,
      });
    payments.push(amount);
    return text(`paid ${amount} with ${mcpReq.requestState()}`);
  });
  server.registerTool('query', { inputSchema: z.object({ sql: z.string() }) }, ({ sql }) =>
    text(`rows of ${sql}`),
  );
  server.registerTool('number', {}, () =>
    inputRequired({ inputRequests: { sure: question('call 555-1234?') }, requestState: '555-1234' }),
  );
  return server;
};

async function connect(factory: () => McpServer | Server): Promise<void> {
  const handler = createMcpHandler(factory, { onerror: () => {} });
  client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      inputRequired: { autoFulfill: false },
    },
  );
  const fetch = (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init));
  await client.connect(new StreamableHTTPClientTransport(new URL('http://shop.test/mcp'), { fetch }));
}
const call = (name: string, args: object, more: object = {}) =>
  client.request(
    { method: 'tools/call', params: { name, arguments: args, ...more } } as never,
    { allowInputRequired: true } as never,
  ) as Promise<Result>;
const yes = { sure: { action: 'accept', content: { sure: true } } };
const actions = () => guard.events.events.map(({ action }) => action);

describe('tools of an MCP server of SDK 2', () => {
  it('run when allowed, and answer a denial as an error the model can read', async () => {
    await connect(paymentServer);
    expect(await call('query', { sql: 'select 1' })).toMatchObject(text('rows of select 1'));
    expect(await call('query', { sql: 'DROP TABLE x' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Denied: tables stay' }],
    });
    expect(actions()).toEqual(['call_allowed', 'call_executed', 'call_denied']);
  });

  it('are governed after an update and a new name', async () => {
    await connect(() => {
      const server = guardServer(guard, new McpServer({ name: 'shop', version: '1.0.0' }));
      const tool = server.registerTool('first', { inputSchema: z.object({ sql: z.string() }) }, () =>
        text('first'),
      );
      tool.update({ name: 'second', callback: (args) => text(`second ${(args as { sql: string }).sql}`) });
      return server;
    });
    expect(await call('second', { sql: 'drop x' })).toMatchObject({ isError: true });
    expect(await call('second', { sql: 'y' })).toMatchObject(text('second y'));
    expect(guard.events.events.map(({ tool_name }) => tool_name)).toEqual(['second', 'second', 'second']);
  });

  it('of a low-level server are governed by the arguments that were sent', async () => {
    await connect(() => {
      const server = guardServer(
        guard,
        new Server({ name: 'shop', version: '1.0.0' }, { capabilities: { tools: {} } }),
      );
      server.setRequestHandler('tools/call', ({ params }) => text(`ran ${params.name}`));
      return server;
    });
    expect(await call('any', { sql: 'drop x' })).toMatchObject({ isError: true });
    expect(await call('any', { sql: 'x' })).toMatchObject(text('ran any'));
  });
});

describe('a tool that asks its user', () => {
  it('is one call with its retry: one count, one approval, one run of events', async () => {
    await connect(paymentServer);
    const first = await call('pay', { amount: 500 });
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { sure: {} } });
    expect(first.requestState).not.toContain('state of');
    expect(payments).toEqual([]);
    expect(actions()).toEqual(['call_approval_requested', 'call_approval_granted']);

    const retry = { inputResponses: yes, requestState: first.requestState };
    expect(await call('pay', { amount: 500 }, retry)).toMatchObject(text('paid 500 with state of 500'));
    expect(payments).toEqual([500]);
    expect(approvalCount).toBe(1);
    expect(actions()).toEqual(['call_approval_requested', 'call_approval_granted', 'call_executed']);
    const [requested, , executed] = guard.events.events;
    const facts = { call_id: requested?.call_id, call_index: 0, session_attempt_count: 1 };
    expect(executed).toMatchObject({ ...facts, rounds: 2 });
    expect(executed?.answers).toEqual([{ round: 2, answers: yes }]);

    expect(await call('pay', { amount: 50 })).toMatchObject({
      isError: true,
      ...text('Denied: one payment'),
    });
  });

  it('never goes on twice with one state', async () => {
    await connect(paymentServer);
    const { requestState } = await call('pay', { amount: 5 });
    const retry = { inputResponses: yes, requestState };
    await call('pay', { amount: 5 }, retry);
    await expect(call('pay', { amount: 5 }, retry)).rejects.toMatchObject({ code: -32_602 });
    expect(payments).toEqual([5]);
    expect(actions().filter((action) => action === 'call_executed')).toHaveLength(1);
  });

  it('goes on once where the state is sent twice at one moment', async () => {
    await connect(paymentServer);
    const { requestState } = await call('pay', { amount: 5 });
    const retry = { inputResponses: yes, requestState };
    const answers = await Promise.allSettled([1, 2, 3].map(() => call('pay', { amount: 5 }, retry)));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(payments).toEqual([5]);
  });

  it.each([
    ['other arguments', (state: string) => ({ args: { amount: 6 }, state })],
    ['a forged state', (state: string) => ({ args: { amount: 5 }, state: `${state.slice(0, -4)}AAAA` })],
    ['no state', () => ({ args: { amount: 5 }, state: undefined })],
    ['an empty state', () => ({ args: { amount: 5 }, state: '' })],
  ])('is refused with %s, and nothing runs', async (_name, change) => {
    await connect(paymentServer);
    const { requestState = '' } = await call('pay', { amount: 5 });
    const { args, state } = change(requestState);
    const more = { inputResponses: yes, ...(state === undefined ? {} : { requestState: state }) };
    await expect(call('pay', args, more)).rejects.toMatchObject({ code: -32_602 });
    expect(payments).toEqual([]);
    expect(guard.events.events.at(-1)).toMatchObject({
      action: 'call_denied',
      decision_name: 'request_state',
    });
    // The state was not used.
    await call('pay', { amount: 5 }, { inputResponses: yes, requestState });
    expect(payments).toEqual([5]);
  });

  it('is refused by contracts that came between its rounds', async () => {
    await connect(paymentServer);
    const { requestState } = await call('pay', { amount: 5 });
    guard.reload(
      yaml.replace('gt: 100 } }\n    then: { effect: approve', 'gt: 1 } }\n    then: { effect: deny'),
    );
    expect(await call('pay', { amount: 5 }, { inputResponses: yes, requestState })).toMatchObject({
      isError: true,
      ...text('Denied: a large payment'),
    });
    expect(payments).toEqual([]);
    expect(guard.events.events.at(-1)).toMatchObject({
      action: 'call_denied',
      follows_decision: true,
      rounds: 2,
    });
  });

  it('asks a client of an older revision itself, as one call', async () => {
    client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler('elicitation/create', () => yes.sure as never);
    const [mine, theirs] = InMemoryTransport.createLinkedPair();
    await Promise.all([paymentServer().connect(theirs), client.connect(mine)]);
    expect(await client.callTool({ name: 'pay', arguments: { amount: 5 } })).toMatchObject(
      text('paid 5 with state of 5'),
    );
    expect(payments).toEqual([5]);
    expect(actions()).toEqual(['call_allowed', 'call_executed']);
    expect(guard.events.events.at(-1)).toMatchObject({ rounds: 2, session_execution_count: 1 });
  });

  it('has its question judged as a result', async () => {
    await connect(paymentServer);
    const answer = await call('number', {});
    expect(answer).toMatchObject({ isError: true });
    expect(JSON.stringify(answer)).not.toContain('555-1234');
    expect(actions()).toEqual(['call_allowed', 'call_executed']);
  });
});
