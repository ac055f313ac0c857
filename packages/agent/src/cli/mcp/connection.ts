// One connection to an MCP server, whatever carries it, and the server behind connections that may end: taken up again
// with the client's own handshake, so that the client notices only that the requests under way failed.
import type { Readable } from 'node:stream';
import type { Clock, Timer } from '../../clock.ts';
import { eraOf } from './era.ts';
import type { ParamDeclaration } from './headers.ts';
import { codes, failureOf, type Id, type Message, type Request, type Response } from './message.ts';

/** Callbacks of a connection. `ended` is the last call. */
export interface ConnectionEvents {
  /** @param related the request whose stream the message came on; null: none that is known */
  message(message: Message, related?: Id | null): void;
  /** The server reads nothing more. Messages that it wrote before may still come, and then `ended`. */
  inputEnd(): void;
  /** @param reason for people: it follows "the MCP server" */
  ended(reason: string): void;
}

/** A running server process, or a session at a server over HTTP. */
export interface Connection {
  /** The stream that is paused while the client is slow. */
  readonly output?: Readable;
  /** @param declarations of arguments that a request over HTTP repeats in headers */
  send(message: Message, declarations?: readonly ParamDeclaration[]): void;
  /** Ends the connection; resolves when nothing of the connection is left. Does not call `ended`. */
  close(): Promise<void>;
}

export type Connect = (events: ConnectionEvents) => Connection;

export interface ServerEvents {
  /** @param related the request that the message belongs to; null: none that is known */
  message(message: Message, related: Id | null): void;
  /** The server was started again, and knows the client again. */
  restarted(): void;
  /** The server ended before it ever answered; it is not started again. */
  failed(reason: string): void;
  /** For people. */
  writeLog(text: string): void;
}

const firstWait = 100;
const longestWait = 30_000;
/** A server that lasted this long is started again without delay. */
const longEnough = 30_000;
/** Time that messages wait for a server that is being started again; milliseconds. */
const patience = 15_000;
const maxWaiting = 1000;

/** A request of the client while no server reads it. */
interface Waiting {
  readonly message: Request;
  readonly declarations: readonly ParamDeclaration[];
  readonly until: number;
}

export class McpServer {
  readonly #connect: Connect;
  readonly #clock: Clock;
  readonly #events: ServerEvents;
  #connection: Connection;
  /** Ends the running connection's events. */
  #detach: () => void = () => {};
  #startedAt: number;
  #wait = firstWait;
  #timer: Timer | null = null;
  #closed = false;
  /** The client's handshake, once it has been answered. */
  #handshake: Request | null = null;
  #initialize: Request | null = null;
  /** The first modern request that awaits its answer. */
  #firstModern: Id | null = null;
  /** The server answered without a handshake: it needs none after a restart either. */
  #isModern = false;
  #restarts = 0;
  /** Requests of the client while no server reads them; null while one does. */
  #waiting: Waiting[] | null = null;
  /** The running connection's server reads nothing more. */
  #isInputOver = false;
  /** Requests that the running server has not answered. */
  readonly #open = new Set<Id>();

  constructor(connect: Connect, clock: Clock, events: ServerEvents) {
    this.#connect = connect;
    this.#clock = clock;
    this.#events = events;
    this.#startedAt = clock.monotonic();
    this.#connection = this.#start();
  }

