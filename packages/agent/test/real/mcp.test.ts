// Guarded tools of the real MCP SDK: registered on its server, called by its client over its own in-memory transport.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
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
    tool: query
    when: { args.sql: { matches: '(?i)\\bdrop\\b' } }
    then: { effect: deny, message: "tables stay" }
  - id: numbers
    type: post
    tool: "*"
    when: { output.text: { matches: '\\d{3}-\\d{4}' } }
    then: { effect: redact, message: "numbers are hidden" }
`;

let guard: Guard;
let server: McpServer;
let client: Client;

beforeEach(async () => {
  guard = Guard.fromYaml(yaml, { openTelemetry: null });
  server = new McpServer({ name: 'test', version: '1.0.0' });
  client = new Client({ name: 'test', version: '1.0.0' });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const connect = async (): Promise<void> => {
  const [mine, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(mine)]);
};
const call = (name: string, args: { [name: string]: unknown } = {}) =>
  client.callTool({ name, arguments: args });

describe('tools of an MCP server', () => {
  it('run when allowed, and answer a denial as an error the model can read', async () => {
    const ran: string[] = [];
    guardServer(guard, server).registerTool(
      'query',
      { description: 'asks', inputSchema: { sql: z.string() } },
      async ({ sql }) => {
        ran.push(sql);
        return { content: [{ type: 'text', text: `rows of ${sql}` }] };
      },
    );
    await connect();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['query']);
    expect(await call('query', { sql: 'select 1' })).toMatchObject({
      content: [{ type: 'text', text: 'rows of select 1' }],
    });
    expect(await call('query', { sql: 'DROP TABLE x' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Denied: tables stay' }],
    });
    expect(ran).toEqual(['select 1']);
    expect(guard.events.events.map(({ action }) => action)).toEqual([
      'call_allowed',
      'call_executed',
      'call_denied',
    ]);
  });

  it('run without input, get the SDK’s own extra, and stay governed when updated', async () => {
    const tool = guardServer(guard, server).registerTool('ping', { description: 'pings' }, async (extra) => ({
      content: [{ type: 'text', text: `pong ${typeof extra.requestId}` }],
    }));
    await connect();
    expect(await call('ping')).toMatchObject({ content: [{ text: 'pong number' }] });
    tool.update({ callback: async () => ({ content: [{ type: 'text', text: 'call 555-1234' }] }) });
    await call('ping');
    expect(guard.events.filter('call_executed')).toHaveLength(2);
    expect(guard.events.last().postconditions_passed).toBe(false);
  });

  it('hide text and structured content that a contract redacts, also from the SDK’s check of the output', async () => {
    guardServer(guard, server).registerTool(
      'lookup',
      { description: 'looks up', inputSchema: {}, outputSchema: { phone: z.string() } },
      async () => ({
        content: [{ type: 'text', text: '555-1234' }],
        structuredContent: { phone: '555-1234' },
      }),
    );
    await connect();
    const answer = await call('lookup');
    expect(JSON.stringify(answer)).toContain('[REDACTED]');
    expect(JSON.stringify(answer)).not.toContain('555-1234');
  });
});
