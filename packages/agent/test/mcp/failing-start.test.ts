// Requests of clients of 2026-07-28 that share a listener, at a server that ends before it answers.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { McpListener } from '../../src/cli/mcp/listener.ts';
import { systemClock } from '../../src/clock.ts';
import { Guard } from '../../src/index.ts';
import { type Json, noEnv, plainParts, rules } from './setting.ts';

let guard: Guard;
let listener: McpListener;
let url = '';
beforeEach(async () => {
  guard = Guard.fromYaml(rules(noEnv), { openTelemetry: null });
  listener = new McpListener(
    {
      ...plainParts(guard, systemClock),
      connect: (events) => ({
        send: () => queueMicrotask(() => events.ended('ended (exit code 3)')),
        close: async () => {},
      }),
    },
    { host: '127.0.0.1', port: 0, token: null },
  );
  url = `http://127.0.0.1:${await listener.start()}/mcp`;
});
afterEach(async () => {
  await listener.close();
  await guard.close();
});

async function answerTo(method: string, params: Json): Promise<Json> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(typeof params.name === 'string' ? { 'Mcp-Name': params.name } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } }),
    signal: AbortSignal.timeout(5000),
  });
  return (await response.json()) as Json;
}

it.each([
  ['tools/list', {}],
  ['tools/call', { name: 'read', arguments: {} }],
])('%s gets the reason each time, and no call is recorded as allowed', async (method, params) => {
  const error = { code: -32_000, message: 'the MCP server ended (exit code 3)' };
  expect(await answerTo(method, params)).toEqual({ jsonrpc: '2.0', id: 7, error });
  expect(await answerTo(method, params)).toEqual({ jsonrpc: '2.0', id: 7, error });
  expect(guard.events.events).toEqual([]);
});