  send(message: Message, declarations: readonly ParamDeclaration[] = []): void {
    if (this.#closed) return;
    // Nobody waits for its answer.
    if (message.kind === 'notification' && message.method === 'notifications/cancelled')
      this.#open.delete(message.params.requestId as Id);
    if (this.#waiting) return void this.#hold(this.#waiting, message, declarations);
    if (message.kind === 'request') {
      this.#open.add(message.id);
      if (message.method === 'initialize') this.#initialize = message;
      if (eraOf(message).isModern) this.#firstModern ??= message.id;
    }
    this.#connection.send(message, declarations);
  }

  get output(): Readable | null {
    return this.#connection.output ?? null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#connection.close();
  }

  #start(): Connection {
    this.#startedAt = this.#clock.monotonic();
    this.#isInputOver = false;
    let over = false;
    this.#detach = () => {
      over = true;
    };
    return this.#connect({
      message: (message, related = null) => {
        if (!over && !this.#closed) this.#take(message, related);
      },
      inputEnd: () => {
        if (over || this.#closed) return;
        this.#isInputOver = true;
        this.#waiting ??= [];
      },
      ended: (reason) => {
        if (over || this.#closed) return;
        over = true;
        this.#ended(reason);
      },
    });
  }

  #take(message: Message, related: Id | null): void {
    if (message.kind === 'response') {
      if (message.id === this.#replayId) return void this.#replayed(message);
      this.#open.delete(message.id);
      if (this.#initialize?.id === message.id && !message.error) this.#handshake = this.#initialize;
      if (this.#firstModern === message.id) {
        this.#firstModern = null;
        this.#isModern ||= !message.error;
      }
    }
    this.#events.message(message, related);
  }

  get #replayId(): string {
    return `reeve:initialize:${this.#restarts}`;
  }

  #ended(reason: string): void {
    if (!this.#handshake && !this.#isModern) {
      this.#closed = true;
      return void this.#events.failed(reason);
    }
    this.#waiting ??= [];
    const open = [...this.#open];
    this.#open.clear();
    for (const id of open) {
      const message = `the MCP server ${reason} before it answered; it may have carried out the request`;
      this.#events.message(failureOf(id, codes.server, message), id);
    }
    this.#restartLater(reason);
  }

  #restartLater(reason: string): void {
    const lasted = this.#clock.monotonic() - this.#startedAt;
    if (lasted >= longEnough) this.#wait = firstWait;
    this.#events.writeLog(`the MCP server ${reason}; restarting it`);
    this.#timer = this.#clock.after(this.#wait, () => this.#restart(), true);
    this.#wait = Math.min(longestWait, this.#wait * 2);
  }

  #restart(): void {
    this.#restarts += 1;
    this.#forget();
    this.#connection = this.#start();
    if (!this.#handshake) return void this.#resume();
    const { params } = this.#handshake;
    this.#connection.send({ kind: 'request', id: this.#replayId, method: 'initialize', params });
  }

  #replayed({ error }: Response): void {
    if (error) {
      this.#detach();
      void this.#connection.close();
      this.#restartLater(`refuses the session after its restart (${error.message})`);
      return;
    }
    // It accepted and ended: the next one is asked again.
    if (this.#isInputOver) return;
    this.#connection.send({ kind: 'notification', method: 'notifications/initialized', params: {} });
    this.#resume();
  }

  #resume(): void {
    this.#forget();
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const { message, declarations } of waiting) this.send(message, declarations);
    this.#events.restarted();
  }

  #hold(waiting: Waiting[], message: Message, declarations: readonly ParamDeclaration[]): void {
    this.#forget();
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') {
      const { requestId } = message.params;
      const index = waiting.findIndex((held) => held.message.id === requestId);
      if (index >= 0) waiting.splice(index, 1);
    }
    // Answers and other notifications belong to the server that ended.
    if (message.kind !== 'request') return;
    if (waiting.length >= maxWaiting) return void this.#refuse(message);
    waiting.push({ message, declarations, until: this.#clock.monotonic() + patience });
    this.#clock.after(patience, () => this.#forget());
  }

  /** Refuses what has waited too long. */
  #forget(): void {
    const now = this.#clock.monotonic();
    while (this.#waiting?.[0] && this.#waiting[0].until <= now) {
      const late = this.#waiting.shift();
      if (late) this.#refuse(late.message);
    }
  }

  #refuse({ id }: Request): void {
    this.#events.message(failureOf(id, codes.server, 'the MCP server is not running; try again later'), id);
  }
}
