// The stream of what a legacy server sends by itself, at a server that refuses or ends it.
import { afterEach, expect, it } from 'vitest';
import type { Connection } from '../../src/cli/mcp/connection.ts';
import { remoteServer } from '../../src/cli/mcp/remote.ts';
import { ManualClock, until } from '../manual-clock.ts';

const json = { 'Content-Type': 'application/json' };
let connection: Connection;
afterEach(() => connection.close());

let clock: ManualClock;
/** How often the stream was requested. */
let listens = 0;

/** Connects to a server that answers each request for the stream by `answer`. */
function connect(answer: () => Response): void {
  clock = new ManualClock();
  listens = 0;
  const fetch = async (_url: unknown, init: RequestInit = {}): Promise<Response> => {
    if (init.method === 'POST') {
      const { id } = JSON.parse(String(init.body)) as { readonly id?: number };
      if (id === undefined) return new Response(null, { status: 202 });
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        serverInfo: { name: 's', version: '1' },
      };
      return new Response(JSON.stringify({ jsonrpc: '2.0', id, result }), { headers: json });
    }
    listens += 1;
    return answer();
  };
  const events = { message: () => {}, ended: () => {} };
  const options = {
    url: 'http://127.0.0.1/mcp',
    headers: {},
    clock,
    fetch: fetch as typeof globalThis.fetch,
  };
  connection = remoteServer(options)(events as unknown as Parameters<ReturnType<typeof remoteServer>>[0]);
  connection.send({ kind: 'request', id: 1, method: 'initialize', params: {} });
  connection.send({ kind: 'notification', method: 'notifications/initialized', params: {} });
}

/** Waits between requests for the stream, each answered by `answer`. */
async function waitsOf(answer: () => Response): Promise<number[]> {
  connect(answer);
  for (let attempt = 1; attempt < 5; attempt++) {
    await until(() => listens === attempt && clock.pending > 0);
    clock.advance(clock.waits.at(-1) ?? 0);
  }
  await until(() => listens === 5);
  return clock.waits.slice(0, 4);
}

it('is asked again soon at a server that ends it after each message', async () => {
  const event = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
  const waits = await waitsOf(
    () => new Response(event, { headers: { 'Content-Type': 'text/event-stream' } }),
  );
  expect(waits).toEqual([1500, 1500, 1500, 1500]);
});

it('is asked again soon once the server has answered a message', async () => {
  const answer = (): Response => {
    connection.send({ kind: 'notification', method: 'notifications/progress', params: {} });
    return new Response('', { status: 503 });
  };
  expect(await waitsOf(answer)).toEqual([1500, 1500, 1500, 1500]);
});

it.each([401, 403])('is asked for less and less often while it is refused with %i', async (status) => {
  const answer = (): Response => {
    // Its answers show nothing about the stream.
    connection.send({ kind: 'notification', method: 'notifications/progress', params: {} });
    return new Response('', { status });
  };
  expect(await waitsOf(answer)).toEqual([1500, 3000, 6000, 12_000]);
});

it.each([429, 503])('is asked again after the Retry-After of %i', async (status) => {
  const answer = (): Response => new Response('', { status, headers: { 'Retry-After': '10' } });
  expect(await waitsOf(answer)).toEqual([10_000, 10_000, 10_000, 12_000]);
});

it.each([
  ['answers 404 without a session', () => new Response('', { status: 404 })],
  ['answers 405', () => new Response('', { status: 405 })],
  ['answers with other content', () => new Response('{}', { headers: json })],
])('is not asked again at a server that %s', async (_name, answer) => {
  connect(answer);
  await until(() => listens === 1);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(clock.waits).toEqual([]);
});

it.each([
  ['answers 408', () => new Response('', { status: 408 })],
  ['answers 429', () => new Response('', { status: 429 })],
  ['answers 503', () => new Response('', { status: 503 })],
  ['ends it', () => new Response('', { headers: { 'Content-Type': 'text/event-stream' } })],
])('is asked for less and less often at a server that %s', async (_name, answer) => {
  expect(await waitsOf(answer)).toEqual([1500, 3000, 6000, 12_000]);
});
