// Messages from agents on WebSockets: counts them, reads a few in each turn of the event loop, passes them on, and
// answers with their `ref`. Too many messages, or too many mistakes, end the socket.

import { refusalOf } from '../../admission/admission.ts';
import { callerNames, type LimitedCaller } from '../../admission/caller-name.ts';
import { type Sender, SocketRates } from '../../admission/socket-rates.ts';
import { admissionTable } from '../../admission/table.ts';
import type { ByteBudget } from '../../shared/concurrency/byte-budget.ts';
import { bytesPerTurn, type EventLoopBudget } from '../../shared/concurrency/event-loop-budget.ts';
import { HubError } from '../../shared/error.ts';
import { measureJson, readLooseJson } from '../../shared/json/json.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Log } from '../../shared/ports/log.ts';
import { continued } from '../../shared/tracing.ts';
import { RequestError } from '../contract/request-error.ts';
import type { AgentMessage, StreamHandlers } from '../contract/stream.ts';
import { problemOf } from '../problem.ts';
import { SocketPiece } from './encoded.ts';
import type { IncomingMessages, Message } from './incoming.ts';
import type { LiveCaller, Stream } from './stream.ts';
import { unpackLoosely } from './unpack.ts';

/** Bytes of one message. */
export const maxMessageBytes = 1024 * 1024;
const [{ atOnce: maxInFlight, waiting: maxWaiting, bytes: maxWaitingBytes }] =
  admissionTable.socketQueue.bounds;
/** Bytes that the smallest message counts in a turn of the event loop. */
const minTurnBytes = 2 * 1024;
const maxTraceLength = 512;

export interface SocketMessages {
  /** Before a WebSocket of this caller opens. @throws HubError rate_limited after too many mistakes */
  admit(caller: LimitedCaller): void;
  /** Takes a message; the stream may have ended over it. */
  received(stream: Stream, bytes: Uint8Array, binary: boolean): void;
  /** A control frame. @param unread answers to earlier ones wait to be read */
  pinged(stream: Stream, unread: boolean): void;
  /** The stream has ended: what waits is forgotten. */
  closed(stream: Stream): void;
}

export interface SocketMessagesOptions {
  readonly handlers: Pick<StreamHandlers, 'message'>;
  /** Counts the bytes of messages until they are dealt with. */
  readonly received: ByteBudget;
  readonly turns: EventLoopBudget;
  readonly clock: Clock;
  readonly log: Log;
}

export const createSocketMessages = (options: SocketMessagesOptions): SocketMessages =>
  new MessageQueues(options);

class MessageQueues implements SocketMessages {
  readonly #options: SocketMessagesOptions;
  readonly #rates = new SocketRates();

  constructor(options: SocketMessagesOptions) {
    this.#options = options;
  }

  admit(caller: LimitedCaller): void {
    if (this.#rates.mayOpen(nameOf(caller), this.#options.clock.monotonic())) return;
    throw refusalOf('socketMistakes');
  }

  received(stream: Stream, bytes: Uint8Array, binary: boolean): void {
    const { received, clock } = this.#options;
    const incoming = this.#incomingOf(stream);
    const size = bytes.length;
    const network = networkOf(stream.caller);
    const fits =
      incoming.sender.message(size, clock.monotonic()) &&
      incoming.waiting.length < maxWaiting &&
      incoming.waitingBytes + size <= maxWaitingBytes &&
      received.exceeded(network, size) === null;
    if (!fits) {
      stream.end('flood');
      return;
    }
    received.take(network, size);
    incoming.waitingBytes += size;
    incoming.waiting.push({ bytes, binary });
    void this.#work(stream, incoming);
  }

  pinged(stream: Stream, unread: boolean): void {
    const { sender } = this.#incomingOf(stream);
    const now = this.#options.clock.monotonic();
    if (!sender.message(0, now) || (unread && !sender.mistake(now))) stream.end('flood');
  }

  closed(stream: Stream): void {
    const { incoming } = stream;
    if (!incoming) return;
    this.#options.received.give(networkOf(stream.caller), incoming.waitingBytes);
    incoming.waitingBytes = 0;
    incoming.waiting.length = 0;
  }

  #incomingOf(stream: Stream): IncomingMessages {
    stream.incoming ??= {
      sender: this.#rates.open(nameOf(stream.caller), this.#options.clock.monotonic()),
      waiting: [],
      waitingBytes: 0,
      inFlight: 0,
      working: false,
    };
    return stream.incoming;
  }

