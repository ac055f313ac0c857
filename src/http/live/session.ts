// The agreement between a transport (which owns the socket) and a live stream (which owns what is sent on it).

/**
 * The sending side of one open connection, as the transport provides it. Harmless to use after the connection is gone.
 */
export interface Sink {
  /**
   * Sends one whole piece. False: the connection took it but is full; send nothing more until the transport calls
   * `writable()`.
   */
  write(piece: Uint8Array | string): boolean;
  /**
   * Ends the connection after what was sent.
   * @param fault what the client did wrong, for a transport that can send it
   */
  end(fault?: string): void;
  /** Ends the connection now; what it had not taken yet is lost. */
  cut(): void;
  /**
   * Asks whether the client is there, where the transport can. False: it left earlier asks without an answer for too
   * long.
   */
  ping?(): boolean;
}

/**
 * One live stream. The transport calls `attach` once and then reports; `gone` must be called when the connection ended,
 * attached or not.
 */
export interface Session {
  /** The WebSocket subprotocol chosen; null for SSE, or when none was offered. */
  readonly protocol: string | null;
  /** API key whose messages the stream accepts; null: none. */
  readonly sender: string | null;
  /** The headers are out (SSE), or the WebSocket is open. */
  attach(sink: Sink): void;
  /** The connection has drained. Answers whether all that was waiting is written now. */
  writable(): boolean;
  /** A whole message of a WebSocket client. The bytes are the stream's to keep. */
  received(message: Uint8Array, binary: boolean): void;
  /**
   * A ping of a WebSocket client, or a pong that nobody asked for.
   * @param unread answers to earlier pings wait to be read
   */
  pinged(unread: boolean): void;
  /** The connection has ended. Safe to repeat. */
  gone(): void;
}

/** Format of frames: SSE, or WebSocket messages as JSON text or MessagePack. */
export type Codec = 'sse' | 'json' | 'msgpack';

/** WebSocket subprotocols; the first is used when a client offers none. */
export const subprotocols = ['reeve.v1.json', 'reeve.v1.msgpack'] as const;

export const codecOf = (protocol: string | null): Codec =>
  protocol === 'reeve.v1.msgpack' ? 'msgpack' : 'json';
