// Connections that do not keep to HTTP, or keep to it too slowly: what the hub must end by itself. Each ends by being
// closed.
import { connect, type Socket } from 'node:net';
import type { Random } from '../random.ts';
import { bytesOf, type OutgoingRequest } from './http.ts';

/** The hub must have closed such a connection this long after its last byte. Milliseconds. */
export const heldMs = 60_000;
/** A client that does not read, does not read for so long. Milliseconds. */
const deafMs = 20_000;

export interface Attack {
  readonly shape: string;
  /** The written pieces, and the pauses before each piece (ms). */
  readonly pieces: readonly { readonly bytes: Uint8Array; readonly afterMs: number }[];
  /** After the last piece: keep waiting, say that nothing more comes, or stop reading for a while. */
  readonly then: 'wait' | 'finish' | 'rest' | 'reset';
  /** From the beginning nothing is read. */
  readonly isDeaf?: boolean;
  /** At least one answer is owed. */
  readonly isOwed: boolean;
}

const crlf = Buffer.from('\r\n');
const piece = (bytes: Uint8Array | string, afterMs = 0) => ({
  bytes: typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes,
  afterMs,
});

/** Changes the header lines of a request. */
function withLines(good: Buffer, change: (lines: string[]) => string[]): Buffer {
  const end = good.indexOf('\r\n\r\n');
  const lines = good.toString('latin1', 0, end).split('\r\n');
  return Buffer.concat([Buffer.from(change(lines).join('\r\n'), 'latin1'), good.subarray(end)]);
}