  /** Hands over what waits, one message in a turn of the event loop, until enough are under way. */
  async #work(stream: Stream, incoming: IncomingMessages): Promise<void> {
    if (incoming.working) return;
    const { received, turns } = this.#options;
    incoming.working = true;
    while (incoming.inFlight < maxInFlight) {
      const message = incoming.waiting.shift();
      if (!message) break;
      const size = message.bytes.length;
      incoming.waitingBytes -= size;
      await turns.next(Math.max(minTurnBytes, size));
      incoming.inFlight++;
      void this.#handle(stream, incoming.sender, message).finally(() => {
        received.give(networkOf(stream.caller), size);
        incoming.inFlight--;
        void this.#work(stream, incoming);
      });
    }
    incoming.working = false;
  }

  /** Never throws. */
  async #handle(stream: Stream, sender: Sender, message: Message): Promise<void> {
    if (stream.ended) return;
    const { handlers, turns, clock, log } = this.#options;
    let ref: Ref = null;
    try {
      if (stream.caller.kind !== 'key' || stream.sender === null)
        throw new HubError('bad_request', 'This stream accepts no messages.');
      const { fields, rounded } = read(stream, message);
      ref = refOf(fields);
      // A large message is parsed in one turn and dealt with in another.
      const { length } = message.bytes;
      if (length > bytesPerTurn) await turns.next(length);
      const caller = stream.caller;
      const checkedMessage = checked(fields, ref, rounded);
      const body = await continued(`message ${checkedMessage.type}`, 'server', traceOf(fields), () =>
        handlers.message(caller, checkedMessage),
      );
      stream.send(new SocketPiece({ type: 'result', ref, status: 200, body }));
    } catch (error) {
      if (!(error instanceof HubError)) log.error({ err: error }, 'a stream message failed');
      const { status, body } = problemOf(error);
      stream.send(new SocketPiece({ type: 'result', ref, status, ...body }));
      if (mistakes.has(status) && !sender.mistake(clock.monotonic())) stream.end('mistakes');
    }
  }
}

/** Statuses of messages that are wrong whenever they are sent. */
const mistakes: ReadonlySet<number> = new Set([400, 403, 413, 415, 422]);

type Ref = string | number | null;

const nameOf = (caller: LimitedCaller): string => callerNames.requestsOf(caller) ?? '';

/** Owner of the waiting bytes: the network of a key, else the name of the caller. */
const networkOf = (caller: LiveCaller): string => (caller.kind === 'key' ? caller.network : nameOf(caller));

/** @throws HubError payload_too_large, bad_request, invalid_json */
function read(
  stream: Stream,
  { bytes, binary }: Message,
): { readonly fields: object; readonly rounded: unknown } {
  if (bytes.length > maxMessageBytes) {
    throw new HubError('payload_too_large', 'Message too large. Maximum allowed: 1MB.');
  }
  if (binary !== (stream.codec === 'msgpack')) {
    const kind = stream.codec === 'msgpack' ? 'binary' : 'text';
    throw new HubError('bad_request', `This socket accepts only ${kind} messages.`);
  }
  const { value, rounded } = stream.codec === 'msgpack' ? unpackLoosely(bytes) : readLooseJson(bytes);
  const members: object = typeof value === 'object' && value !== null ? value : {};
  // Events are judged one by one: an odd text in one of them must not refuse the others.
  if (!('type' in members && members.type === 'events')) measureJson(value);
  return { fields: members, rounded };
}

function refOf(message: object): Ref {
  const ref = 'ref' in message ? message.ref : null;
  return typeof ref === 'number' || (typeof ref === 'string' && ref.length <= 128) ? ref : null;
}

/** The `traceparent` of a message: the span of its work continues the sender's. */
function traceOf(message: object): string | null {
  const trace = 'traceparent' in message ? message.traceparent : null;
  return typeof trace === 'string' && trace.length <= maxTraceLength ? trace : null;
}

const types: ReadonlySet<unknown> = new Set(['events', 'report', 'approval']);

const bodyOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'body' in message ? message.body : undefined;

/** @throws HubError validation_failed */
function checked(message: object, ref: Ref, rounded: unknown): AgentMessage {
  const type = 'type' in message ? message.type : undefined;
  if (!types.has(type)) {
    throw new RequestError('validation_failed', 'Unknown message type.', {
      problems: [{ loc: ['body', 'type'], msg: "must be 'events', 'report' or 'approval'" }],
    });
  }
  return {
    type: type as AgentMessage['type'],
    body: 'body' in message ? message.body : {},
    rounded: bodyOf(rounded),
    ...(ref === null ? {} : { ref }),
  };
}
