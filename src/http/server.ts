// The contract of the HTTP server: adapters/uws (native) and adapters/node-http (Node's own) both keep it. Holds no
// behaviour but its limits.
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import { maxMessageBytes } from './live/socket-messages.ts';
import type { Pipeline } from './pipeline.ts';

export interface ServerOptions {
  /** An address or name of this machine: `0.0.0.0`, `::`, `127.0.0.1`. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly pipeline: Pipeline;
  readonly clock: Clock;
  readonly log: Log;
  /** Connections at once; infinite by default. */
  readonly maxConnections?: number;
  /** True if many clients share this address. Default: none do. */
  readonly isProxy?: (address: string) => boolean;
}

export interface Server {
  /** The port it listens on. */
  readonly port: number;
  /** Open connections. */
  connections(): number;
  /** From now on every reply ends its connection. New connections are taken as before. */
  drain(): void;
  /** Takes no new connections. Implies `drain`. */
  stopListening(): void;
  /** Resolves when the requests under way are answered, after `ms` at the latest. Streams are none of them. */
  settle(ms: number): Promise<void>;
  /** Ends every connection at once. */
  close(): void;
}

/** @throws HubError unavailable when the port is taken, or the server cannot be had */
export type StartServer = (options: ServerOptions) => Promise<Server>;

export const sweepMs = 5_000;
/** A body must be here within this time, however slowly it drips. */
export const maxBodyMs = 30_000;
/** A request must be answered within this time after its body is here. Proxies give up after 60 s. */
export const maxHandlingMs = 120_000;
/** An answer must be taken within this time, and a second for each 32 KiB of it. */
export const minSendMs = 30_000;
export const minSendRate = (32 * 1024) / 1000;
/**
 * An answer that is ready before its request's body has come waits for it: closing at once would take the answer from a
 * client that still sends. A body that is longer, or of which nothing comes for a second, is not waited for: its
 * connection ends with the answer.
 */
export const passedBytes = 16 * 1024 * 1024;
export const quietBodyMs = 1_000;

export const portTaken = (host: string, port: number): string =>
  `Cannot listen on ${host} port ${port}: the port is in use, or this machine does not have the address. Set PORT or HOST.`;

/**
 * Maximum sizes of a WebSocket message, in bytes. A server buffers an incomplete message without notice, so the sizes
 * of all sockets together limit the memory for incomplete messages. A stream without messages still receives pings.
 */
export const messageSizes = { none: 1024, small: 64 * 1024, large: maxMessageBytes } as const;
export type MessageSize = keyof typeof messageSizes;

/** Seconds without a byte from a WebSocket client. Each is asked for a pong every 15 s. */
export const idleSeconds = 120;
/** Asks that may go without an answer: a client in the middle of a frame cannot answer. */
export const maxUnanswered = 2;
/**
 * Bytes that may wait for a WebSocket. A frame of any size must fit: the stream itself writes nothing while the socket
 * is full.
 */
export const maxSocketBacklog = 64 * 1024 * 1024;
