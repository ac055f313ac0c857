// A loopback proxy before a hub that behaves as badly as a test asks: refuses, holds, cuts, and changes what streams
// say.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export type Manner =
  /** Passes everything on. */
  | 'honest'
  /** Answers 503 to every request, and cuts half of the connections instead. */
  | 'storm'
  /** Takes requests and answers nothing until it is honest again; then passes them on. */
  | 'holding'
  /** Refuses streams only. */
  | 'no-streams';

export class BadProxy {
  /** The replacement of a block of an event stream; null leaves it out. */
  tamper: ((block: string) => string | null) | null = null;
  /** The replacement of a JSON answer. */
  tamperAnswer: ((path: string, text: string) => string) | null = null;
  refused = 0;
  readonly #target: () => string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #held: (() => void)[] = [];
  #manner: Manner = 'honest';

  constructor(target: () => string) {
    this.#target = target;
    this.#server = createServer((incoming, response) => this.#take(incoming, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests that wait. */
  get held(): number {
    return this.#held.length;
  }

  behave(manner: Manner): void {
    this.#manner = manner;
    if (manner === 'honest') for (const go of this.#held.splice(0)) go();
  }

  /** Cuts every connection there is. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #take(incoming: IncomingMessage, response: ServerResponse): void {
    const isStream = incoming.url?.includes('/stream') ?? false;
    if (this.#manner === 'holding') {
      this.#held.push(() => this.#pass(incoming, response));
    } else if (this.#manner === 'storm' || (this.#manner === 'no-streams' && isStream)) {
      this.refused += 1;
      if (this.refused % 2 === 0) incoming.socket.destroy();
      else response.writeHead(503, { 'Content-Type': 'text/plain' }).end('a storm');
    } else this.#pass(incoming, response);
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url = '/' } = incoming;
    const onward = request(this.#target() + url, { method, headers, agent: false }, (answer) => {
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream') ?? false;
      const { 'content-length': _, ...rest } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, rest);
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
        if (!isStream) return;
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          const said = this.tamper ? this.tamper(block) : block;
          if (said !== null) response.write(`${said}\n\n`);
        }
      });
      answer.on('end', () =>
        response.end(this.tamperAnswer && !isStream ? this.tamperAnswer(url, text) : text),
      );
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }
}
