// Common parts of the wire formats: the call through the outbound guard, and the texts of its failures.

import type { AiEvent, AiRequest } from '../../src/assistant/port/model.ts';
import { AiError, type AiFailure } from '../../src/assistant/record.ts';
import { OutboundError } from '../../src/shared/outbound.ts';
import type { Outbound, OutboundStream } from '../../src/shared/ports/outbound.ts';
import { type ServerEvent, serverEvents } from './sse.ts';

/** How one provider is spoken to. */
export interface WireFormat {
  /** The path below the base address, with a slash. */
  readonly path: string;
  headers(request: AiRequest): Readonly<Record<string, string>>;
  body(request: AiRequest): object;
  /** A reader of one answer. */
  reader(): AnswerReader;
}

export interface AnswerReader {
  /** Model events in one server event of the answer. @throws AiError */
  read(event: ServerEvent): readonly AiEvent[];
  /** True once nothing more of the answer will come. */
  readonly complete: boolean;
  /** True once the provider has marked the answer as whole: the connection may end then. */
  readonly whole: boolean;
  /** The reason of the provider for an answer that ended early; null for a complete one. */
  readonly failure: AiFailure | null;
}

/** Bytes of one answer. */
const maxBytes = 8 * 1024 * 1024;

const outboundFailures = {
  refused: 'refused',
  unresolved: 'connection',
  connection: 'connection',
  timeout: 'timeout',
  too_large: 'malformed',
  aborted: 'aborted',
} as const;

export const failureOf = (error: unknown): unknown =>
  error instanceof OutboundError ? new AiError(outboundFailures[error.failure]) : error;

function failureOfStatus(status: number): AiError {
  if (status === 401 || status === 403) return new AiError('unauthorized');
  if (status === 429) return new AiError('rate_limited');
  if (status === 408 || status === 504) return new AiError('timeout');
  return new AiError(status >= 500 ? 'unavailable' : 'rejected');
}

/** A base address that names no path means the first version of the API. */
export const addressOf = (base: string, path: string): string => {
  const url = new URL(base);
  const root = url.pathname.replace(/(?<!\/)\/+$/, '');
  return `${url.origin}${root === '' ? '/v1' : root}${path}`;
};

/** A JSON object, or a failure. @throws AiError malformed */
export function objectOf(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AiError('malformed');
  }
  return fieldsOf(value);
}

/** JSON that strangers wrote: any field may be anything. */
export interface Fields {
  readonly [name: string]: unknown;
}

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const countOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** One answer. @throws AiError */
export async function* askOver(
  outbound: Pick<Outbound, 'open'>,
  format: WireFormat,
  base: string,
  request: AiRequest,
): AsyncGenerator<AiEvent> {
  let stream: OutboundStream | null = null;
  try {
    stream = await outbound.open({
      url: addressOf(base, format.path),
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...format.headers(request),
      },
      body: JSON.stringify(format.body(request)),
      timeoutMs: request.timeoutMs,
      maxBytes,
      signal: request.signal,
    });
    if (stream.status !== 200) throw failureOfStatus(stream.status);
    if (!(stream.headers.get('content-type') ?? '').includes('text/event-stream')) {
      throw new AiError('malformed');
    }
    const reader = format.reader();
    for await (const event of serverEvents(stream.body)) {
      yield* reader.read(event);
      if (reader.complete) break;
    }
    if (!reader.whole) throw new AiError('connection');
    if (reader.failure !== null) throw new AiError(reader.failure);
  } catch (error) {
    throw failureOf(error);
  } finally {
    stream?.close();
  }
}
