// Which session counts the calls of clients that share a listener, and how long their sessions at a legacy server last.
import { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { McpListener } from '../../src/cli/mcp/listener.ts';
import { remoteServer } from '../../src/cli/mcp/remote.ts';
import { Guard } from '../../src/index.ts';
import { ManualClock } from '../manual-clock.ts';
import { legacyHttp, legacyServer, type RunningServer, ServerLog } from './pair-servers.ts';
import { type Json, plainParts, rules } from './setting.ts';

const twice =
  '{ id: twice, type: session, limits: { max_calls_per_tool: { read: 2 } }, then: { effect: deny, message: "twice" } }';
const log = new ServerLog();
/** Sessions at the server, and the one that only learnt the revision. */
let begun = 0;
let server: RunningServer & { readonly connect: { readonly url: string } };
let listener: McpListener;
let clock: ManualClock;
let url = '';
let guard: Guard;
beforeAll(async () => {
  server = await legacyHttp(() => {
    begun += 1;
    return legacyServer(log);
  });
});
afterEach(async () => {
  await listener.close();
  await guard.close();
});
afterAll(() => server.close());

async function listen(sessionMeta?: string): Promise<void> {
  begun = 0;
  clock = new ManualClock();
  guard = Guard.fromYaml(rules(twice), { openTelemetry: null, onFindings: null });
  listener = new McpListener(
    {
      ...plainParts(guard, clock),
      ...{ isRemote: true, sessionMeta },
      connect: remoteServer({ url: server.connect.url, headers: {}, clock }),
    },
    { host: '127.0.0.1', port: 0, token: null },
  );
  url = `http://127.0.0.1:${await listener.start()}/mcp`;
}

/** True if the call ran. */
async function read(session?: string): Promise<boolean> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(session === undefined ? {} : { 'example.com/session': session }),
  };
  const params = { name: 'read', arguments: { path: 'notes' }, _meta };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'read',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const { result } = (await response.json()) as { result: Json };
  expect(result).toHaveProperty('content');
  return result.isError !== true;
}

describe('clients that share a listener', () => {
  it('are one session, whatever they say', async () => {
    await listen();
    expect([await read('a'), await read('b'), await read('c')]).toEqual([true, true, false]);
    expect(begun).toBe(2);
  });

  it('are the sessions that they name, where the operator names the member', async () => {
    await listen('example.com/session');
    expect([await read('a'), await read('a'), await read('a')]).toEqual([true, true, false]);
    expect([await read('b'), await read(), await read('two\nlines'), await read()]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(guard.events.events.map(({ run_id }) => run_id)).toEqual(
      expect.arrayContaining(['a', 'b', guard.sessionId]),
    );
    // Each has its own at the server.
    expect(begun).toBe(4);
  });

  it('get a new session at the server after ten minutes without a request', async () => {
    await listen();
    await read();
    for (let i = 0; i < 9; i++) clock.advance(60_000);
    await read();
    expect(begun).toBe(2);
    for (let i = 0; i < 12; i++) clock.advance(60_000);
    await read();
    expect(begun).toBe(3);
  });
});

describe('a stream to an agent of an earlier revision', () => {
  /** Makes a session. @returns a function that opens its stream for what belongs to no request */
  async function openStreams(signal: AbortSignal): Promise<() => Promise<Response>> {
    await listen();
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    const capabilities = { protocolVersion: '2025-11-25', capabilities: {} };
    const params = { ...capabilities, clientInfo: { name: 'old', version: '1' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    const greeting = await fetch(url, { method: 'POST', headers, body });
    await greeting.text();
    const session = { 'Mcp-Session-Id': greeting.headers.get('mcp-session-id') ?? '' };
    return () => fetch(url, { headers: { ...session, Accept: 'text/event-stream' }, signal });
  }

  it('carries a sign of life, so that a machine that vanished does not keep its session', async () => {
    const stop = new AbortController();
    const open = await openStreams(stop.signal);
    const stream = await open();
    const reader = stream.body?.getReader();
    const next = async () => Buffer.from((await reader?.read())?.value ?? []).toString();
    for (let turn = 0; turn < 2; turn++) {
      clock.advance(15_000);
      expect(await next()).toBe(': keepalive\n\n');
    }
    stop.abort();
  });

  it('carries none after its end, even while its reader has not taken the rest', async () => {
    const stop = new AbortController();
    const open = await openStreams(stop.signal);
    const errors: unknown[] = [];
    const { emit } = ServerResponse.prototype;
    // An ended response finishes, and closes, only once its bytes are read.
    const spy = vi.spyOn(ServerResponse.prototype, 'emit').mockImplementation(function (
      this: ServerResponse,
      ...[name, ...values]: Parameters<typeof emit>
    ) {
      if (name === 'error') errors.push(values[0]);
      return name === 'finish' || name === 'error' ? true : emit.call(this, name, ...values);
    });
    try {
      const first = await open();
      await open();
      await first.text();
      clock.advance(15_000);
      await new Promise((resolve) => setImmediate(resolve));
      expect(errors).toEqual([]);
    } finally {
      stop.abort();
      spy.mockRestore();
    }
  });
});
