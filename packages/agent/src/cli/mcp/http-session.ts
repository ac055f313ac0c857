// One agent's session over streamable HTTP: its server, and which of its open streams a message goes out on.
import type { ServerResponse } from 'node:http';
import { EraBridge } from './bridge.ts';
import { codes, failureOf, type Id, type Message, textOf } from './message.ts';
import type { ProxyParts } from './proxy-parts.ts';
import { McpSession } from './session.ts';

/** Characters of messages that wait for a stream; older notifications make room. */
const maxHeld = 1_048_576;
/** Bytes that a slow reader may leave unread on one stream. */
const maxUnread = 4 * 1_048_576;

/** The stream that answers the requests of one POST. */
interface Answering {
  readonly response: ServerResponse;
  readonly awaited: Set<Id>;
}

export class HttpSession {
  readonly id: string;
  readonly #session: McpSession;
  readonly #server: EraBridge;
  readonly #answering = new Set<Answering>();
  /** The stream for what belongs to no request. */
  #listening: ServerResponse | null = null;
  #held: Message[] = [];
  #heldSize = 0;

  constructor(
    id: string,
    { guard, clock, hide, connect, eras, inputTimeout, pins, rounds, sessionMeta, told }: ProxyParts,
    failed: () => void,
  ) {
    this.id = id;
    this.#session = new McpSession({
      guard,
      clock,
      hide,
      pins: pins?.session() ?? null,
      rounds,
      tasks: null,
      place: `session ${id}`,
      sessionId: id,
      sessionMeta,
      told,
      toClient: (message, related) => this.#send(message, related),
    });
    this.#server = new EraBridge(
      { connect, clock, eras, inputTimeout, isShared: false },
      {
        message: (message, related) => this.#session.fromServer(message, related),
        introduced: (result) => this.#session.introduced(result),
        restarted: () => this.#session.restarted(),
        failed: (reason) => {
          told(`the MCP server ${reason}`);
          for (const { awaited } of this.#answering) {
            for (const one of [...awaited])
              this.#send(failureOf(one, codes.server, `the MCP server ${reason}`), one);
          }
          failed();
        },
        told,
      },
    );
    this.#session.attach(this.#server);
  }

  get busy(): boolean {
    return this.#session.isBusy || this.#listening !== null;
  }

  /** Takes the messages of a POST; requests are answered on its own stream. */
  post(messages: readonly Message[], response: ServerResponse): void {
    const awaited = new Set(messages.flatMap((message) => (message.kind === 'request' ? [message.id] : [])));
    if (awaited.size === 0) response.writeHead(202).end();
    else {
      const answering = { response, awaited };
      this.#answering.add(answering);
      response.once('close', () => this.#answering.delete(answering));
      this.#open(response);
    }
    for (const message of messages) this.#session.fromClient(message);
  }

  /** Opens the stream for what belongs to no request; one that was open before ends. */
  listen(response: ServerResponse): void {
    this.#listening?.end();
    this.#listening = response;
    response.once('close', () => {
      if (this.#listening === response) this.#listening = null;
    });
    this.#open(response);
    const held = this.#held;
    this.#held = [];
    this.#heldSize = 0;
    for (const message of held) this.#write(response, message);
  }

  toolsChanged(): void {
    this.#session.toolsChanged();
  }

  async close(): Promise<void> {
    this.#session.close();
    await this.#server.close();
    this.#listening?.end();
    for (const { response } of this.#answering) response.end();
  }

  #open(response: ServerResponse): void {
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'Mcp-Session-Id': this.id,
    });
    response.flushHeaders();
  }

  #send(message: Message, related: Id | null): void {
    const own =
      related === null ? undefined : [...this.#answering].find(({ awaited }) => awaited.has(related));
    if (message.kind === 'response') {
      // Its stream was cut: nobody can be answered.
      if (!own) return;
      this.#write(own.response, message);
      own.awaited.delete(message.id);
      if (own.awaited.size === 0) own.response.end();
      return;
    }
    const stream = own?.response ?? this.#listening ?? [...this.#answering].at(-1)?.response;
    if (stream) this.#write(stream, message);
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

  #write(response: ServerResponse, message: Message): void {
    const data = textOf(message).replaceAll(/\r\n|\r|\n/g, ' ');
    response.write(`event: message\ndata: ${data}\n\n`);
    if (response.writableLength > maxUnread) response.destroy();
  }
}
