// Messages that agents send on their WebSockets: read, checked, handed over, answered with their `ref`.
import type { AgentMessage, StreamHandlers } from '../../api/stream.ts';
import { HubError } from '../../domain/error.ts';
import { readJson } from '../../domain/json.ts';
import type { Log } from '../../ports/log.ts';
import { problemOf } from '../problem.ts';
import { ResultPiece } from './encoded.ts';
import type { Stream } from './stream.ts';
import { unpack } from './unpack.ts';

/** Messages of one socket that may be under way at once. */
export const maxInFlight = 32;
/** Bytes of one message. */
export const maxMessageBytes = 1024 * 1024;

const types: ReadonlySet<unknown> = new Set(['events', 'report', 'approval']);

/** Handles one message and sends its result: `{type:"result", ref, status, body}` or `{…, detail, code}`. Never throws. */
export async function receive(
  stream: Stream,
  bytes: Uint8Array,
  binary: boolean,
  handlers: Pick<StreamHandlers, 'message'>,
  log: Log,
): Promise<void> {
  let ref: string | number | null = null;
  try {
    if (stream.caller.kind !== 'key') throw new HubError('bad_request', 'This stream takes no messages.');
    if (bytes.length > maxMessageBytes) {
      throw new HubError('payload_too_large', 'Message too large. Maximum allowed: 1MB.');
    }
    if (binary !== (stream.codec === 'msgpack')) {
      throw new HubError(
        'bad_request',
        `This socket takes ${stream.codec === 'msgpack' ? 'binary' : 'text'} messages.`,
      );
    }
    const value = stream.codec === 'msgpack' ? unpack(bytes) : readJson(bytes);
    const given: object = typeof value === 'object' && value !== null ? value : {};
    const candidate = 'ref' in given ? given.ref : null;
    if (typeof candidate === 'number' || (typeof candidate === 'string' && candidate.length <= 128))
      ref = candidate;
    if (stream.inFlight >= maxInFlight) {
      throw new HubError('too_busy', `More than ${maxInFlight} messages await their result.`);
    }
    const message = checked(given, ref);
    stream.inFlight++;
    try {
      const body = await handlers.message(stream.caller, message);
      stream.send(new ResultPiece({ type: 'result', ref, status: 200, body }));
    } finally {
      stream.inFlight--;
    }
  } catch (error) {
    if (!(error instanceof HubError)) log.error({ err: error }, 'a stream message failed');
    const { status, body } = problemOf(error);
    stream.send(new ResultPiece({ type: 'result', ref, status, ...body }));
  }
}

/** @throws HubError validation_failed */
function checked(given: object, ref: string | number | null): AgentMessage {
  const type = 'type' in given ? given.type : undefined;
  if (!types.has(type)) {
    throw new HubError('validation_failed', 'Unknown message type.', {
      problems: [{ loc: ['body', 'type'], msg: "must be 'events', 'report' or 'approval'" }],
    });
  }
  const body = 'body' in given ? given.body : {};
  return { type: type as AgentMessage['type'], body, ...(ref === null ? {} : { ref }) };
}
