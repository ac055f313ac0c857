// One connection of the agent stream, over server-sent events or a WebSocket. Neither reconnects (follower.ts does).
import { piecesOf } from '../body.ts';
import { HubConnectionError, HubResponseError } from '../failure.ts';
import { retryAfterOf, rootOf } from '../http.ts';
import { SseParser, type StreamFrame } from './sse.ts';

export interface StreamRequest {
  /** With its query. */
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  /** The position to go on from; null at first. */
  readonly lastEventId: string | null;
  /** Ends the connection. */
  readonly signal: AbortSignal;
  opened(): void;
  /** Any bytes came. */
  alive(): void;
  frame(frame: StreamFrame): void;
}

/** Resolves when the hub ends the stream. @throws HubResponseError, HubConnectionError */
export type StreamTransport = (request: StreamRequest) => Promise<void>;

const maxRefusal = 64 * 1024;

/** Server-sent events over fetch: the default. */
export const sseTransport =
  (fetch: typeof globalThis.fetch): StreamTransport =>
  async (request) => {
    try {
      const response = await fetch(request.url, {
        headers: {
          ...request.headers,
          Accept: 'text/event-stream',
          ...(request.lastEventId === null ? {} : { 'Last-Event-ID': request.lastEventId }),
        },
        signal: request.signal,
        redirect: 'error',
      });
      const type = response.headers.get('content-type') ?? '';
      if (response.status !== 200 || !type.startsWith('text/event-stream') || !response.body) {
        throw await refusal(response, request.signal);
      }
      request.opened();
      const parser = new SseParser();
      for await (const bytes of piecesOf(response, request.signal)) {
        request.alive();
        for (const frame of parser.push(bytes)) request.frame(frame);
      }
    } catch (failure) {
      if (failure instanceof HubResponseError) throw failure;
      throw new HubConnectionError(
        'GET /stream',
        request.signal.aborted ? request.signal.reason : rootOf(failure),
      );
    }
  };

async function refusal(response: Response, signal: AbortSignal): Promise<HubResponseError> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of piecesOf(response, signal)) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > maxRefusal) break;
  }
  return new HubResponseError(
    response.status,
    text.slice(0, maxRefusal),
    'GET /stream',
    retryAfterOf(response),
  );
}

/** The part of a WebSocket that is used. */
export interface WebSocketLike {
  addEventListener(type: 'open' | 'close' | 'error' | 'message', listener: (event: never) => void): void;
  close(): void;
}

/** Node's own WebSocket takes headers in its second argument; so must any other that is brought. */
export type WebSocketConstructor = new (
  url: string,
  options: { readonly protocols: string[]; readonly headers: { readonly [name: string]: string } },
) => WebSocketLike;

const subprotocol = 'reeve.v1.json';

/** JSON messages over a WebSocket; each is a frame's data with `type` and `id` in it. */
export const webSocketTransport =
  (WebSocket: WebSocketConstructor): StreamTransport =>
  (request) =>
    new Promise((resolve, reject) => {
      const url = new URL(request.url);
      url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
      if (request.lastEventId !== null) url.searchParams.set('last_event_id', request.lastEventId);
      const socket = new WebSocket(url.href, { protocols: [subprotocol], headers: request.headers });
      const fail = (cause: unknown): void => {
        reject(new HubConnectionError('the WebSocket', cause));
        socket.close();
      };
      request.signal.addEventListener('abort', () => fail(request.signal.reason), { once: true });
      socket.addEventListener('open', () => request.opened());
      socket.addEventListener('close', () => resolve());
      socket.addEventListener('error', (event: { readonly message?: string }) =>
        fail(new Error(event?.message || 'refused or cut')),
      );
      socket.addEventListener('message', (event: { readonly data?: unknown }) => {
        request.alive();
        try {
          const frame = messageFrame(event.data);
          if (frame) request.frame(frame);
        } catch (failure) {
          fail(failure);
        }
      });
      if (request.signal.aborted) fail(request.signal.reason);
    });

function messageFrame(data: unknown): StreamFrame | null {
  if (typeof data !== 'string') return null;
  const { id, ...rest } = JSON.parse(data) as { readonly id?: unknown; readonly type?: unknown };
  if (typeof rest.type !== 'string') return null;
  return { id: typeof id === 'string' ? id : null, event: rest.type, data: JSON.stringify(rest) };
}
