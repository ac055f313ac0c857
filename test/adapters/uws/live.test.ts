import { decode, encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { agentsOf, dashboardsOf, type Frame } from '../../../src/shared/frame.ts';
import { writeFrame } from '../../frames.ts';
import { hashOf, keyText } from '../../http/fixtures.ts';
import { eventually, type RawSocket, serve } from './fixtures.ts';
import { WebSocketClient } from './websocket.ts';

const auth = `Authorization: Bearer ${keyText}\r\n`;
const agents = agentsOf('t1', 'production');

const update = (version: number, size = 0): Frame =>
  writeFrame({
    audience: agents,
    type: 'contract_update',
    data: { type: 'contract_update', version, yaml_bytes: 'x'.repeat(size) },
    bundle: 'b',
  });

const note = (n: number, size = 0): Frame =>
  writeFrame({
    audience: agents,
    type: 'assignment_changed',
    data: { type: 'assignment_changed', n, filler: 'x'.repeat(size) },
  });

async function openSse(hub: Awaited<ReturnType<typeof serve>>, agent: string, more = ''): Promise<RawSocket> {
  const socket = await hub.connect();
  socket.send(
    `GET /api/v1/stream?env=production HTTP/1.1\r\nHost: a\r\n${auth}X-Service-Agent-Id: ${agent}\r\n${more}\r\n`,
  );
  await socket.until((t) => t.includes('retry:'));
  return socket;
}

/** Both views of what is open, the registry's and the server's, agree on `count`. */
async function agree(hub: Awaited<ReturnType<typeof serve>>, count: number): Promise<void> {
  const registry = () => hub.live.inspect().reduce((sum, { streams }) => sum + streams, 0);
  await eventually(() => registry() === count && hub.server.connections() === count);
  for (const { streams, indexed } of hub.live.inspect()) expect(indexed).toBe(streams);
  expect(hub.live.counts().streams).toBe(count);
}

describe('an SSE stream', () => {
  it('starts with its headers and a comment, and gets frames with ids', async () => {
    await using hub = await serve();
    const socket = await openSse(hub, 'a1');
    expect(socket.text).toMatch(/content-type: text\/event-stream/i);
    expect(socket.text).toMatch(/cache-control: no-cache/i);
    expect(socket.text).toMatch(/x-accel-buffering: no/i);
    expect(socket.text).toMatch(/: connected\nretry: \d+\n\n/);
    await hub.broadcast.publish([update(1), update(2)]);
    const text = await socket.until((t) => t.includes('"version":2'));
    expect(text).toMatch(
      /id: \d+-\d+\nevent: contract_update\ndata: \{"type":"contract_update","version":1,/,
    );
  });

  it('ends the chunk of a frame at once for clients that read whole chunks, and costs others nothing', async () => {
    await using hub = await serve();
    const plain = await openSse(hub, 'a2');
    const socket = await openSse(hub, 'a1', 'User-Agent: python-requests/2.32.3\r\n');
    const chunks: Buffer[] = [];
    socket.onData((chunk) => chunks.push(chunk));
    const read = () => Buffer.concat(chunks).toString();
    await hub.broadcast.publish([note(1)]);
    await eventually(() => /"n":1,[^\n]*\n\n\r\n/.test(read()));
    await hub.broadcast.publish([note(2)]);
    await eventually(() => /"n":2,[^\n]*\n\n\r\n/.test(read()));
    // The frames are as ever once the chunks are joined.
    const body = read()
      .replace(/^\r\n/, '')
      .replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '')
      .replace(/\r\n$/, '');
    expect(body).toMatch(/^id: \S+\nevent: \w+\ndata: [^\n]+\n\nid: \S+\nevent: \w+\ndata: [^\n]+\n\ni?$/);
    expect(await plain.until((t) => t.includes('"n":2'))).not.toMatch(/\r\n1\r\n/);
    socket.destroy();
    plain.destroy();
  });

  it('is refused before any header of it: no key 401, another environment 403, as JSON', async () => {
    await using hub = await serve();
    const none = await fetch(`http://127.0.0.1:${hub.server.port}/api/v1/stream?env=production`);
    expect([none.status, await none.json()]).toEqual([
      401,
      { detail: 'Authorization header is required.', code: 'unauthenticated' },
    ]);
    const other = await fetch(`http://127.0.0.1:${hub.server.port}/api/v1/stream?env=staging`, {
      headers: { authorization: `Bearer ${keyText}` },
    });
    expect([other.status, (await other.json()) as object]).toMatchObject([403, { code: 'env_mismatch' }]);
    expect(hub.live.counts().audiences).toBe(0);
  });

  it('that reconnects with Last-Event-ID gets what it missed', async () => {
    await using hub = await serve();
    const first = await openSse(hub, 'a1');
    await hub.broadcast.publish([note(1)]);
    await first.until((t) => t.includes('"n":1'));
    const id = /id: (\S+)\nevent: assignment_changed/.exec(first.text)?.[1] ?? '';
    first.destroy();
    await agree(hub, 0);
    await hub.broadcast.publish([note(2), note(3)]);
    const again = await openSse(hub, 'a1', `Last-Event-ID: ${id}\r\n`);
    const text = await again.until((t) => t.includes('"n":3'));
    expect([...text.matchAll(/"n":(\d)/g)].map((m) => m[1])).toEqual(['2', '3']);
  });

  it('ends for every reason once, and the registry and the server agree', async () => {
    await using hub = await serve();
    const left = await openSse(hub, 'a1');
    const halfClosed = await openSse(hub, 'a2');
    const kept = await openSse(hub, 'a3');
    await agree(hub, 3);
    left.destroy();
    await agree(hub, 2);
    await hub.broadcast.control({
      kind: 'key_revoked',
      tenantId: 't1',
      keyId: 'key-1',
      keyHash: hashOf(keyText),
    });
    // The last chunk of a chunked body, and nothing else: the response was ended, not torn off. Its client is to close
    // the connection.
    for (const socket of [halfClosed, kept]) {
      expect(socket.text).toMatch(/\r\nconnection: close\r\n/i);
      await socket.until((t) => t.endsWith('\n\n\r\n0\r\n\r\n'));
      expect(socket.closed).toBe(false);
      socket.destroy();
    }
    await agree(hub, 0);
    expect(hub.streams.seen.closed).toHaveLength(3);
    expect(new Set(hub.streams.seen.closed).size).toBe(3);
  });

  it('whose client leaves while it is being admitted is closed and forgotten', async () => {
    await using hub = await serve();
    let admit = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      admit = resolve;
    });
    let asked = false;
    hub.streams.seen.catchUp = async () => [];
    const find = hub.callers.find.bind(hub.callers);
    hub.callers.find = async (...args) => {
      asked = true;
      await waiting;
      return find(...args);
    };
    const socket = await hub.connect();
    socket.send(`GET /api/v1/stream?env=production HTTP/1.1\r\nHost: a\r\n${auth}\r\n`);
    await eventually(() => asked);
    socket.destroy();
    await eventually(() => hub.server.connections() === 0);
    admit();
    await eventually(() => hub.streams.seen.closed.length === 1);
    await agree(hub, 0);
  });

  it('of a reader that stopped keeps the newest of a bundle only, and the others are not held up', async () => {
    await using hub = await serve();
    const slow = await openSse(hub, 'slow');
    const fast = await openSse(hub, 'fast');
    slow.pause();
    const size = 1024 * 1024;
    let sent = 0;
    while (hub.live.counts().blocked === 0) {
      await hub.broadcast.publish([update(++sent, size)]);
      await fast.until((t) => t.includes(`"version":${sent},`));
    }
    for (let i = 0; i < 5; i++) await hub.broadcast.publish([update(++sent, size)]);
    await fast.until((t) => t.includes(`"version":${sent},`));
    slow.resume();
    await slow.until((t) => t.includes(`"version":${sent},`));
    await eventually(() => hub.live.counts().blocked === 0);
    const versions = [...slow.text.matchAll(/"version":(\d+),/g)].map((m) => Number(m[1]));
    // Frames that it had taken before it was full, then the newest alone.
    expect(versions.at(-1)).toBe(sent);
    expect(versions).toEqual([...Array.from({ length: versions.length - 1 }, (_, i) => i + 1), sent]);
    expect(versions.length).toBeLessThan(sent);
    // Drained and well: it goes on.
    await hub.broadcast.publish([update(++sent)]);
    await slow.until((t) => t.includes(`"version":${sent},`));
    await agree(hub, 2);
  });

  it('of a reader over its byte bound is cut, and the others get everything', async () => {
    await using hub = await serve();
    const slow = await openSse(hub, 'slow');
    const fast = await openSse(hub, 'fast');
    slow.pause();
    let sent = 0;
    while (hub.streams.seen.closed.length === 0) {
      await hub.broadcast.publish([note(++sent, 200_000)]);
      await fast.until((t) => t.includes(`"n":${sent},`));
    }
    await agree(hub, 1);
    const numbers = [...fast.text.matchAll(/"n":(\d+),/g)].map((m) => Number(m[1]));
    expect(numbers).toEqual(Array.from({ length: sent }, (_, i) => i + 1));
    slow.resume();
    await slow.untilClosed();
    expect(slow.closed).toBe(true);
  });

  it('goes over a thousand connections in order', async () => {
    await using hub = await serve();
    const all = await Promise.all(Array.from({ length: 1000 }, (_, i) => openSse(hub, `a${i}`)));
    await agree(hub, 1000);
    await hub.broadcast.publish([update(1), note(1), update(2)]);
    for (const socket of all) {
      const text = await socket.until((t) => t.includes('"version":2'));
      expect([...text.matchAll(/event: (\w+)/g)].map((m) => m[1])).toEqual([
        'contract_update',
        'assignment_changed',
        'contract_update',
      ]);
    }
    await hub.live.drain(0);
    await agree(hub, 0);
    expect(hub.streams.seen.closed).toHaveLength(1000);
  });
});

