// The agent stream over a WebSocket, by the package `ws`, which an agent installs beside this one when it wants it.
// Does not reconnect (follower.ts does).
import type { IncomingMessage } from 'node:http';
import { HubConnectionError, HubResponseError } from '../failure.ts';
import { readMessagePack } from '../rules/msgpack.ts';
import type { ReceivedFrame, StreamRequest, StreamTransport } from './transport.ts';

/** The part of a `ws` client that is used. */
interface Socket {
  readonly protocol: string;
  on(event: 'open' | 'ping', listener: () => void): this;
  on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): this;
  on(event: 'close', listener: (code: number) => void): this;
  on(event: 'error', listener: (failure: Error) => void): this;
  on(event: 'unexpected-response', listener: (request: unknown, response: IncomingMessage) => void): this;
  close(code: number): void;
  terminate(): void;
}

type SocketClass = new (
  url: string,
  protocols: readonly string[],
  options: { readonly headers: object; readonly maxPayload: number; readonly perMessageDeflate: false },
) => Socket;

/** The subprotocol of messages in this encoding. */
const subprotocolOf = (encoding: 'json' | 'msgpack'): string => `reeve.v1.${encoding}`;

/** Bytes of one message: a bundle of a megabyte in base64, with room. */
const maxMessage = 4 * 1024 * 1024;
const maxRefusal = 64 * 1024;
const normalClosure = 1000;
const protocolError = 1002;
/** A connection that ended without a closing handshake. */
const abnormalClosure = 1006;

/**
 * Messages over a WebSocket; each is a frame's data with `type` and `id` in it.
 * @param encoding of the messages: JSON text, or MessagePack, which is smaller
 */
export const webSocketTransport =
  (encoding: 'json' | 'msgpack' = 'json'): StreamTransport =>
  async (request) => {
    const WebSocket = await loadWebSocket();
    try {
      await converse(WebSocket, request, subprotocolOf(encoding));
    } catch (failure) {
      if (failure instanceof HubResponseError) throw failure;
      throw new HubConnectionError('the WebSocket', request.signal.aborted ? request.signal.reason : failure);
    }
  };

/** @throws TypeError when `ws` is not installed */
export async function loadWebSocket(): Promise<SocketClass> {
  // Not a literal, so that no bundler insists on the package.
  const name: string = 'ws';
  try {
    return ((await import(name)) as { readonly default: SocketClass }).default;
  } catch (failure) {
    throw new TypeError("option transport: 'websocket' needs the package ws (npm install ws)", {
      cause: failure,
    });
  }
}

/**
 * Resolves when the hub closes.
 * @throws the signal's reason; what the hub refuses; what breaks the connection or its protocol
 */
function converse(WebSocket: SocketClass, request: StreamRequest, subprotocol: string): Promise<void> {
  const { url, headers, lastEventId, signal } = request;
  const target = new URL(url.replace(/^http/, 'ws'));
  if (lastEventId !== null) target.searchParams.set('last_event_id', lastEventId);
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = new WebSocket(target.href, [subprotocol], {
      headers,
      maxPayload: maxMessage,
      perMessageDeflate: false,
    });
    const leave = (code: number, failure: unknown): void => {
      reject(failure);
      socket.close(code);
      // Later messages from the other side have no reader.
      socket.terminate();
    };
    const abort = (): void => leave(normalClosure, signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    socket
      .on('open', () => {
        if (!signal.aborted) request.opened();
      })
      .on('ping', () => request.alive())
      .on('message', (data, isBinary) => {
        if (signal.aborted) return;
        request.alive();
        try {
          const frame = frameOf(
            isBinary ? readMessagePack(data, { binary: true }) : JSON.parse(data.toString('utf8')),
          );
          if (frame) request.frame(frame);
        } catch (failure) {
          leave(protocolError, failure);
        }
      })
      .on('unexpected-response', (_request, response) => {
        refusal(response)
          .then(reject, reject)
          .finally(() => socket.terminate());
      })
      // An error comes before the end of its connection.
      .on('error', reject)
      .on('close', (code) => {
        signal.removeEventListener('abort', abort);
        if (code === abnormalClosure) reject(new Error('the connection broke'));
        else resolve();
      });
  });
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

/** Null for what is no frame, such as an answer to an agent's message. */
function frameOf(message: unknown): ReceivedFrame | null {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return null;
  const { id, ...data } = message as { readonly [name: string]: unknown };
  if (typeof data.type !== 'string') return null;
  return { id: typeof id === 'string' ? id : null, event: data.type, data };
}
