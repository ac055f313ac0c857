// An MCP server over streamable HTTP (Model Context Protocol, "Transports"): a POST for each message, answered with
// JSON or a stream of events, and for legacy servers a stream of what they send by themselves. The headers that repeat
// a modern request are written from it.
import { Backoff } from '../../backoff.ts';
import { bodyParts } from '../../body.ts';
import { type Clock, sleep } from '../../clock.ts';
import { retryAfterOf, rootOf } from '../../http.ts';
import { SseParser } from '../../stream/sse.ts';
import type { Connect, Connection, ConnectionEvents } from './connection.ts';
import { eraOf, modernVersion } from './era.ts';
import { headersOf, type ParamDeclaration } from './headers.ts';
import {
  codes,
  failureOf,
  type Id,
  type Message,
  MessageError,
  maxMessage,
  readServerMessages,
  textOf,
} from './message.ts';

export interface RemoteOptions {
  readonly url: string;
  /** On every request, such as the server's own authorization. */
  readonly headers: { readonly [name: string]: string };
  readonly clock: Clock;
  /** Gets a sentence about an event from the server that is no message. */
  readonly writeLog?: (text: string) => void;
  readonly fetch?: typeof globalThis.fetch;
}

/** Times that a cut stream is resumed before its request counts as failed. */
const maxResumes = 5;
const resumeWait = 1000;
/** Milliseconds of a stream without events after which a server that ends it is asked again soon. */
const longEnough = 5000;

export const remoteServer =
  (options: RemoteOptions): Connect =>
  (events) =>
    new RemoteConnection(options, events);

class RemoteConnection implements Connection {
  readonly #options: RemoteOptions;
  readonly #fetch: typeof globalThis.fetch;
  readonly #events: ConnectionEvents;
  readonly #closed = new AbortController();
  /** Modern requests without an answer: one ends when its stream is closed. */
  readonly #open = new Map<Id, AbortController>();
  /** The server's own headers, once it has answered the handshake. */
  #session: string | null = null;
  #version: string | null = null;
  /** The handshake that the server has not answered; null: none. */
  #greeting: { readonly id: Id; readonly onAnswer: () => void } | null = null;
  /** Messages leave in order up to their answers' headers only where the handshake needs it. */
  #ready: Promise<void> = Promise.resolve();
  /** Of the stream for what the server sends by itself. */
  readonly #backoff: Backoff;

  constructor(options: RemoteOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch;
    this.#events = events;
    this.#backoff = new Backoff(options.clock);
  }

