// The other end of the stream benchmarks, in a process of its own: many raw connections that count what they read and
// keep nothing.
import { type ChildProcess, fork } from 'node:child_process';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Env } from '../src/domain/ids.ts';

/** What the benchmark says to the client process. */
type Order =
  | {
      readonly type: 'connect';
      readonly port: number;
      readonly count: number;
      readonly request: string;
      readonly atOnce: number;
    }
  /** Answered with the time of the last connection to have read that many bytes from now on. */
  | { readonly type: 'expect'; readonly bytes: number }
  | { readonly type: 'disconnect' };

/** `at` is the machine's monotonic clock, nanoseconds, which all processes share. */
type Answer = { readonly type: 'ready' | 'done' | 'expecting' | 'failed'; readonly at: string };

/** What opens an agent's stream. The agent says that it runs this revision, so that nothing has to be caught up. */
export const streamRequest = (of: {
  readonly env: Env;
  readonly key: string;
  readonly revision: string;
  readonly agent: string;
}): string =>
  `GET /api/v1/stream?env=${of.env}&policy_version=${of.revision} HTTP/1.1\r\nHost: a\r\n` +
  `Authorization: Bearer ${of.key}\r\nX-Service-Agent-Id: ${of.agent}\r\n\r\n`;

const now = (): string => String(process.hrtime.bigint());

/** A client process. Every order resolves with the answer's time in nanoseconds. */
export class StreamClient {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  /** @param atOnce connections that may wait for their greeting */
  async connect(
    port: number,
    count: number,
    request: (agent: string) => string,
    atOnce = 100,
  ): Promise<void> {
    await this.#order({ type: 'connect', port, count, request: request('{agent}'), atOnce }, 'ready');
  }

  /** Resolves once the client counts, with a promise of the last delivery's time. */
  async expect(bytes: number): Promise<{ readonly last: Promise<bigint> }> {
    const last = this.#answer('done');
    await this.#order({ type: 'expect', bytes }, 'expecting');
    return { last };
  }

  async disconnect(): Promise<void> {
    await this.#order({ type: 'disconnect' }, 'done');
  }

  stop(): void {
    this.#child.disconnect();
  }

  #order(order: Order, expected: Answer['type']): Promise<bigint> {
    const answer = this.#answer(expected);
    this.#child.send(order);
    return answer;
  }

  #answer(expected: Answer['type']): Promise<bigint> {
    return new Promise((resolve, reject) => {
      const listen = (answer: Answer): void => {
        if (answer.type !== expected && answer.type !== 'failed') return;
        this.#child.off('message', listen);
        if (answer.type === 'failed') reject(new Error('a connection of the client failed'));
        else resolve(BigInt(answer.at));
      };
      this.#child.on('message', listen);
    });
  }
}

const retryMs = 500;

/** The client process itself. */
function run(): void {
  const tell = (type: Answer['type']): void => void process.send?.({ type, at: now() });
  const connections: { socket: net.Socket; read: number }[] = [];
  let wanted = Number.POSITIVE_INFINITY;
  let left = 0;
  let closing = false;
  const scratch = Buffer.alloc(256 * 1024);

  /** A stream that is refused is tried again, as agents do: a store that is slower than the hub may not keep up. */
  const open = (port: number, request: string, tries = 20): Promise<void> =>
    new Promise((resolve) => {
      let first = true;
      let refused = false;
      const connection = {
        read: 0,
        socket: net.connect({
          port,
          host: '127.0.0.1',
          onread: {
            buffer: scratch,
            callback(count) {
              if (connection.read === 0 && scratch.subarray(0, count).includes(' 503 ')) {
                refused = true;
                connection.socket.destroy();
                return true;
              }
              const before = connection.read;
              connection.read += count;
              if (before < wanted && connection.read >= wanted && --left === 0) tell('done');
              // The greeting may come in pieces; it ends with an empty line after the retry hint.
              if (first && scratch.subarray(0, count).includes('\n\n')) {
                first = false;
                resolve();
              }
              return true;
            },
          },
        }),
      };
      connection.socket.once('connect', () => connection.socket.write(request));
      connection.socket.on('error', () => tell('failed'));
      connection.socket.on('close', () => {
        if (closing) return;
        if (!refused || tries === 0) return tell('failed');
        connections.splice(connections.indexOf(connection), 1);
        setTimeout(() => resolve(open(port, request, tries - 1)), retryMs);
      });
      connections.push(connection);
    });

  async function connect(port: number, count: number, request: string, atOnce: number): Promise<void> {
    closing = false;
    wanted = Number.POSITIVE_INFINITY;
    const lanes = Array.from({ length: Math.min(atOnce, count) }, async (_, lane) => {
      for (let i = lane; i < count; i += atOnce) await open(port, request.replace('{agent}', `agent-${i}`));
    });
    await Promise.all(lanes);
    tell('ready');
  }

  process.on('message', (order: Order) => {
    if (order.type === 'connect') void connect(order.port, order.count, order.request, order.atOnce);
    else if (order.type === 'expect') {
      wanted = order.bytes;
      left = connections.length;
      for (const connection of connections) connection.read = 0;
      tell('expecting');
    } else {
      closing = true;
      for (const { socket } of connections.splice(0)) socket.destroy();
      tell('done');
    }
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.send) run();