describe('a WebSocket', () => {
  const headers = { Authorization: `Bearer ${keyText}`, 'X-Service-Agent-Id': 'ws1' };
  const path = '/api/v1/stream?env=production';

  it('gets frames as text with their id, and answers to its messages', async () => {
    await using hub = await serve();
    const socket = new WebSocketClient(hub.server.port);
    const head = await socket.handshake(path, {
      ...headers,
      'Sec-WebSocket-Protocol': 'other, reeve.v1.json',
    });
    expect(head).toContain('101 Switching Protocols');
    expect(head).toMatch(/sec-websocket-protocol: reeve\.v1\.json/i);
    await hub.broadcast.publish([update(1)]);
    const [frame] = await socket.messages(1);
    expect(JSON.parse(String(frame))).toMatchObject({
      id: expect.any(String),
      type: 'contract_update',
      version: 1,
    });
    expect(socket.frames()[0]?.opcode).toBe(1);
    socket.send(JSON.stringify({ type: 'events', ref: 'r1', body: { events: [] } }));
    const [, result] = await socket.messages(2);
    expect(JSON.parse(String(result))).toEqual({
      type: 'result',
      ref: 'r1',
      status: 200,
      body: { got: 'events' },
    });
    await agree(hub, 1);
    socket.raw.destroy();
    await agree(hub, 0);
  });

  it('speaks MessagePack when asked to', async () => {
    await using hub = await serve();
    const socket = new WebSocketClient(hub.server.port);
    await socket.handshake(path, { ...headers, 'Sec-WebSocket-Protocol': 'reeve.v1.msgpack' });
    await hub.broadcast.publish([update(3)]);
    socket.send(encode({ type: 'report', ref: 1, body: {} }));
    const [frame, result] = await socket.messages(2);
    expect(decode(frame ?? [])).toMatchObject({ type: 'contract_update', version: 3 });
    expect(decode(result ?? [])).toEqual({ type: 'result', ref: 1, status: 200, body: { got: 'report' } });
    socket.raw.destroy();
  });

  it('is refused before the upgrade, with the JSON of the HTTP route', async () => {
    await using hub = await serve();
    const refuse = async (path_: string, headers_: { [name: string]: string }) => {
      const socket = new WebSocketClient(hub.server.port);
      const head = await socket.handshake(path_, headers_);
      const text = await socket.raw.until((t) => t.endsWith('}'));
      socket.raw.destroy();
      return [head.slice(9, 12), JSON.parse(text.slice(head.length)).code];
    };
    expect(await refuse(path, {})).toEqual(['401', 'unauthenticated']);
    expect(await refuse('/api/v1/stream?env=staging', headers)).toEqual(['403', 'env_mismatch']);
    expect(await refuse(path, { ...headers, 'Sec-WebSocket-Protocol': 'other' })).toEqual([
      '400',
      'bad_request',
    ]);
    const cookie = { Cookie: 'service_session=token', Origin: 'http://evil.example' };
    expect(await refuse('/api/v1/stream/dashboard', cookie)).toEqual(['403', 'origin_refused']);
    expect(await refuse('/api/v1/nothing', headers)).toEqual(['404', 'not_found']);
  });

  it('of a dashboard is opened by its cookie from our own page, and ends with the sign-out', async () => {
    await using hub = await serve();
    const socket = new WebSocketClient(hub.server.port);
    const head = await socket.handshake('/api/v1/stream/dashboard', {
      Cookie: 'service_session=token',
      Origin: 'http://localhost:8000',
    });
    expect(head).toContain('101');
    await hub.broadcast.publish([
      writeFrame({
        audience: dashboardsOf('t1'),
        type: 'event_created',
        data: { type: 'event_created', accepted: 2 },
      }),
    ]);
    await socket.messages(1);
    await hub.broadcast.control({ kind: 'login_ended', tokenHash: hashOf('token') });
    await eventually(() => socket.frames().some(({ opcode }) => opcode === 8));
    socket.raw.destroy();
    await agree(hub, 0);
  });

  it('replays from last_event_id in its query', async () => {
    await using hub = await serve();
    const sse = await openSse(hub, 'ws1');
    await hub.broadcast.publish([note(1), note(2)]);
    await sse.until((t) => t.includes('"n":2'));
    const id = /id: (\S+)/.exec(sse.text)?.[1] ?? '';
    const socket = new WebSocketClient(hub.server.port);
    await socket.handshake(`${path}&last_event_id=${id}`, headers);
    const [frame] = await socket.messages(1);
    expect(JSON.parse(String(frame))).toMatchObject({ n: 2 });
    socket.raw.destroy();
  });

  it('that reads nothing is bounded like an SSE stream', async () => {
    await using hub = await serve();
    const socket = new WebSocketClient(hub.server.port);
    await socket.handshake(path, headers);
    socket.raw.pause();
    for (let n = 1; hub.streams.seen.closed.length === 0 && n < 500; n++) {
      await hub.broadcast.publish([note(n, 200_000)]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(hub.live.counts().ended).toEqual({ slow: 1 });
    await agree(hub, 0);
    socket.raw.destroy();
  });
});
