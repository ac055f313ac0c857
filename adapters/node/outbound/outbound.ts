// Calls other services through the guard (src/shared/ports/outbound.ts) with node:https. One connection a call: none is
// reused for another address.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { OutboundError } from '../../../src/shared/outbound.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import type {
  Outbound,
  OutboundAddress,
  OutboundAnswer,
  OutboundHead,
  OutboundRequest,
  OutboundStream,
} from '../../../src/shared/ports/outbound.ts';
import { addressKinds } from './addresses.ts';
import { addressesOf, askNameServers, askSystem, type Lookups } from './resolve.ts';
import {
  type OutboundRules,
  type OutboundTarget,
  requirePort,
  targetOf,
  type UrlTarget,
  urlTarget,
} from './target.ts';

export interface OutboundOptions extends OutboundRules, Partial<Lookups> {
  readonly clock: Pick<Clock, 'after'>;
  /** Certificates that are trusted instead of the system's, PEM. */
  readonly ca?: string;
}

const resolveMs = 5000;
/** Node asks for the addresses of a connection here, and gets those that were judged. */
const answering =
  (addresses: readonly OutboundAddress[]): LookupFunction =>
  (_host, options, done) => {
    const [first] = addresses;
    if (options.all) done(null, [...addresses]);
    else done(null, first?.address ?? '', first?.family ?? 4);
  };

function headOf({ statusCode, headers }: IncomingMessage): OutboundHead {
  const pairs = Object.entries(headers).map(([name, value]): [string, string] => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return { status: statusCode ?? 0, headers: new Map(pairs) };
}

/** Early end of a call, once: by its time limit, its caller, or a failure of the connection. */
class Ending {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #ms: number;
  readonly #signal: AbortSignal | undefined;
  readonly #closers = new Set<(error: OutboundError) => void>();
  #timer: { cancel(): void };
  error: OutboundError | null = null;

  constructor(clock: Pick<Clock, 'after'>, { timeoutMs, signal }: OutboundRequest) {
    this.#clock = clock;
    this.#ms = timeoutMs;
    this.#signal = signal;
    this.#timer = clock.after(timeoutMs, this.#late);
    signal?.addEventListener('abort', this.#gone);
    if (signal?.aborted) this.#gone();
  }

  /** @throws OutboundError when the work fails, or as soon as the call ends */
  async during<T>(work: Promise<T>): Promise<T> {
    let closer: (error: OutboundError) => void = () => {};
    const ended = new Promise<never>((_, fail) => {
      closer = fail;
      if (this.error) fail(this.error);
    });
    this.#closers.add(closer);
    try {
      return await Promise.race([work, ended]);
    } catch (error) {
      this.end(error instanceof OutboundError ? error : new OutboundError('connection'));
      throw this.error;
    } finally {
      this.#closers.delete(closer);
    }
  }

  /** The request is destroyed when the call ends. */
  own(request: ClientRequest): void {
    this.#closers.add(() => request.destroy());
  }

  /** Restarts the time limit. */
  prolong(): void {
    this.#timer.cancel();
    if (this.error === null) this.#timer = this.#clock.after(this.#ms, this.#late);
  }

  /** Safe to repeat: the first reason stands. */
  end(error: OutboundError): void {
    if (this.error) return;
    this.error = error;
    this.#timer.cancel();
    this.#signal?.removeEventListener('abort', this.#gone);
    for (const close of this.#closers) close(error);
  }

  readonly #late = (): void => this.end(new OutboundError('timeout'));
  readonly #gone = (): void => this.end(new OutboundError('aborted'));
}

/** The pieces of an answer, counted. */
async function* piecesOf(
  answer: IncomingMessage,
  ending: Ending,
  maxBytes: number,
  prolongs: boolean,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > maxBytes) throw new OutboundError('too_large');
      if (prolongs) ending.prolong();
      yield piece;
    }
  } catch (error) {
    throw ending.error ?? (error instanceof OutboundError ? error : new OutboundError('connection'));
  } finally {
    ending.end(new OutboundError('aborted'));
  }
}

