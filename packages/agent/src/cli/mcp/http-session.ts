// One agent's session over streamable HTTP: its server, and which of its open streams a message goes out on.
import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../clock.ts';
import type { EraBridge } from './bridge.ts';
import { endResponse, lookInterval, streamKeeper, writeMessage } from './event-stream.ts';
import { codes, failureOf, type Id, type Message, textOf } from './message.ts';
import { openSession } from './open-session.ts';
import type { ProxyParts } from './proxy-parts.ts';
import type { McpSession } from './session.ts';

/** Characters of messages that wait for a stream; older notifications make room. */
const maxHeld = 1_048_576;

/** The stream that answers the requests of one POST. */
interface Answering {
  readonly response: ServerResponse;
  readonly awaited: Set<Id>;
}

export class HttpSession {
  readonly id: string;
  readonly #session: McpSession;
  readonly #server: EraBridge;
  readonly #clock: Clock;
  readonly #answering = new Set<Answering>();
  /** The stream for what belongs to no request. */
  #listening: ServerResponse | null = null;
  /** Requests without an answer whose stream was cut. */
  readonly #unheard = new Set<Id>();
  #lastOpen = Number.NEGATIVE_INFINITY;
  #held: Message[] = [];
  #heldSize = 0;

  /** @param onFailure called when the server failed and the requests under way have their answers */
  constructor(id: string, proxy: ProxyParts, onFailure: () => void) {
    this.id = id;
    this.#clock = proxy.clock;
    const { session, server } = openSession(proxy, {
      place: `session ${id}`,
      sessionId: id,
      sessionMeta: proxy.sessionMeta,
      tasks: null,
      isShared: false,
      toClient: (message, related) => this.#send(message, related),
      failed: (reason) => {
        for (const { awaited } of this.#answering) {
          for (const one of [...awaited])
            this.#send(failureOf(one, codes.server, `the MCP server ${reason}`), one);
        }
        onFailure();
      },
    });
    this.#session = session;
    this.#server = server;
  }

  /** When the client's last open response closed, on the monotonic clock; infinite while one is open. */
  get lastOpen(): number {
    return this.#answering.size > 0 || this.#listening ? Number.POSITIVE_INFINITY : this.#lastOpen;
  }

  /** Takes the messages of a POST; requests are answered on its own stream. */
  post(messages: readonly Message[], response: ServerResponse): void {
    const awaited = new Set(messages.flatMap((message) => (message.kind === 'request' ? [message.id] : [])));
    if (awaited.size === 0) response.writeHead(202).end();
    else {
      const answering = { response, awaited };
      this.#answering.add(answering);
      response.once('close', () => {
        this.#answering.delete(answering);
        for (const id of awaited) this.#unheard.add(id);
      });
      this.#open(response);
    }
    for (const message of messages) {
      this.#session.fromClient(message);
      if (message.kind === 'notification' && message.method === 'notifications/cancelled')
        this.#cancelled(message.params.requestId as Id);
    }
  }

  /** The request gets no answer: a stream without another one to wait for ends. */
  #cancelled(id: Id): void {
    this.#unheard.delete(id);
    const own = [...this.#answering].find(({ awaited }) => awaited.has(id));
    own?.awaited.delete(id);
    if (own?.awaited.size === 0) endResponse(own.response, this.#clock);
  }

  /** Opens the stream for what belongs to no request; one that was open before ends. */
  listen(response: ServerResponse): void {
    if (this.#listening) endResponse(this.#listening, this.#clock);
    this.#listening = response;
    response.once('close', () => {
      if (this.#listening === response) this.#listening = null;
    });
    this.#open(response);
    const held = this.#held;
    this.#held = [];
    this.#heldSize = 0;
    for (const message of held) writeMessage(response, message);
  }

  toolsChanged(): void {
    this.#session.toolsChanged();
  }

  /** Ends a session whose client left, and its requests. */
  async expire(): Promise<void> {
    for (const requestId of [...this.#unheard]) {
      const params = { requestId, reason: 'the client closed its stream' };
      this.#session.fromClient({ kind: 'notification', method: 'notifications/cancelled', params });
    }
    await this.close();
  }

  async close(): Promise<void> {
    this.#session.close();
    await this.#server.close();
    if (this.#listening) endResponse(this.#listening, this.#clock);
    for (const { response } of this.#answering)
      if (!response.writableEnded) endResponse(response, this.#clock);
  }

  #open(response: ServerResponse): void {
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'Mcp-Session-Id': this.id,
    });
    response.flushHeaders();
    let timer: Timer;
    const look = streamKeeper(response);
    // A stream to a machine that vanished ends by its connection then, and its session can end.
    const keep = (): void => {
      timer = this.#clock.after(lookInterval, () => {
        look();
        if (!response.writableEnded && !response.destroyed) keep();
      });
    };
    keep();
    response.once('close', () => {
      timer.cancel();
      this.#lastOpen = this.#clock.monotonic();
    });
  }

  #send(message: Message, related: Id | null): void {
    const own =
      related === null ? undefined : [...this.#answering].find(({ awaited }) => awaited.has(related));
    if (message.kind === 'response') {
      // Its stream was cut: nobody can be answered.
      if (!own) return void this.#unheard.delete(message.id);
      writeMessage(own.response, message);
      own.awaited.delete(message.id);
      if (own.awaited.size === 0) endResponse(own.response, this.#clock);
      return;
    }
    const open = [...this.#answering].findLast(({ response }) => !response.writableEnded);
    const stream = own?.response ?? this.#listening ?? open?.response;
    if (stream) writeMessage(stream, message);
    else this.#hold(message);
  }

  #hold(message: Message): void {
    this.#held.push(message);
    this.#heldSize += textOf(message).length;
    while (this.#heldSize > maxHeld) {
      const lost = this.#held.shift();
      if (!lost) return;
      this.#heldSize -= textOf(lost).length;
    }
  }
}
