// The agent stream over a WebSocket of its own (RFC 6455 on node:http): handshake, messages, pings, end. Does not reconnect (follower.ts does).
import { createHash, randomBytes } from 'node:crypto';
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { HubConnectionError, HubResponseError } from '../failure.ts';
import { readMessagePack } from '../rules/msgpack.ts';
import type { ReceivedFrame, StreamRequest, StreamTransport } from './transport.ts';
import { clientFrame, opcodes, type SocketMessage, WebSocketReader } from './websocket-frame.ts';

/** The subprotocol of messages in this encoding. */
const subprotocolOf = (encoding: 'json' | 'msgpack'): string => `reeve.v1.${encoding}`;

/** Joined to the key of a handshake and hashed, this proves that the server speaks WebSocket (RFC 6455 §1.3). */
const handshakeProof = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const maxRefusal = 64 * 1024;
const normalClosure = 1000;
const protocolError = 1002;

/**
 * Messages over a WebSocket; each is a frame's data with `type` and `id` in it.
 * @param encoding of the messages: JSON text, or MessagePack, which is smaller
 */
export const webSocketTransport =
  (encoding: 'json' | 'msgpack' = 'json'): StreamTransport =>
  async (request) => {
    try {
      const { socket, head } = await handshake(request, subprotocolOf(encoding));
      await converse(socket, head, request);
    } catch (failure) {
      if (failure instanceof HubResponseError) throw failure;
      throw new HubConnectionError('the WebSocket', request.signal.aborted ? request.signal.reason : failure);
    }
  };

interface Opened {
  readonly socket: Duplex;
  /** The first bytes after the handshake, when they came with it. */
  readonly head: Buffer;
}

function handshake(
  { url, headers, lastEventId, signal }: StreamRequest,
  subprotocol: string,
): Promise<Opened> {
  const key = randomBytes(16).toString('base64');
  const target = new URL(url);
  if (lastEventId !== null) target.searchParams.set('last_event_id', lastEventId);
  const send = target.protocol === 'https:' ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const request: ClientRequest = send(target, {
      headers: {
        ...headers,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': key,
        'Sec-WebSocket-Protocol': subprotocol,
      },
      // A pooled connection could carry what others sent; a proxy in between sees one handshake per connection.
      agent: false,
      signal,
    });
    request.once('error', reject);
    request.once('response', (response) => refusal(response).then(reject, reject));
    request.once('upgrade', (response, socket, head) => {
      // Until it is conversed with, an error of the socket has no other listener.
      socket.once('error', reject);
      const problem = handshakeProblem(response, key, subprotocol);
      if (problem === null) return resolve({ socket, head });
      socket.destroy();
      reject(new Error(problem));
    });
    request.end();
  });
}

function handshakeProblem({ headers }: IncomingMessage, key: string, subprotocol: string): string | null {
  const proof = createHash('sha1')
    .update(key + handshakeProof)
    .digest('base64');
  if (headers['sec-websocket-accept'] !== proof) return 'the answer to the handshake does not fit it';
  if (headers['sec-websocket-protocol'] !== subprotocol) return `the hub does not speak ${subprotocol}`;
  return headers['sec-websocket-extensions'] ? 'the hub uses an extension that was not offered' : null;
}

async function refusal(response: IncomingMessage): Promise<HubResponseError> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response) {
    parts.push(part);
    size += part.length;
    if (size > maxRefusal) break;
  }
  const text = Buffer.concat(parts).subarray(0, maxRefusal).toString('utf8');
  const seconds = Number(response.headers['retry-after'] ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
  return new HubResponseError(response.statusCode ?? 0, text, 'GET /stream', retryAfter);
}

/** Resolves when the hub closes. @throws the signal's reason; what breaks the connection or its protocol */
function converse(socket: Duplex, head: Buffer, request: StreamRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    const reader = new WebSocketReader();
    const leave = (code: number): void => {
      const payload = Buffer.alloc(2);
      payload.writeUInt16BE(code);
      // Whatever the other side still wants to say, nobody listens.
      socket.end(clientFrame(opcodes.close, payload), () => socket.destroy());
    };
    const finish = (end: () => void): void => {
      request.signal.removeEventListener('abort', abort);
      socket.off('data', take);
      socket.on('error', () => {});
      end();
    };
    const abort = (): void => {
      leave(normalClosure);
      finish(() => reject(request.signal.reason));
    };
    const hear = (message: SocketMessage): boolean => {
      if (message.type === 'close') {
        leave(normalClosure);
        finish(resolve);
        return false;
      }
      if (message.type === 'ping') socket.write(clientFrame(opcodes.pong, message.bytes));
      else {
        const frame = frameOf(
          message.type === 'text'
            ? JSON.parse(message.text)
            : readMessagePack(message.bytes, { binary: true }),
        );
        if (frame) request.frame(frame);
      }
      return true;
    };
    const take = (bytes: Buffer): void => {
      request.alive();
      try {
        reader.push(bytes).every(hear);
      } catch (failure) {
        leave(protocolError);
        finish(() => reject(failure));
      }
    };
    socket.once('error', (failure) => finish(() => reject(failure)));
    socket.once('close', () => finish(() => reject(new Error('the connection was cut'))));
    socket.on('data', take);
    request.signal.addEventListener('abort', abort, { once: true });
    request.opened();
    if (request.signal.aborted) abort();
    else if (head.length > 0) take(head);
  });
}

/** Null for what is no frame, such as an answer to an agent's message. */
function frameOf(message: unknown): ReceivedFrame | null {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return null;
  const { id, ...data } = message as { readonly [name: string]: unknown };
  if (typeof data.type !== 'string') return null;
  return { id: typeof id === 'string' ? id : null, event: data.type, data };
}