/** Resolves with the answer's head. */
const answerOf = (call: ClientRequest, body: string | Uint8Array | undefined): Promise<IncomingMessage> =>
  new Promise((done, fail) => {
    call.on('response', done);
    call.on('error', fail);
    call.on('close', fail);
    call.end(body);
  });

class GuardedOutbound implements Outbound {
  readonly #options: OutboundOptions;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #ca: OutboundOptions['ca'];
  readonly #byName: NonNullable<OutboundOptions['byName']>;
  readonly #bySystem: NonNullable<OutboundOptions['bySystem']>;
  readonly #kindOf: ReturnType<typeof addressKinds> = addressKinds();

  constructor(options: OutboundOptions) {
    this.#options = options;
    const { clock, ca, byName = askNameServers, bySystem = askSystem } = options;
    this.#clock = clock;
    this.#ca = ca;
    this.#byName = byName;
    this.#bySystem = bySystem;
  }

  open(request: OutboundRequest): Promise<OutboundStream> {
    return this.#begin(request, true);
  }

  async send(request: OutboundRequest): Promise<OutboundAnswer> {
    const { status, headers, body } = await this.#begin(request, false);
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return { status, headers, body: new Uint8Array(Buffer.concat(pieces)) };
  }

  async check(text: string): Promise<void> {
    await this.#within(this.#judge(urlTarget(text, this.#options)));
  }

  resolve(host: string, port: number): Promise<readonly OutboundAddress[]> {
    return this.#within(this.#addresses(targetOf(host.replace(/^\[|\]$/g, ''), port, this.#options)));
  }

  #addresses(target: OutboundTarget): Promise<readonly OutboundAddress[]> {
    return addressesOf(target, this.#options, this.#kindOf, {
      byName: this.#byName,
      bySystem: this.#bySystem,
    });
  }

  /** @throws OutboundError */
  async #judge(target: UrlTarget): Promise<readonly OutboundAddress[]> {
    const resolved = await this.#addresses(target);
    // Where private addresses are allowed, the port of the target was not checked before.
    if (resolved.some(({ address }) => this.#kindOf(address) === 'public')) requirePort(target);
    const isPlain = target.url.protocol === 'http:';
    if (
      isPlain &&
      !target.isNamed &&
      !resolved.every(({ address }) => this.#kindOf(address) === 'loopback')
    ) {
      throw new OutboundError('refused', 'The URL must begin with https://, except on this machine.');
    }
    return resolved;
  }

  async #begin(request: OutboundRequest, prolongs: boolean): Promise<OutboundStream> {
    const target = urlTarget(request.url, this.#options);
    const { body } = request;
    const ending = new Ending(this.#clock, request);
    const judged = await ending.during(this.#judge(target));
    const call = (target.url.protocol === 'http:' ? httpRequest : httpsRequest)(target.url, {
      method: request.method ?? 'GET',
      headers: {
        ...request.headers,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      lookup: answering(judged),
      agent: false,
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
    });
    ending.own(call);
    const answer = await ending.during(answerOf(call, body));
    if (prolongs) ending.prolong();
    return {
      ...headOf(answer),
      body: piecesOf(answer, ending, request.maxBytes, prolongs),
      close: () => ending.end(new OutboundError('aborted')),
    };
  }

  /** The same within the time of a look-up. */
  async #within<T>(work: Promise<T>): Promise<T> {
    const ending = new Ending(this.#clock, { url: '', timeoutMs: resolveMs, maxBytes: 0 });
    try {
      return await ending.during(work);
    } finally {
      ending.end(new OutboundError('aborted'));
    }
  }
}

export const createOutbound = (options: OutboundOptions): Outbound => new GuardedOutbound(options);
