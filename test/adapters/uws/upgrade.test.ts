// The upgrade itself, without the hub: a pipeline that admits everything after a turn of the event loop, and sessions
// that speak at once.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../adapters/node/clock.ts';
import { Admission } from '../../../src/admission/admission.ts';
import { createBudgets } from '../../../src/admission/byte-budgets.ts';
import { plain } from '../../../src/http/encode.ts';
import type { Session } from '../../../src/http/live/session.ts';
import type { Pipeline } from '../../../src/http/pipeline.ts';
import { asKey, keyText } from '../../http/fixtures.ts';
import { memoryLog } from '../../log.ts';
import { eventually, onNode, RawSocket, serve, start } from './fixtures.ts';
import { WebSocketClient } from './websocket.ts';

async function greeting(text: string) {
  const gone: Session[] = [];
  const pipeline: Pipeline = {
    budgets: createBudgets(),
    admission: new Admission(systemClock),
    networkOf: () => 'here',
    isOpening: () => true,
    bodyLimit: () => 0,
    async handle(raw) {
      await new Promise((resolve) => setImmediate(resolve));
      if (raw.refused) return { ...plain(400, [], raw.refused.message), close: true };
      const session: Session = {
        protocol: null,
        sender: null,
        attach: (sink) => void sink.write(text),
        writable: () => true,
        received: () => undefined,
        pinged: () => undefined,
        gone: () => void gone.push(session),
      };
      return { ...plain(200, [['X-Request-Id', 'r1']], null), live: session };
    },
  };
  const log = memoryLog();
  const server = await start({ host: '127.0.0.1', port: 0, pipeline, clock: systemClock, log });
  return { server, gone, [Symbol.asyncDispose]: async () => server.close() };
}

describe('a WebSocket that is opened after a wait', () => {
  // A text of this length goes where the HTTP connection's state was, and its letters read as "close after the
  // response". completeUpgrade lets no session write before the native server has read that state.
  it('lives, whatever its session says first', async () => {
    await using hub = await greeting('t'.repeat(64));
    const sockets: WebSocketClient[] = [];
    for (let i = 0; i < 50; i++) {
      const socket = new WebSocketClient(hub.server.port);
      sockets.push(socket);
      expect(await socket.handshake('/api/v1/stream', {})).toMatch(
        /^HTTP\/1.1 101 [\s\S]*\r\nX-Request-Id: r1\r\n/,
      );
      expect(await socket.messages(1)).toEqual([Buffer.from('t'.repeat(64))]);
    }
    // An answer proves that the server has done with everything before it.
    for (const socket of sockets) socket.raw.send(Buffer.from([0x89, 0x80, 1, 2, 3, 4]));
    for (const socket of sockets) await socket.raw.until(() => socket.frames().some((f) => f.opcode === 10));
    expect(sockets.filter(({ raw }) => raw.closed)).toEqual([]);
    expect(hub.gone).toEqual([]);
    for (const { raw } of sockets) raw.destroy();
  });

  // Node's own server answers the first and the third as the plain request that they then are.
  const notUpgrades = ['Connection: close', 'no Connection'];
  it.each([
    ['Connection: close', { Connection: 'close' }],
    ['close beside upgrade', { Connection: 'close, Upgrade' }],
    ['no Connection', { Connection: 'keep-alive' }],
    ['another protocol', { Upgrade: 'h2c' }],
    ['a key that is no base64', { 'Sec-WebSocket-Key': '!!!!!!!!!!!!!!!!!!!!!!==' }],
    ['a body', { 'Content-Length': '5' }],
  ])('is refused with %s', async (name, headers) => {
    const status = onNode && notUpgrades.includes(name) ? 200 : 400;
    await using hub = await greeting('hello');
    const socket = new WebSocketClient(hub.server.port);
    expect(await socket.handshake('/api/v1/stream', headers)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    await socket.raw.until(() => status === 200 || socket.raw.closed);
    socket.raw.destroy();
  });

  const chunked = 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
  it.each([
    ['GET', 'GET /api/v1/sessions/a', '\r\n', '{"key":"a"'],
    ['POST', 'POST /api/v1/events', 'Content-Length: 3\r\n\r\nabc', '{"bytes":3}'],
    ['POST in chunks', 'POST /api/v1/events', chunked, '{"bytes":3}'],
    ['an unknown route', 'GET /api/v1/none', '\r\n', '"not_found"'],
  ])(
    'is not what a client asks for by an offer of HTTP/2: %s is answered as without it',
    async (_, line, rest, text) => {
      await using hub = await serve();
      const head = `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${keyText}\r\n`;
      const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n';
      const plain = await hub.once(`${head}Connection: close\r\n${rest}`);
      expect(plain).toContain(text);
      const socket = await hub.connect();
      socket.send(`${head}${offer}${rest}`);
      const answer = await socket.until((t) => t.includes(text));
      const [status] = plain.split('\r\n');
      expect(answer.split('\r\n')[0]).toBe(status);
      // The connection lives on, and counts once.
      await eventually(() => hub.server.connections() === 1);
      socket.send(`${head}Connection: close\r\n${rest}`);
      expect((await socket.untilClosed()).split(`${status}\r\n`)).toHaveLength(3);
      await eventually(() => hub.server.connections() === 0);
    },
  );

  it.each([
    ['another version', { 'Sec-WebSocket-Version': '8' }],
    ['no version', { 'Sec-WebSocket-Version': '' }],
  ])('is refused with %s, and told which one fits', async (_, headers) => {
    await using hub = await serve();
    const socket = new WebSocketClient(hub.server.port);
    const head = await socket.handshake('/api/v1/stream?env=production', { ...asKey, ...headers });
    expect(head).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/);
    expect(head).toMatch(/\r\nSec-WebSocket-Version: 13\r\n/);
    await socket.raw.untilClosed();
  });

  it('opens for a client that lists more than the upgrade', async () => {
    await using hub = await greeting('hello');
    const socket = new RawSocket(hub.server.port);
    await socket.opened;
    socket.send(
      'GET /api/v1/stream HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    expect(await socket.until((text) => text.endsWith('hello'))).toMatch(/^HTTP\/1.1 101 /);
    socket.destroy();
  });
});