/** @param request a request that would be answered */
export function attackOf(request: OutgoingRequest, random: Random): Attack {
  const good = bytesOf(request);
  const once = (shape: string, bytes: Uint8Array | string, isOwed = false): Attack => ({
    shape,
    pieces: [piece(bytes)],
    then: 'wait',
    isOwed,
  });
  const cut = 1 + random.int(Math.max(1, good.length - 1));
  // The native server takes a request line that comes in two reads for one of another version.
  const line = good.indexOf('\r\n') + 2;
  const later = line + random.int(good.length - line);
  const without = (name: string) => (lines: string[]) =>
    lines.filter((line) => !line.toLowerCase().startsWith(`${name}:`));
  const head = withLines(good.subarray(0, good.indexOf('\r\n\r\n') + 4), (lines) =>
    without('transfer-encoding')(without('content-length')(lines)),
  );
  const framed = (line: string, rest: string) =>
    Buffer.concat([withLines(head, (lines) => [...lines, line]), Buffer.from(rest)]);
  const shapes: readonly (() => Attack)[] = [
    () => once('silence', ''),
    () => once('cut off', good.subarray(0, cut)),
    () => ({ ...once('cut off, then finished', good.subarray(0, cut)), then: 'finish' }),
    () => ({ ...once('reset', good.subarray(0, cut)), then: 'reset' }),
    () => ({
      ...once('whole, in two pieces', good, true),
      pieces: [piece(good.subarray(0, later)), piece(good.subarray(later), random.int(1500))],
    }),
    () => ({
      ...once('dripping', good),
      pieces: [...good.subarray(0, 40)].map((byte) => piece(Buffer.from([byte]), 200 + random.int(600))),
    }),
    () => {
      const bytes = Buffer.from(good);
      for (let i = 1 + random.int(5); i > 0; i--) bytes[random.int(bytes.length)] = random.int(256);
      return once('changed bytes', bytes);
    },
    () => once('noise', Buffer.from(Array.from({ length: random.int(3000) }, () => random.int(256)))),
    () => once('a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
    () => once('HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    () => once('two at once', Buffer.concat([good, good])),
    () => once('many at once', Buffer.concat(Array.from({ length: 2 + random.int(50) }, () => good))),
    () => ({
      ...once('one behind the other', good),
      pieces: Array.from({ length: 5 }, () => piece(good, random.int(20))),
    }),
    () => once('longer than said', Buffer.concat([good, Buffer.from('x'.repeat(1 + random.int(500)))])),
    () => once('an empty length', framed('Content-Length:', '{}')),
    () =>
      once(
        'a length that is none',
        framed(`Content-Length: ${random.pick(['-1', '+1', '0x2', '1e3', '9'.repeat(30)])}`, '{}'),
      ),
    () => once('a huge length', framed('Content-Length: 99999999999', '{')),
    () => once('a length too large', framed(`Content-Length: ${5000 + random.int(1e6)}`, '{}')),
    () =>
      once('both lengths', framed('Content-Length: 2\r\nTransfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n')),
    () =>
      once(
        'a chunk that is none',
        framed(
          'Transfer-Encoding: chunked',
          `${random.pick(['zz', '-1', '', 'ffffffffffffffffff', '2;a=b'])}\r\n{}\r\n0\r\n\r\n`,
        ),
      ),
    () => once('chunks with bare line feeds', framed('Transfer-Encoding: chunked', '2\n{}\n0\n\n')),
    () => once('chunks without an end', framed('Transfer-Encoding: chunked', '2\r\n{}\r\n')),
    () => once('chunks of one byte', framed('Transfer-Encoding: chunked', '1\r\n \r\n'.repeat(20_000))),
    () => once('trailers', framed('Transfer-Encoding: chunked', `0\r\n${'A: b\r\n'.repeat(1000)}\r\n`)),
    () =>
      once(
        'large headers',
        withLines(good, (lines) => [...lines, `X-A: ${'a'.repeat(random.int(200_000))}`]),
      ),
    () =>
      once(
        'many headers',
        withLines(good, (lines) => [...lines, ...Array.from({ length: 500 }, () => 'A: b')]),
      ),
    () => once('no Host', withLines(good, without('host'))),
    () => once('bare line feeds', Buffer.from(good.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')),
    () =>
      once(
        'a folded header',
        withLines(good, (lines) => [...lines, 'X-A: b\r\n c']),
      ),
    () =>
      once(
        'HTTP/1.0',
        withLines(good, ([first = '', ...rest]) => [first.replace('1.1', '1.0'), ...rest]),
      ),
    () =>
      once(
        'a whole address',
        withLines(good, ([first = '', ...rest]) => [first.replace(' /', ' http://hub/'), ...rest]),
      ),
    () =>
      once(
        'an asterisk',
        withLines(good, ([, ...rest]) => ['GET * HTTP/1.1', ...rest]),
      ),
    () => once('empty lines first', Buffer.concat([crlf, crlf, good])),
    () =>
      once(
        'half a handshake',
        withLines(good, (lines) => [...lines, 'Upgrade: websocket', 'Connection: Upgrade']),
      ),
    () =>
      once(
        'a handshake to a plain route',
        withLines(good, (lines) => [
          ...lines,
          'Upgrade: websocket',
          'Connection: Upgrade',
          'Sec-WebSocket-Version: 13',
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        ]),
      ),
    () =>
      once(
        'an upgrade to HTTP/2',
        withLines(good, (lines) => [...lines, 'Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings']),
      ),
    () => ({ ...once('an answer that nobody reads', good), then: 'rest' }),
    () => ({
      ...once('many answers that nobody reads', good),
      pieces: Array.from({ length: 20 + random.int(100) }, () => piece(good, 20 + random.int(60))),
      isDeaf: true,
    }),
  ];
  return random.pick(shapes)();
}

export interface Ending {
  /** All that came; its first 8 MiB. */
  readonly received: Buffer;
  /** Bytes that came altogether. */
  readonly bytes: number;
  /** False: the hub had not closed it when the time was over. */
  readonly closed: boolean;
}

/** Connections that are open, so that all can be ended at once. */
export class OpenSockets {
  readonly #sockets = new Set<Socket>();
  /** True once they were all ended: what closes then is no longer the hub's doing. */
  ended = false;

  connect(port: number): Socket {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  endAll(): void {
    this.ended = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}

const kept = 8 * 1024 * 1024;

/** Plays an attack and waits until the hub has closed the connection. */
export async function play(
  port: number,
  { pieces, then, isDeaf }: Attack,
  sockets: OpenSockets,
): Promise<Ending> {
  const socket = sockets.connect(port);
  const received: Buffer[] = [];
  let bytes = 0;
  let closed = false;
  socket.on('data', (chunk) => {
    if (bytes < kept) received.push(chunk);
    bytes += chunk.length;
  });
  const ended = new Promise<void>((resolve) =>
    socket.once('close', () => {
      closed = true;
      resolve();
    }),
  );
  const rest = (ms: number): Promise<void> => Promise.race([ended, pause(ms)]);
  if (isDeaf) socket.pause();
  for (const { bytes: sent, afterMs } of pieces) {
    if (afterMs > 0) await rest(afterMs);
    if (closed) break;
    if (sent.length > 0) socket.write(sent);
  }
  if (then === 'finish') socket.end();
  else if (then === 'reset') socket.resetAndDestroy();
  else if (then === 'rest' || isDeaf) {
    socket.pause();
    await rest(deafMs);
    socket.resume();
  }
  await rest(heldMs);
  socket.destroy();
  return { received: Buffer.concat(received), bytes, closed: closed || sockets.ended };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
