// Guarded tools of the real MCP SDK: every way in that its API offers, called by its client over its own in-memory
// transport.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Protocol } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Guard, guardServer } from '../../src/index.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { query: { side_effect: read }, lookup: { side_effect: read } }
contracts:
  - id: no-drop
    type: pre
    tool: "*"
    when: { args.sql: { matches: '(?i)\\bdrop\\b' } }
    then: { effect: deny, message: "tables stay" }
  - id: no-delete
    type: pre
    tool: delete
    when: { tool.name: { equals: delete } }
    then: { effect: deny, message: "nothing is deleted" }
  - id: numbers
    type: post
    tool: "*"
    when: { output.text: { matches: '\\d{3}-\\d{4}' } }
    then: { effect: redact, message: "numbers are hidden" }
`;
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
const denied = { isError: true, content: [{ type: 'text', text: 'Denied: tables stay' }] };

let guard: Guard;
let server: McpServer;
let client: Client;
/** Programs that ran, in spite of everything. */
let ran: string[] = [];

beforeEach(() => {
  guard = Guard.fromYaml(yaml, { openTelemetry: null });
  server = guardServer(guard, new McpServer({ name: 'test', version: '1.0.0' }));
  client = new Client({ name: 'test', version: '1.0.0' });
  ran = [];
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const connect = async (to: { connect(transport: InMemoryTransport): Promise<void> } = server) => {
  const [mine, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([to.connect(theirs), client.connect(mine)]);
};
const call = (name: string, args: { [name: string]: unknown } = {}) =>
  client.callTool({ name, arguments: args });
const query = async ({ sql }: { sql: string }) => {
  ran.push(sql);
  return text(`rows of ${sql}`);
};
const shape = { sql: z.string() };

describe('tools of an MCP server', () => {
  it('run when allowed, and answer a denial as an error the model can read', async () => {
    server.registerTool('query', { description: 'asks', inputSchema: shape }, query);
    await connect();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['query']);
    expect(await call('query', { sql: 'select 1' })).toMatchObject(text('rows of select 1'));
    expect(await call('query', { sql: 'DROP TABLE x' })).toMatchObject(denied);
    expect(ran).toEqual(['select 1']);
    expect(guard.events.events.map(({ action }) => action)).toEqual([
      'call_allowed',
      'call_executed',
      'call_denied',
    ]);
  });

  it('are judged by the arguments that their schema has read, once', async () => {
    const inputSchema = { sql: z.string().default('drop it') };
    server.registerTool('query', { inputSchema }, query);
    await connect();
    expect(await call('query')).toMatchObject(denied);
    expect(guard.events.last().session_attempt_count).toBe(1);
    expect(ran).toEqual([]);
  });

  it('run without input, and get the SDK’s own extra', async () => {
    server.registerTool('ping', {}, async (extra) => text(`pong ${typeof extra.requestId}`));
    await connect();
    expect(await call('ping')).toMatchObject(text('pong number'));
  });

  it('hide text and structured content that a contract redacts, also from the SDK’s check of the output', async () => {
    server.registerTool('lookup', { inputSchema: {}, outputSchema: { phone: z.string() } }, async () => ({
      ...text('555-1234'),
      structuredContent: { phone: '555-1234' },
    }));
    await connect();
    const answer = await call('lookup');
    expect(JSON.stringify(answer)).toContain('[REDACTED]');
    expect(JSON.stringify(answer)).not.toContain('555-1234');
  });

  it('count as failed when they answer with isError, or throw', async () => {
    server.registerTool('query', {}, async () => ({ ...text('no'), isError: true }));
    server.registerTool('lookup', {}, async () => {
      throw new Error('call 555-1234');
    });
    await connect();
    await call('query');
    expect(guard.events.last()).toMatchObject({ action: 'call_failed', tool_success: false });
    expect(await call('lookup')).toMatchObject({ isError: true, ...text('call [REDACTED]') });
  });
});

/** Ways in of each class of the SDK. Whatever else it offers cannot make a tool, and is named below. */
const waysIn: { readonly [method: string]: (sql: string) => Promise<unknown> } = {
  async 'McpServer.registerTool'(sql) {
    server.registerTool('query', { inputSchema: shape }, query);
    await connect();
    return call('query', { sql });
  },
  async 'McpServer.tool'(sql) {
    server.tool('query', 'asks', shape, query);
    await connect();
    return call('query', { sql });
  },
  async 'Server.setRequestHandler'(sql) {
    server.server.registerCapabilities({ tools: {} });
    server.server.setRequestHandler(CallToolRequestSchema, (request) =>
      query(request.params.arguments as never),
    );
    await connect();
    return call('query', { sql });
  },
  async 'Protocol.setRequestHandler'(sql) {
    server.server.registerCapabilities({ tools: {} });
    const borrowed = Protocol.prototype.setRequestHandler as (...given: unknown[]) => void;
    borrowed.call(server.server, CallToolRequestSchema, (request: { params: { arguments: never } }) =>
      query(request.params.arguments),
    );
    await connect();
    return client.request(
      { method: 'tools/call', params: { name: 'query', arguments: { sql } } },
      z.looseObject({}),
    );
  },
  async 'Protocol.fallbackRequestHandler'(sql) {
    server.server.fallbackRequestHandler = async (request) =>
      request.method === 'tools/call' ? query((request.params as { arguments: never }).arguments) : {};
    await connect();
    return client.request(
      { method: 'tools/call', params: { name: 'query', arguments: { sql } } },
      z.looseObject({}),
    );
  },
  async 'RegisteredTool.update'(sql) {
    const tool = server.registerTool('query', { inputSchema: shape }, async () => text('old'));
    tool.update({ callback: query as never });
    await connect();
    return call('query', { sql });
  },
  async 'RegisteredTool.handler'(sql) {
    const tool = server.registerTool('query', { inputSchema: shape }, async () => text('old'));
    tool.handler = query as never;
    await connect();
    return call('query', { sql });
  },
  async 'RegisteredTool.handler, called in this process'(sql) {
    const tool = server.registerTool('query', { inputSchema: shape }, query);
    return (tool.handler as unknown as (...given: unknown[]) => Promise<unknown>)({ sql }, {});
  },
  async 'a tool registered while a client is connected'(sql) {
    server.registerTool('ping', {}, async () => text('pong'));
    await connect();
    server.registerTool('query', { inputSchema: shape }, query);
    return call('query', { sql });
  },
  async 'a tool put where the SDK keeps its own'(sql) {
    server.registerTool('ping', {}, async () => text('pong'));
    const inner = server as unknown as { _createRegisteredTool(...given: unknown[]): unknown };
    inner._createRegisteredTool('query', '', '', shape, undefined, undefined, {}, undefined, query);
    await connect();
    return call('query', { sql });
  },
  async 'another handler of tools/call beside registered tools'(sql) {
    server.registerTool('query', { inputSchema: shape }, async () => text('old'));
    server.server.setRequestHandler(CallToolRequestSchema, (request) =>
      query(request.params.arguments as never),
    );
    await connect();
    return call('query', { sql });
  },
};

describe('every way in', () => {
  it.each(Object.entries(waysIn))('%s is governed', async (_name, run) => {
    expect(await run('drop it')).toMatchObject(denied);
    expect(ran).toEqual([]);
    expect(guard.events.events.map(({ action }) => action)).toEqual(['call_denied']);
  });

  it.each(Object.entries(waysIn))('%s runs what is allowed', async (_name, run) => {
    expect(await run('select 1')).toMatchObject(text('rows of select 1'));
    expect(guard.events.filter('call_executed')).toHaveLength(1);
  });

  it('is known: the classes of the SDK offer nothing else', () => {
    const methods = (from: object) =>
      Object.getOwnPropertyNames(from).filter((name) => !name.startsWith('_'));
    const known = (name: string) => Object.keys(waysIn).filter((way) => way.startsWith(`${name}.`));
    const offered = {
      McpServer: methods(McpServer.prototype),
      Server: methods(Server.prototype),
      Protocol: methods(Protocol.prototype),
      tasks: methods(Object.getPrototypeOf(server.experimental.tasks)),
      lowTasks: methods(Object.getPrototypeOf(server.server.experimental.tasks)),
    };
    const ways = [...known('McpServer'), ...known('Server'), ...known('Protocol')].map(
      (way) => way.split('.')[1],
    );
    const rest = Object.entries(offered).map(([name, list]) => [
      name,
      list.filter((method) => !ways.includes(method)).sort(),
    ]);
    // A new version of the SDK that offers more has to be looked at.
    expect(Object.fromEntries(rest)).toEqual(harmless);
  });

  it('refuses tools that run as tasks', async () => {
    const task = { createTask: () => {}, getTask: () => {}, getTaskResult: () => {} };
    expect(() =>
      server.experimental.tasks.registerToolTask('slow', { execution: {} } as never, task as never),
    ).toThrow('run as tasks');
    server.server.registerCapabilities({ tasks: { requests: { tools: { call: {} } } } });
    const tool = server.registerTool('query', { inputSchema: shape }, query);
    expect(() => tool.update({ callback: task as never })).toThrow('must be a function');
    await connect();
    const asTask = { name: 'query', arguments: { sql: 'select' }, task: { ttl: 1000 } };
    await expect(client.request({ method: 'tools/call', params: asTask }, z.looseObject({}))).rejects.toThrow(
      'does not run tools as tasks',
    );
    expect(ran).toEqual([]);
  });

  it('is judged under the name that is called, also after a tool was renamed', async () => {
    server.registerTool('query', { inputSchema: shape }, query).update({ name: 'delete' });
    await connect();
    expect(await call('delete', { sql: 'select' })).toMatchObject(text('Denied: nothing is deleted'));
    expect(ran).toEqual([]);
  });
});

/** Requests that make no tool and run none. */
const harmless = {
  McpServer: [
    'close',
    'connect',
    'constructor',
    'createToolError',
    'executeToolHandler',
    'experimental',
    'handleAutomaticTaskPolling',
    'handlePromptCompletion',
    'handleResourceCompletion',
    'isConnected',
    'prompt',
    'registerPrompt',
    'registerResource',
    'resource',
    'sendLoggingMessage',
    'sendPromptListChanged',
    'sendResourceListChanged',
    'sendToolListChanged',
    'setCompletionRequestHandler',
    'setPromptRequestHandlers',
    'setResourceRequestHandlers',
    'setToolRequestHandlers',
    'validateToolInput',
    'validateToolOutput',
  ],
  Server: [
    'assertCapabilityForMethod',
    'assertNotificationCapability',
    'assertRequestHandlerCapability',
    'assertTaskCapability',
    'assertTaskHandlerCapability',
    'constructor',
    'createElicitationCompletionNotifier',
    'createMessage',
    'elicitInput',
    'experimental',
    'getCapabilities',
    'getClientCapabilities',
    'getClientVersion',
    'listRoots',
    'ping',
    'registerCapabilities',
    'sendLoggingMessage',
    'sendPromptListChanged',
    'sendResourceListChanged',
    'sendResourceUpdated',
    'sendToolListChanged',
  ],
  Protocol: [
    'assertCanSetRequestHandler',
    'cancelTask',
    'close',
    'connect',
    'constructor',
    'getTask',
    'getTaskResult',
    'listTasks',
    'notification',
    'removeNotificationHandler',
    'removeRequestHandler',
    'request',
    'requestStream',
    'requestTaskStore',
    'setNotificationHandler',
    'transport',
  ],
  tasks: ['constructor', 'registerToolTask'],
  lowTasks: [
    'cancelTask',
    'constructor',
    'createMessageStream',
    'elicitInputStream',
    'getTask',
    'getTaskResult',
    'listTasks',
    'requestStream',
  ],
};

describe('guarding a server', () => {
  it('takes a low-level server, whose handler may be there already', async () => {
    const low = new Server({ name: 'low', version: '1.0.0' }, { capabilities: { tools: {} } });
    low.setRequestHandler(CallToolRequestSchema, async (request) => query(request.params.arguments as never));
    expect(guardServer(guard, low)).toBe(low);
    await connect(low);
    expect(await call('query', { sql: 'drop' })).toMatchObject(denied);
    expect(await call('query', { sql: 'select' })).toMatchObject(text('rows of select'));
    await low.close();
  });

  it('refuses a server that it could not govern whole', () => {
    const late = new McpServer({ name: 'late', version: '1.0.0' });
    late.registerTool('query', { inputSchema: shape }, query);
    expect(() => guardServer(guard, late)).toThrow('before you register its first tool');
    const early = new McpServer({ name: 'x', version: '1' }, { capabilities: { tools: {} } });
    expect(() => guardServer(guard, early)).toThrow('omit `tools` from its capabilities');
    expect(() => guardServer(guard, server)).toThrow('already has a guard');
    expect(() => guardServer(guard, { registerTool: () => {} })).toThrow('needs an McpServer');
  });

  it('takes options per call, made from arguments and extra', async () => {
    const other = new McpServer({ name: 'other', version: '1.0.0' });
    const given: unknown[] = [];
    guardServer(guard, other, {
      call: (args, extra) => {
        given.push(args, typeof (extra as { requestId: unknown }).requestId);
        return { principal: { role: 'intern' } };
      },
    }).registerTool('query', { inputSchema: shape }, async () => text('x'));
    await connect(other);
    await call('query', { sql: 'select' });
    expect(given).toEqual([{ sql: 'select' }, 'number']);
    expect(guard.events.last().principal?.role).toBe('intern');
    await other.close();
  });
});
