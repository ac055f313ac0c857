// A real server on a free port, and raw sockets that may say anything.
import net from 'node:net';
import { systemClock } from '../../../adapters/node/clock.ts';
import { startNodeServer } from '../../../adapters/node-http/server.ts';
import { startServer } from '../../../adapters/uws/server.ts';
import type { StartServer } from '../../../src/http/server.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import { edge } from '../../http/fixtures.ts';

/** True if these suites run on Node's own server (`HTTP_SERVER=node`, scripts/test-nodes.mjs). */
export const onNode = process.env.HTTP_SERVER === 'node';
export const start = onNode ? startNodeServer : startServer;

/**
 * @param options.serverClock what the server's own deadlines go by; default real time
 * @param options.startServer default: the server that these suites run on
 */
export async function serve(
  options: Parameters<typeof edge>[0] & {
    serverClock?: Clock;
    maxConnections?: number;
    port?: number;
    startServer?: StartServer;
  } = {},
) {
  const parts = edge({ clock: systemClock, ...options });
  const server = await (options.startServer ?? start)({
    host: '127.0.0.1',
    port: options.port ?? 0,
    pipeline: parts.pipeline,
    clock: options.serverClock ?? systemClock,
    log: parts.log,
    ...(options.maxConnections === undefined ? {} : { maxConnections: options.maxConnections }),
  });
  const sockets: RawSocket[] = [];
  return {
    ...parts,
    server,
    async connect(): Promise<RawSocket> {
      const socket = new RawSocket(server.port);
      sockets.push(socket);
      await socket.opened;
      return socket;
    },
    /** Sends one request on a connection of its own and reads until the connection ends. */
    async once(text: string): Promise<string> {
      const socket = new RawSocket(server.port);
      sockets.push(socket);
      await socket.opened;
      socket.send(text);
      return socket.untilClosed();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      parts.live.close();
      await parts.callers.close();
      await parts.broadcast.close();
      server.close();
    },
  };
}

/** A TCP connection that keeps all it has read. */
export class RawSocket {
  readonly opened: Promise<void>;
  text = '';
  closed = false;
  /** Hears that more was read. */
  onRead: (() => void) | null = null;
  readonly #socket: net.Socket;
  readonly #waiting = new Set<() => void>();

  constructor(port: number, host = '127.0.0.1') {
    this.#socket = net.connect({ port, host });
    this.opened = new Promise((resolve, reject) => {
      this.#socket.once('connect', resolve);
      this.#socket.once('error', reject);
    });
    this.#socket.on('error', () => undefined);
    this.#socket.on('data', (chunk) => {
      this.text += chunk.toString('latin1');
      this.onRead?.();
      this.#tell();
    });
    this.#socket.on('close', () => {
      this.closed = true;
      this.#tell();
    });
  }

  send(text: string | Uint8Array): void {
    this.#socket.write(text);
  }

  /** Hands over what is read from now on instead of keeping it. */
  onData(take: (chunk: Buffer) => void): void {
    this.#socket.removeAllListeners('data');
    this.#socket.on('data', take);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Resolves once what was read fits, or the connection is closed. */
  async until(test: (text: string) => boolean): Promise<string> {
    while (!test(this.text) && !this.closed) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
    return this.text;
  }

  async untilClosed(): Promise<string> {
    return this.until(() => false);
  }

  #tell(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Waits for a condition that only the server's side can tell, a turn of the event loop at a time. */
export async function eventually(test: () => boolean): Promise<void> {
  while (!test()) await new Promise((resolve) => setTimeout(resolve, 2));
}