  send(message: Message, declarations: readonly ParamDeclaration[] = []): void {
    if (message.kind === 'request' && eraOf(message).isModern) {
      const cancelled = new AbortController();
      this.#open.set(message.id, cancelled);
      const headers = headersOf(message, modernVersion, declarations);
      const signal = AbortSignal.any([this.#closed.signal, cancelled.signal]);
      return void this.#post(message, signal, headers).finally(() => this.#open.delete(message.id));
    }
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') {
      const open = this.#open.get(message.params.requestId as Id);
      if (open) return void open.abort(new Error('cancelled'));
    }
    const before = this.#ready;
    const sent = before.then(() => this.#post(message, this.#closed.signal));
    if (message.kind === 'request' && message.method === 'initialize') {
      // A server may keep the stream of its answer open.
      const answered = new Promise<void>((resolve) => {
        this.#greeting = { id: message.id, onAnswer: resolve };
      });
      this.#ready = Promise.race([sent, answered]);
    }
    if (message.kind === 'notification' && message.method === 'notifications/initialized') {
      this.#ready = sent;
      void sent.then(() => this.#listen());
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'));
    if (this.#session === null) return;
    const end = { method: 'DELETE', headers: this.#headers(), signal: AbortSignal.timeout(2000) };
    await this.#fetch(this.#options.url, end).catch(() => {});
  }

  /** @param modern headers that repeat a modern request; null: the message belongs to the legacy session */
  #headers(more: { readonly [name: string]: string } = {}, modern: typeof more | null = null): Headers {
    const headers = new Headers(this.#options.headers);
    const session = {
      ...(this.#session === null ? {} : { 'Mcp-Session-Id': this.#session }),
      ...(this.#version === null ? {} : { 'MCP-Protocol-Version': this.#version }),
    };
    for (const [name, value] of Object.entries({ ...(modern ?? session), ...more })) headers.set(name, value);
    return headers;
  }

  /** Resolves when the message has been answered. Never rejects: what goes wrong is the answer. */
  async #post(
    message: Message,
    signal: AbortSignal,
    modern: { readonly [name: string]: string } | null = null,
  ): Promise<void> {
    try {
      const response = await this.#fetch(this.#options.url, {
        method: 'POST',
        headers: this.#headers(
          { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
          modern,
        ),
        body: textOf(message),
        signal,
        redirect: 'error',
      });
      if (response.status === 404 && this.#session !== null && !modern) {
        await response.body?.cancel();
        return this.#loseSession();
      }
      if (!response.ok) {
        const text = await bounded(response, signal).catch(() => '');
        if (message.kind === 'request' && this.#refused(message.id, text)) return;
        throw new Error(`it answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 200)}`}`);
      }
      this.#backoff.reset();
      if (message.kind === 'request' && message.method === 'initialize') {
        this.#session = response.headers.get('mcp-session-id');
      }
      await this.#answer(message, response, signal);
    } catch (failure) {
      if (signal.aborted || message.kind !== 'request') return;
      const root = rootOf(failure);
      const reason = root instanceof Error ? root.message : String(root);
      this.#events.message(failureOf(message.id, codes.server, `cannot reach the MCP server: ${reason}`));
    }
  }

  /** Ends the open streams too: nothing reads them after a restart. */
  #loseSession(): void {
    this.#session = null;
    this.#closed.abort(new Error('the session is lost'));
    this.#events.ended('lost the session');
  }

  /** Takes the error in the body of a refusal. False: there is none for the request. */
  #refused(id: Id, text: string): boolean {
    try {
      const [answer] = readServerMessages(text);
      if (answer?.kind !== 'response' || answer.id !== id || !answer.error) return false;
      this.#events.message(answer, id);
      return true;
    } catch {
      return false;
    }
  }

  async #answer(message: Message, response: Response, signal: AbortSignal): Promise<void> {
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('text/event-stream')) {
      const awaited = message.kind === 'request' ? message.id : null;
      return this.#follow(response, awaited, signal);
    }
    const text = await bounded(response, signal);
    const related = message.kind === 'request' ? message.id : null;
    const isJson = type.startsWith('application/json') && text !== '';
    const answered = isJson ? this.#take(text, related) : [];
    if (related === null || answered.includes(related)) return;
    throw new Error(isJson ? 'it answered another request' : 'it answered without a message');
  }

  #take(text: string, related: Id | null): Id[] {
    const messages = readServerMessages(text);
    for (const message of messages) {
      const result = message.kind === 'response' ? message.result : undefined;
      const version = (result as { readonly protocolVersion?: unknown } | null | undefined)?.protocolVersion;
      if (this.#version === null && typeof version === 'string') this.#version = version;
      this.#events.message(message, related);
      if (message.kind === 'response' && message.id === this.#greeting?.id) this.#greeting.onAnswer();
    }
    return messages.flatMap((message) => (message.kind === 'response' ? [message.id] : []));
  }

  /** An event that is no message does not end its stream: the answer may follow. */
  #takeEvent(data: string, related: Id | null): Id[] {
    try {
      return this.#take(data, related);
    } catch (failure) {
      if (!(failure instanceof MessageError)) throw failure;
      this.#options.writeLog?.(`the MCP server sent an invalid message: ${data.slice(0, 200)}`);
      return [];
    }
  }

  /** Reads a stream until it has answered the request; one that is cut before is taken up where it was. */
  async #follow(first: Response, request: Id | null, signal: AbortSignal): Promise<void> {
    let response = first;
    let awaited = request;
    let position: string | null = null;
    for (let resumes = 0; ; resumes++) {
      const failure = await this.#read(response, request, signal, (id, answered) => {
        if (id !== null && id !== '') position = id;
        if (awaited !== null && answered.includes(awaited)) awaited = null;
      });
      if (awaited === null || signal.aborted) return;
      if (position === null || resumes >= maxResumes)
        throw failure ?? new Error('its stream ended before the answer');
      await sleep(this.#options.clock, resumeWait, signal);
      response = await this.#get(position);
      if (!response.ok) throw new Error(`its stream ended, and it answered ${response.status}`);
    }
  }

  /** @returns why the stream was cut; null when it ended */
  async #read(
    response: Response,
    related: Id | null,
    signal: AbortSignal,
    onMessage: (id: string | null, answered: readonly Id[]) => void,
  ): Promise<Error | null> {
    const parser = new SseParser(maxMessage);
    try {
      if (!response.body) return null;
      for await (const bytes of bodyParts(response.body, signal)) {
        for (const { id, data } of parser.push(bytes))
          onMessage(id, data === '' ? [] : this.#takeEvent(data, related));
      }
      return null;
    } catch (failure) {
      return failure instanceof Error ? failure : new Error(String(failure));
    }
  }

  #get(position: string | null): Promise<Response> {
    return this.#fetch(this.#options.url, {
      headers: this.#headers({
        Accept: 'text/event-stream',
        ...(position === null ? {} : { 'Last-Event-ID': position }),
      }),
      signal: this.#closed.signal,
      redirect: 'error',
    });
  }

  /** Receives the messages that the server sends by itself, for as long as the server offers such a stream. */
  async #listen(): Promise<void> {
    let position: string | null = null;
    const { clock } = this.#options;
    // The server may refuse the stream for ever and still answer messages, which reset the other waits.
    const refusalBackoff = new Backoff(clock);
    while (!this.#closed.signal.aborted) {
      let backoff = this.#backoff;
      let least = 0;
      try {
        const response = await this.#get(position);
        if (response.status === 404 && this.#session !== null) return this.#loseSession();
        if (!response.ok || !(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
          // 405, 404 without a session and other content: there is no such stream. Other refusals may pass.
          if (response.ok || response.status === 404 || response.status === 405)
            return void (await response.body?.cancel());
          if (response.status < 500) backoff = refusalBackoff;
          least = (retryAfterOf(response) ?? 0) * 1000;
          await response.body?.cancel();
        } else {
          refusalBackoff.reset();
          const openedAt = clock.monotonic();
          await this.#read(response, null, this.#closed.signal, (id) => {
            this.#backoff.reset();
            if (id !== null && id !== '') position = id;
          });
          if (clock.monotonic() - openedAt >= longEnough) this.#backoff.reset();
        }
      } catch {
        // The next attempt shows whether the stream can be read.
      }
      await sleep(clock, backoff.next(least), this.#closed.signal).catch(() => {});
    }
  }
}

/** The whole text of an answer. @throws RangeError when it is too long */
async function bounded(response: Response, signal: AbortSignal): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ? bodyParts(response.body, signal) : []) {
    size += part.byteLength;
    if (size > maxMessage) throw new RangeError(`an answer larger than ${maxMessage} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
