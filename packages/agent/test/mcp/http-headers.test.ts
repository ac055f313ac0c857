// Requests of revision 2026-07-28 over HTTP whose headers, version, method, origin or body are not right, and what
// reaches the server of those that are.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { decodeHeader, encodeHeader } from '../../src/cli/mcp/headers.ts';
import { McpListener } from '../../src/cli/mcp/listener.ts';
import { remoteServer } from '../../src/cli/mcp/remote.ts';
import { systemClock } from '../../src/clock.ts';
import { Guard } from '../../src/index.ts';
import { until } from '../manual-clock.ts';
import { type Json, noEnv, plainParts, rules } from './setting.ts';

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tester', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const inputSchema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    place: { type: 'object', properties: { floor: { type: 'integer', 'x-mcp-header': 'Floor' } } },
  },
};

/** The request at the server: its headers and the body. */
const atServer: { readonly headers: Json; readonly body: Json }[] = [];
let closedStreams = 0;
/** Time of the server for its list of tools; milliseconds. */
let listMs = 0;
const server = createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as Json;
  atServer.push({ headers: request.headers as Json, body });
  const results: { [method: string]: object } = {
    'server/discover': {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      ttlMs: 0,
      cacheScope: 'public',
    },
    'tools/list': { tools: [{ name: 'find', inputSchema }], ttlMs: 0, cacheScope: 'public' },
    'tools/call': { content: [{ type: 'text', text: 'found' }] },
  };
  if (body.method === 'tools/list') await delay(listMs);
  const result = results[String(body.method)];
  if (JSON.stringify(body).includes('forever')) {
    response.once('close', () => {
      closedStreams += 1;
    });
    return void response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
  }
  const answer = result
    ? { result: { resultType: 'complete', ...result } }
    : { error: { code: -32_601, message: 'Method not found' } };
  response.writeHead(result ? 200 : 404, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, ...answer }));
});

const guard = Guard.fromYaml(rules(noEnv), { openTelemetry: null });
let listener: McpListener;
let url = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  listener = new McpListener(
    {
      ...plainParts(guard, systemClock),
      connect: remoteServer({ url: upstream, headers: { 'mcp-name': 'forged' }, clock: systemClock }),
    },
    { host: '127.0.0.1', port: 0, token: null },
  );
  url = `http://127.0.0.1:${await listener.start()}/mcp`;
});
afterAll(async () => {
  await listener.close();
  server.closeAllConnections();
  server.close();
  await guard.close();
});
beforeEach(() => {
  atServer.length = 0;
});

const headersOf = (method: string, name?: string) => ({
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': method,
  ...(name === undefined ? {} : { 'Mcp-Name': name }),
});

async function post(method: string, params: Json, headers: { [name: string]: string }) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { _meta: meta, ...params } });
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, answer: (await response.json()) as Json };
}
const find = { name: 'find', arguments: { region: 'Zürich', place: { floor: 3 } } };
const findHeaders = {
  ...headersOf('tools/call', 'find'),
  'Mcp-Param-Region': encodeHeader('Zürich'),
  'Mcp-Param-Floor': '3',
};
const calls = () => atServer.filter(({ body }) => body.method === 'tools/call');

describe('the headers of a request', () => {
  it('are those of the body, and are written anew towards the server', async () => {
    const { status, answer } = await post('tools/call', find, findHeaders);
    expect([status, answer.id, answer.result]).toEqual([
      200,
      7,
      expect.objectContaining({ resultType: 'complete' }),
    ]);
    expect(calls()).toHaveLength(1);
    expect(calls()[0]?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'find',
      'mcp-param-region': encodeHeader('Zürich'),
      'mcp-param-floor': '3',
    });
  });

  it.each([
    ['another method', { 'Mcp-Method': 'tools/list' }],
    ['another name', { 'Mcp-Name': 'lose' }],
    ['another argument', { 'Mcp-Param-Region': 'Bern' }],
    ['an argument in broken base64', { 'Mcp-Param-Region': '=?base64?Wsx=x?=' }],
    ['another number', { 'Mcp-Param-Floor': '4' }],
    ['another version', { 'MCP-Protocol-Version': '2025-11-25' }],
  ])('that name %s are refused, and nothing runs', async (_, headers) => {
    const { status, answer } = await post('tools/call', find, { ...findHeaders, ...headers });
    expect([status, (answer.error as Json).code, answer.id]).toEqual([400, -32_020, 7]);
    expect(calls()).toEqual([]);
  });

  it.each(['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version', 'Mcp-Param-Region'])(
    'without %s are refused',
    async (name) => {
      const { [name]: _, ...headers } = findHeaders as { [name: string]: string };
      const { status, answer } = await post('tools/call', find, headers);
      expect([status, (answer.error as Json).code]).toEqual([400, -32_020]);
      expect(calls()).toEqual([]);
    },
  );

  it('that are wrong are refused by the status also where the list of tools takes longer than a stream waits', async () => {
    listMs = 2_200;
    const { status } = await post('tools/call', find, { ...findHeaders, 'Mcp-Param-Floor': '4' });
    listMs = 0;
    expect([status, calls()]).toEqual([400, []]);
  });

  it('may write a number in another way', async () => {
    expect((await post('tools/call', find, { ...findHeaders, 'Mcp-Param-Floor': '3.0' })).status).toBe(200);
  });

  it.each(['plain', ' padded ', 'Zürich', '', '=?base64?x?=', 'two\nlines'])('carry %j', (text) => {
    expect(decodeHeader(encodeHeader(text))).toBe(text);
    expect(encodeHeader(text)).toMatch(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/);
  });

  it('are read once, whatever blanks are in them', () => {
    const value = `a${' '.repeat(200_000)}b`;
    const start = performance.now();
    expect(decodeHeader(` \t${value}\t `)).toBe(value);
    // This took half a minute while each blank was tried as the first of those at the end.
    expect(performance.now() - start).toBeLessThan(3_000);
  });
});

