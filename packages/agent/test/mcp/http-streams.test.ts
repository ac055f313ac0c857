// Streams of a listener to its clients: large results, slow readers, and requests that nobody waits for any more.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endResponse, streamKeeper, writeMessage } from '../../src/cli/mcp/event-stream.ts';
import { McpListener } from '../../src/cli/mcp/listener.ts';
import type { Id, Message } from '../../src/cli/mcp/message.ts';
import { Guard } from '../../src/index.ts';
import { ManualClock, until } from '../manual-clock.ts';
import { type Json, noEnv, plainParts, rules } from './setting.ts';

const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 's', version: '1' },
};
const discovery = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
const megabyte = 1_048_576;

let clock: ManualClock;
let guard: Guard;
let listener: McpListener;
let url = '';
/** Messages at the servers. */
let atServers: Message[];
/** Servers that were closed. */
let closed = 0;
/** Answers the last call. */
let answer: (result: Json) => void;
let isModern = false;

beforeEach(async () => {
  clock = new ManualClock();
  guard = Guard.fromYaml(rules(noEnv), { openTelemetry: null });
  atServers = [];
  closed = 0;
  listener = new McpListener(
    {
      ...plainParts(guard, clock),
      connect: ({ message: toProxy }) => ({
        send: (message) => {
          atServers.push(message);
          if (message.kind !== 'request') return;
          const { id, method } = message;
          const respond = (result: Json) => toProxy({ kind: 'response', id, result });
          if (method === 'tools/call' || method === 'resources/list') answer = respond;
          else if (method === 'tools/list') queueMicrotask(() => respond({ tools: [] }));
          else if (method === (isModern ? 'server/discover' : 'initialize'))
            queueMicrotask(() => respond(isModern ? discovery : introduction));
        },
        close: async () => {
          closed += 1;
        },
      }),
    },
    { host: '127.0.0.1', port: 0, token: null },
  );
  url = `http://127.0.0.1:${await listener.start()}/mcp`;
});
afterEach(async () => {
  isModern = false;
  await listener.close();
  await guard.close();
});

const post = (body: Json | readonly Json[], headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
const request = (id: Id, method: string, params: Json = {}): Json => ({ jsonrpc: '2.0', id, method, params });
const cancelled = (requestId: Id): Json => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
});
const call = (id: Id): Json => request(id, 'tools/call', { name: 'read', arguments: {} });
const sentCalls = (): number =>
  atServers.filter((message) => message.kind === 'request' && message.method === 'tools/call').length;

/** Makes a session. @returns the header that names it */
async function greet(): Promise<Record<string, string>> {
  const clientInfo = { name: 'old', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const greeting = await post(request('hello', 'initialize', params));
  await greeting.text();
  return { 'Mcp-Session-Id': greeting.headers.get('mcp-session-id') ?? '' };
}

describe('a result of 8 MiB', () => {
  const text = 'x'.repeat(8 * megabyte);

  it('reaches a client of an earlier revision, with what follows it', async () => {
    const session = await greet();
    const response = await post([call(1), request(2, 'ping')], session);
    await until(() => sentCalls() === 1, 'the call');
    answer({ content: [{ type: 'text', text }] });
    atServers = [];
    const whole = response.text();
    await post(cancelled(2), session);
    expect(await whole).toContain(text);
  });

  it('reaches a client of 2026-07-28 over a stream', async () => {
    isModern = true;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const headers = {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'read',
    };
    const pending = post(request(1, 'tools/call', { name: 'read', arguments: {}, _meta }), headers);
    await until(() => sentCalls() === 1, 'the call');
    clock.advance(2000);
    const response = await pending;
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    answer({ content: [{ type: 'text', text }], resultType: 'complete' });
    expect(await response.text()).toContain(text);
  });
});

describe('a reader that takes nothing', () => {
  /** Opens a stream whose reader takes nothing. */
  async function unreadStream(): Promise<{ response: ServerResponse; close: () => void }> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.pause();
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
    const close = (): void => {
      socket.destroy();
      server.closeAllConnections();
      server.close();
    };
    return { response, close };
  }
  const message = (bytes: number): Message => ({
    kind: 'notification',
    method: 'notifications/message',
    params: { data: 'x'.repeat(bytes) },
  });

  it('loses its stream when 20 MiB are unread', async () => {
    const { response, close } = await unreadStream();
    let count = 0;
    for (; count < 100 && !response.destroyed; count++) {
      writeMessage(response, message(megabyte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    close();
    expect(count).toBeGreaterThan(20);
    expect(count).toBeLessThan(40);
  });

  it('loses a response that has ended when it takes nothing of the rest for a minute', async () => {
    const { response, close } = await unreadStream();
    const clock = new ManualClock();
    writeMessage(response, message(8 * megabyte));
    endResponse(response, clock);
    writeMessage(response, message(1));
    for (let looks = 0; looks < 3; looks++) clock.advance(15_000);
    expect(response.destroyed).toBe(false);
    clock.advance(15_000);
    expect(response.destroyed).toBe(true);
    await once(response, 'close');
    expect(clock.pending).toBe(0);
    close();
  });

  it('loses its stream when over 4 MiB are unread for a minute', async () => {
    const { response, close } = await unreadStream();
    const look = streamKeeper(response);
    writeMessage(response, message(15 * megabyte));
    for (let looks = 0; looks < 3; looks++) look();
    expect(response.destroyed).toBe(false);
    look();
    expect(response.destroyed).toBe(true);
    close();
  });
});

describe('a request of an earlier revision that is cancelled', () => {
  it.each([
    ['a call', call(1)],
    ['another request', request(1, 'resources/list')],
  ])('ends its stream without an answer: %s', async (_name, sent) => {
    const session = await greet();
    const response = await post(sent, session);
    await until(() => atServers.some((one) => one.kind === 'request' && one.id === 1), 'the request');
    await post(cancelled(1), session);
    expect(await response.text()).toBe('');
  });

  it('leaves the stream to the other requests of its batch', async () => {
    const session = await greet();
    const response = await post([request(1, 'resources/list'), call(2)], session);
    await until(() => sentCalls() === 1, 'the call');
    await post(cancelled(1), session);
    answer({ content: [] });
    expect(await response.text()).toContain('"id":2');
  });
});

describe('a session of an earlier revision without an open response', () => {
  const halfHour = async (): Promise<void> => {
    for (let minute = 0; minute < 32; minute++) clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
  };

  it('ends after half an hour, and its requests are cancelled at the server', async () => {
    const session = await greet();
    const stop = new AbortController();
    await post(call(1), session, stop.signal);
    await until(() => sentCalls() === 1, 'the call');
    await halfHour();
    expect(closed).toBe(0);
    stop.abort();
    // The proxy sees the end of the connection.
    await new Promise((resolve) => setTimeout(resolve, 200));
    clock.advance(29 * 60_000);
    expect(closed).toBe(0);
    await halfHour();
    await until(() => closed === 1, 'the end of the server');
    expect(atServers.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } });
    expect((await post(request(2, 'ping'), session)).status).toBe(404);
  });

  it('lasts while its client waits on another stream', async () => {
    const session = await greet();
    const stop = new AbortController();
    await post(call(1), session, stop.signal);
    await until(() => sentCalls() === 1, 'the call');
    const other = new AbortController();
    await fetch(url, { headers: { ...session, Accept: 'text/event-stream' }, signal: other.signal });
    stop.abort();
    await new Promise((resolve) => setTimeout(resolve, 200));
    await halfHour();
    expect(closed).toBe(0);
    other.abort();
  });
});
