// Limits for WebSocket clients: messages, bytes and mistakes, counted per socket and per caller (an API key with its
// agent id and network). A limit per socket is not enough, because a client can open a new one at once.
import { type Rate, TokenBucket } from '../shared/concurrency/token-bucket.ts';
import { admissionTable } from './table.ts';

interface Rates {
  /** Messages, and pings. */
  readonly messages: Rate;
  readonly bytes: Rate;
  /** Messages that are refused for what they are, and pings while pongs wait to be read. */
  readonly mistakes: Rate;
}

const { socketMessages, socketBytes, socketMistakes } = admissionTable;

/** @param bound its index in each class: 0 for a socket, 1 for all sockets of a caller */
const ratesOf = (bound: 0 | 1): Rates => {
  const [messages, bytes, mistakes] = [
    socketMessages.bounds[bound],
    socketBytes.bounds[bound],
    socketMistakes.bounds[bound],
  ] as const;
  return {
    messages: { burst: messages.atOnce, perSecond: messages.perSecond },
    bytes: { burst: bytes.bytes, perSecond: bytes.perSecond },
    mistakes: { burst: mistakes.atOnce, perSecond: mistakes.perSecond },
  };
};
const ofSocket = ratesOf(0);
const ofCaller = ratesOf(1);
/** Callers are looked through when there are so many, and again when there are twice as many as were left. */
const minLookThrough = 1_000;

class Counts {
  readonly messages: TokenBucket;
  readonly bytes: TokenBucket;
  readonly mistakes: TokenBucket;

  constructor({ messages, bytes, mistakes }: Rates, now: number) {
    this.messages = new TokenBucket(messages, now);
    this.bytes = new TokenBucket(bytes, now);
    this.mistakes = new TokenBucket(mistakes, now);
  }

  /** False: too many messages, or too many bytes. */
  message(bytes: number, now: number): boolean {
    return this.messages.take(1, now) && this.bytes.take(bytes, now);
  }

  mistake(now: number): boolean {
    return this.mistakes.take(1, now);
  }

  isFull(now: number): boolean {
    return this.messages.isFull(now) && this.bytes.isFull(now) && this.mistakes.isFull(now);
  }
}

/** The counts of one socket and of the caller it belongs to. */
export class Sender {
  readonly #socket: Counts;
  readonly #caller: Counts;

  constructor(caller: Counts, now: number) {
    this.#socket = new Counts(ofSocket, now);
    this.#caller = caller;
  }

  /** Counts a message. False: the socket must end. */
  message(bytes: number, now: number): boolean {
    // Both are asked: a message counts for the caller although the socket ends over it.
    const mayCaller = this.#caller.message(bytes, now);
    return this.#socket.message(bytes, now) && mayCaller;
  }

  /** Counts a mistake. False: the socket must end. */
  mistake(now: number): boolean {
    const mayCaller = this.#caller.mistake(now);
    return this.#socket.mistake(now) && mayCaller;
  }
}

export class SocketRates {
  readonly #callers = new Map<string, Counts>();
  #lookThroughAt = minLookThrough;

  /** The counts of a new socket. */
  open(caller: string, now: number): Sender {
    let counts = this.#callers.get(caller);
    if (!counts) {
      this.#forgetIdle(now);
      counts = new Counts(ofCaller, now);
      this.#callers.set(caller, counts);
    }
    return new Sender(counts, now);
  }

  /** False while the caller made so many mistakes that a new socket would end at its first. */
  mayOpen(caller: string, now: number): boolean {
    return (this.#callers.get(caller)?.mistakes.left(now) ?? 1) >= 1;
  }

  /**
   * A caller whose buckets are full again is as one that is not known. A socket that is open still counts with the
   * object it has.
   */
  #forgetIdle(now: number): void {
    if (this.#callers.size < this.#lookThroughAt) return;
    for (const [name, counts] of this.#callers) if (counts.isFull(now)) this.#callers.delete(name);
    this.#lookThroughAt = Math.max(minLookThrough, 2 * this.#callers.size);
  }
}
