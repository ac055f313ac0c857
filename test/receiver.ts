// A server on loopback that plays a receiver of notifications: it keeps every request, and answers as the test says.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes, as text. */
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests read bodies of many shapes
  readonly body: any;
}

/** Answers a request; without one the answer is 200 with `{}`. Return false to leave it open. */
export type Responder = (received: Received, response: ServerResponse, count: number) => unknown;

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Changes how the next requests are answered. */
  answer: Responder;
  /** Resolves when `count` requests have come in all. */
  atLeast(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

export async function startReceiver(answer: Responder = () => undefined): Promise<Receiver> {
  const received: Received[] = [];
  const waiting: { readonly count: number; readonly done: () => void }[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const text = Buffer.concat(pieces).toString();
      const one: Received = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        text,
        body: parsed(text),
      };
      received.push(one);
      const handled = receiver.answer(one, response, received.length);
      if (handled === undefined && !response.headersSent && !response.writableEnded) {
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
      }
      for (const { count, done } of waiting) if (received.length >= count) done();
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer,
    async atLeast(count) {
      if (received.length < count) await new Promise<void>((done) => waiting.push({ count, done }));
      return received;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return receiver;
}

/** A responder of one status. */
export const status =
  (code: number, headers: { readonly [name: string]: string } = {}, body = ''): Responder =>
  (_received, response) =>
    response.writeHead(code, headers).end(body);