describe('a request', () => {
  it('of an unknown version is refused with those that are served', async () => {
    const _meta = { ...meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const headers = { ...headersOf('tools/list'), 'MCP-Protocol-Version': '2099-01-01' };
    const { status, answer } = await post('tools/list', { _meta }, headers);
    expect([status, answer.error]).toMatchObject([
      400,
      { code: -32_022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } },
    ]);
    expect(atServer.filter(({ body }) => body.method === 'tools/list' && body.id === 7)).toEqual([]);
  });

  it('with an unknown method is answered 404', async () => {
    const { status, answer } = await post('tools/unknown', {}, headersOf('tools/unknown'));
    expect([status, (answer.error as Json).code, answer.id]).toEqual([404, -32_601, 7]);
  });

  it('without the members that say who asks is refused', async () => {
    const { status, answer } = await post('tools/list', { _meta: {} }, headersOf('tools/list'));
    expect([status, (answer.error as Json).code]).toEqual([400, -32_602]);
  });

  it('that is no JSON is refused', async () => {
    const headers = headersOf('tools/list');
    expect((await fetch(url, { method: 'POST', headers, body: '{' })).status).toBe(400);
    const plain = { ...headers, 'Content-Type': 'text/plain' };
    expect((await post('tools/list', {}, plain)).status).toBe(415);
  });

  it('of a foreign page is refused', async () => {
    const { status } = await post(
      'tools/list',
      {},
      { ...headersOf('tools/list'), Origin: 'https://evil.example' },
    );
    expect(status).toBe(403);
    expect(atServer).toEqual([]);
  });

  it('ends at the server when its response stream is closed', async () => {
    const left = new AbortController();
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 8,
      method: 'tools/call',
      params: { name: 'find', arguments: { city: 'forever' }, _meta: meta },
    });
    const headers = headersOf('tools/call', 'find');
    const sent = fetch(url, { method: 'POST', headers, body, signal: left.signal }).then(
      () => {},
      () => {},
    );
    await until(() => calls().length === 1, 'the call', 10_000);
    left.abort();
    await until(() => closedStreams === 1, 'the closed stream', 10_000);
    await sent;
  });

  it('hands its trace on, without malformed members', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const trace = { traceparent, tracestate: 'vendor=1', baggage: 'user=7' };
    await post('tools/call', { ...find, _meta: { ...meta, ...trace } }, findHeaders);
    const broken = { ...trace, traceparent: '00-00000000000000000000000000000000-b7ad6b7169203331-01' };
    await post('tools/call', { ...find, _meta: { ...meta, ...broken } }, findHeaders);
    await post('tools/list', { _meta: { ...meta, ...broken } }, headersOf('tools/list'));
    const [whole, call, list] = atServer
      .filter(({ body }) => String(body.id).startsWith('http:'))
      .map(({ body }) => (body.params as Json)._meta as Json);
    expect(whole).toMatchObject(trace);
    const traces = guard.events.events.slice(-4).map(({ trace_id }) => trace_id);
    expect(traces).toEqual([...Array(2).fill(traceparent.slice(3, 35)), undefined, undefined]);
    for (const one of [call, list]) {
      expect(one).toMatchObject({ baggage: 'user=7' });
      expect(one).not.toHaveProperty('traceparent');
      expect(one).not.toHaveProperty('tracestate');
    }
  });
});
