// A client that sends exactly the bytes it is given and reads answers as bytes: nothing adds a header, or reads an
// answer kindly.
import { RawSocket } from '../adapters/uws/fixtures.ts';
import type { HubProcess } from './process.ts';

export interface Answer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  readonly body: any;
}

/** Exactly these lines, and the body with its length; the answer when the connection has it whole. */
export async function sendRaw(port: number, lines: readonly string[], body?: string): Promise<Answer> {
  const socket = new RawSocket(port);
  await socket.opened;
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  socket.send(`${[...lines, 'Host: hub', 'Connection: close', ...length].join('\r\n')}\r\n\r\n${body ?? ''}`);
  const text = await socket.until((read) => {
    const at = read.indexOf('\r\n\r\n');
    const expected = /content-length: (\d+)/i.exec(read.slice(0, at))?.[1];
    return at > 0 && expected !== undefined && read.length - at - 4 >= Number(expected);
  });
  socket.destroy();
  return answerOf(text);
}

function answerOf(text: string): Answer {
  const at = text.indexOf('\r\n\r\n');
  const [first = '', ...rest] = text.slice(0, at).split('\r\n');
  const headers = Object.fromEntries(
    rest.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const body = Buffer.from(text.slice(at + 4), 'latin1').toString();
  const json = (headers['content-type'] ?? '').includes('json');
  return {
    status: Number(first.split(' ')[1]),
    headers,
    text: body,
    body: json && body !== '' ? JSON.parse(body) : null,
  };
}

/** A stream read as bytes. */
export class RawStream {
  readonly socket: RawSocket;

  private constructor(port: number) {
    this.socket = new RawSocket(port);
  }

  /** Resolves with the head of the answer. */
  static async open(port: number, lines: readonly string[]): Promise<RawStream> {
    const stream = new RawStream(port);
    await stream.socket.opened;
    stream.socket.send(`${[...lines, 'Host: hub'].join('\r\n')}\r\n\r\n`);
    await stream.socket.until((text) => text.includes('\r\n\r\n'));
    return stream;
  }

  get head(): Answer {
    return answerOf(this.socket.text);
  }

  /** The data of every whole event of a type. Frames come in chunks of HTTP, whose lengths stand between. */
  // biome-ignore lint/suspicious/noExplicitAny: frames of many shapes
  events(type: string): any[] {
    return [...this.socket.text.matchAll(/event: (\w+)\r?\ndata: (\{.*\})\r?\n/g)]
      .filter(([, name]) => name === type)
      .map(([, , data]) => JSON.parse(data ?? ''));
  }

  // biome-ignore lint/suspicious/noExplicitAny: frames of many shapes
  async next(type: string, from = 0): Promise<any> {
    await this.socket.until(() => this.events(type).length > from);
    return this.events(type)[from];
  }

  /** How often a comment came, with or without a blank behind its colon. */
  comments(name: string): number {
    return this.socket.text.split(new RegExp(`: ?${name}`)).length - 1;
  }

  close(): void {
    this.socket.destroy();
  }
}

/** With one API key, or token, for every request. */
export class RawClient {
  readonly #hub: HubProcess;
  readonly #token: string;

  constructor(hub: HubProcess, token: string) {
    this.#hub = hub;
    this.#token = token;
  }

  /** @param agent null: without the agent-id header */
  get(path: string, agent: string | null = 'raw'): Promise<Answer> {
    return sendRaw(this.#hub.port, [`GET ${path} HTTP/1.1`, ...this.headers(agent)]);
  }

  post(path: string, body: unknown, agent = 'raw', more: readonly string[] = []): Promise<Answer> {
    const lines = [
      `POST ${path} HTTP/1.1`,
      ...this.headers(agent),
      'Content-Type: application/json',
      ...more,
    ];
    return sendRaw(this.#hub.port, lines, JSON.stringify(body));
  }

  stream(path: string, agent: string, more: readonly string[] = []): Promise<RawStream> {
    return RawStream.open(this.#hub.port, [`GET ${path} HTTP/1.1`, ...this.headers(agent), ...more]);
  }

  /** The credential, and the agent where there is one, as lines of a request. */
  headers(agent: string | null): readonly string[] {
    const id = agent === null ? [] : [`X-Service-Agent-Id: ${agent}`];
    return [`Authorization: Bearer ${this.#token}`, ...id];
  }
}
