// One connection of the agent stream: what every transport is given, and the one over server-sent events. Does not
// reconnect (follower.ts does).
import { bodyParts } from '../body.ts';
import { HubConnectionError, HubResponseError } from '../failure.ts';
import { retryAfterOf, rootOf } from '../http.ts';
import { SseParser } from './sse.ts';

/** A frame as a transport gives it: data as JSON text, or read already. */
export interface ReceivedFrame {
  /** The position to name when the stream is taken up again; null when the frame has none. */
  readonly id: string | null;
  readonly event: string;
  readonly data: string | { readonly [name: string]: unknown };
}

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
  frame(frame: ReceivedFrame): void;
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
      for await (const bytes of bodyParts(response.body, request.signal)) {
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
  for await (const bytes of response.body ? bodyParts(response.body, signal) : []) {
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
