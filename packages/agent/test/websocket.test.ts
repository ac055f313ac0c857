// The stream over a WebSocket, by `ws`: both encodings, handshakes that do not fit, pings, refusals and ends.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { encode } from '@msgpack/msgpack';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HubConnectionError, HubResponseError } from '../src/failure.ts';
import type { ReceivedFrame } from '../src/stream/transport.ts';
import { webSocketTransport } from '../src/stream/websocket.ts';
import { until } from './manual-clock.ts';

const opcodes = { text: 1, binary: 2, close: 8, ping: 9 };

/** A frame as a server writes it: not masked. */
const serverFrame = (opcode: number, payload: Uint8Array, final = true): Buffer => {
  const head = Buffer.alloc(payload.length > 65_535 ? 10 : payload.length > 125 ? 4 : 2);
  head[0] = (final ? 0x80 : 0) | opcode;
  head[1] = payload.length > 65_535 ? 127 : payload.length > 125 ? 126 : payload.length;
  if (head.length === 4) head.writeUInt16BE(payload.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
};
const text = (value: string): Buffer => serverFrame(opcodes.text, Buffer.from(value));

describe('a stream over a WebSocket', () => {
  let server: Server;
  /** Those a test still looks at. */
  let sockets: Duplex[];
  let everySocket: Duplex[];
  let answer: (key: string, protocol: string) => string[];
  const accept = (key: string): string =>
    createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

  beforeEach(async () => {
    sockets = [];
    everySocket = [];
    answer = (key, protocol) => [
      `Sec-WebSocket-Accept: ${accept(key)}`,
      `Sec-WebSocket-Protocol: ${protocol}`,
    ];
    server = createServer((_, response) => {
      response.writeHead(503, { 'Retry-After': '7' }).end('not now');
    });
    server.on('connection', (socket) => everySocket.push(socket));
    server.on('upgrade', (request, socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      const lines = answer(
        String(request.headers['sec-websocket-key']),
        String(request.headers['sec-websocket-protocol']),
      );
      const head = [
        'HTTP/1.1 101 Switching Protocols',
        'Upgrade: websocket',
        'Connection: Upgrade',
        ...lines,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    for (const socket of everySocket) socket.destroy();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });

  const open = (encoding: 'json' | 'msgpack' = 'json') => {
    const frames: ReceivedFrame[] = [];
    const stop = new AbortController();
    const state = { opened: false };
    const ended = webSocketTransport(encoding)({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/stream?env=production`,
      headers: { Authorization: 'Bearer key' },
      lastEventId: '3-0',
      signal: stop.signal,
      opened: () => {
        state.opened = true;
      },
      alive() {},
      frame: (frame) => frames.push(frame),
    });
    ended.catch(() => {});
    return { frames, stop, state, ended };
  };
  const socket = async (): Promise<Duplex> => {
    await until(() => sockets.length > 0, 'a socket');
    return sockets[0] as Duplex;
  };

  it('gives frames in both encodings, answers pings, and ends when the hub says so', async () => {
    const { frames, ended } = open();
    const peer = await socket();
    const heard: Buffer[] = [];
    peer.on('data', (bytes: Buffer) => heard.push(bytes));
    peer.write(text('{"id":"1-0","type":"a","x":1}'));
    peer.write(text('{"ref":1,"ok":true}'));
    peer.write(serverFrame(opcodes.ping, Buffer.from('hi')));
    await until(() => heard.length > 0, 'a pong');
    expect(heard[0]?.[0]).toBe(0x8a);
    peer.end(serverFrame(opcodes.close, Buffer.from([0x03, 0xe9])));
    await ended;
    expect(frames).toEqual([{ id: '1-0', event: 'a', data: { type: 'a', x: 1 } }]);

    sockets.length = 0;
    const packed = open('msgpack');
    (await socket()).write(serverFrame(opcodes.binary, encode({ id: '2-0', type: 'b' })));
    await until(() => packed.frames.length === 1, 'a frame');
    expect(packed.frames).toEqual([{ id: '2-0', event: 'b', data: { type: 'b' } }]);
    packed.stop.abort(new Error('enough'));
    await expect(packed.ended).rejects.toThrow('enough');
  });

  it('ends with what the hub refused, its Retry-After included', async () => {
    server.removeAllListeners('upgrade');
    const failure = await open().ended.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HubResponseError);
    expect(failure).toMatchObject({ status: 503, text: 'not now', retryAfter: 7 });
  });

  it('is cut by broken frames, by a cut connection, and by messages that are not what they claim', async () => {
    for (const wrong of [
      Buffer.from([0xff, 0xff]),
      text('{'),
      serverFrame(opcodes.binary, Buffer.from([0xc1])),
      null,
    ]) {
      sockets.length = 0;
      const { ended } = open();
      const peer = await socket();
      if (wrong) peer.write(wrong);
      else peer.destroy();
      await expect(ended).rejects.toThrow(HubConnectionError);
    }
  });

  it.each([
    ['a proof that does not fit', () => ['Sec-WebSocket-Accept: x', 'Sec-WebSocket-Protocol: reeve.v1.json']],
    ['no subprotocol', (key: string) => [`Sec-WebSocket-Accept: ${accept(key)}`]],
    [
      'an extension nobody offered',
      (key: string) => [
        `Sec-WebSocket-Accept: ${accept(key)}`,
        'Sec-WebSocket-Protocol: reeve.v1.json',
        'Sec-WebSocket-Extensions: permessage-deflate',
      ],
    ],
  ])('does not open on %s', async (_, lines) => {
    answer = lines;
    const { ended, state } = open();
    await expect(ended).rejects.toThrow(HubConnectionError);
    expect(state.opened).toBe(false);
  });

  it('ends while it waits for the handshake, when told', async () => {
    server.removeAllListeners('upgrade');
    server.on('upgrade', (_, peer) => sockets.push(peer));
    const { ended, stop } = open();
    await socket();
    stop.abort(new Error('too long'));
    await expect(ended).rejects.toThrow('too long');
  });
});
