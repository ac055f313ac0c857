// WebSocket frames of RFC 6455, as a client reads and writes them: bytes in, messages out, however they are cut. Knows no socket.
import { randomBytes } from 'node:crypto';

export type SocketMessage =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'binary'; readonly bytes: Buffer }
  | { readonly type: 'ping'; readonly bytes: Buffer }
  | { readonly type: 'close'; readonly code: number | null; readonly reason: string };

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
type Opcode = (typeof opcodes)[keyof typeof opcodes];

/** Bytes of one message: a bundle of a megabyte in base64, with room. */
const defaultLimit = 4 * 1024 * 1024;
const maxControl = 125;

/** The peer broke the protocol; the connection cannot go on. */
export class WebSocketProtocolError extends Error {
  constructor(message: string) {
    super(`WebSocket: ${message}`);
    this.name = 'WebSocketProtocolError';
  }
}

/** One whole frame from a client, masked as the protocol asks. @param payload at most 65,535 bytes */
export function clientFrame(opcode: Opcode, payload: Uint8Array): Buffer {
  if (payload.length > 65_535) throw new RangeError('a client frame holds at most 65,535 bytes');
  const long = payload.length > maxControl;
  const head = Buffer.alloc(long ? 4 : 2);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (long ? 126 : payload.length);
  if (long) head.writeUInt16BE(payload.length, 2);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0))]);
}

interface Head {
  readonly final: boolean;
  readonly opcode: number;
  /** Where the payload begins, and its length. */
  readonly start: number;
  readonly length: number;
}

export class WebSocketReader {
  readonly #limit: number;
  /** Bytes that make no whole frame yet, in the pieces they came in: a large frame is joined once, not once per piece. */
  #pieces: Buffer[] = [];
  #size = 0;
  /** Bytes needed before looking again is worth it. */
  #needed = 2;
  #parts: Buffer[] = [];
  #partsSize = 0;
  #kind: 'text' | 'binary' | null = null;

  constructor(limit = defaultLimit) {
    this.#limit = limit;
  }

  /** The messages that these bytes complete, in order. @throws WebSocketProtocolError */
  push(bytes: Buffer): SocketMessage[] {
    this.#pieces.push(bytes);
    this.#size += bytes.length;
    if (this.#size < this.#needed) return [];
    let rest = this.#pieces.length === 1 ? bytes : Buffer.concat(this.#pieces, this.#size);
    const messages: SocketMessage[] = [];
    for (;;) {
      const head = this.#head(rest);
      this.#needed = head ? head.start + head.length : Math.max(2, rest.length + 1);
      if (!head || rest.length < this.#needed) break;
      const message = this.#frame(head, rest.subarray(head.start, this.#needed));
      if (message) messages.push(message);
      rest = rest.subarray(this.#needed);
    }
    this.#pieces = [rest];
    this.#size = rest.length;
    return messages;
  }

  /** Null when it is not all there. */
  #head(bytes: Buffer): Head | null {
    const [first, second] = bytes;
    if (first === undefined || second === undefined) return null;
    if ((first & 0x70) !== 0) throw new WebSocketProtocolError('reserved bits without an extension');
    if ((second & 0x80) !== 0) throw new WebSocketProtocolError('a masked frame from the server');
    const short = second & 0x7f;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < start) return null;
    let length = short;
    if (short === 126) length = bytes.readUInt16BE(2);
    else if (short === 127) length = Number(bytes.readBigUInt64BE(2));
    if (length + this.#partsSize > this.#limit) throw new WebSocketProtocolError('a message is too long');
    return { final: (first & 0x80) !== 0, opcode: first & 0x0f, start, length };
  }

  #frame({ final, opcode, length }: Head, payload: Buffer): SocketMessage | null {
    if (opcode >= opcodes.close) {
      if (!final || length > maxControl)
        throw new WebSocketProtocolError('a control frame in parts or too long');
      return control(opcode, payload);
    }
    if (opcode === opcodes.text || opcode === opcodes.binary) {
      if (this.#kind) throw new WebSocketProtocolError('a message inside a message');
      this.#kind = opcode === opcodes.text ? 'text' : 'binary';
    } else if (opcode !== opcodes.continuation || !this.#kind) {
      throw new WebSocketProtocolError(`an unexpected opcode ${opcode}`);
    }
    this.#parts.push(payload);
    this.#partsSize += payload.length;
    if (!final) return null;
    const bytes = Buffer.concat(this.#parts);
    const kind = this.#kind;
    this.#parts = [];
    this.#partsSize = 0;
    this.#kind = null;
    return kind === 'text' ? { type: 'text', text: utf8(bytes) } : { type: 'binary', bytes };
  }
}

function control(opcode: number, payload: Buffer): SocketMessage | null {
  if (opcode === opcodes.ping) return { type: 'ping', bytes: Buffer.from(payload) };
  if (opcode === opcodes.pong) return null;
  if (opcode !== opcodes.close) throw new WebSocketProtocolError(`an unknown opcode ${opcode}`);
  if (payload.length === 1) throw new WebSocketProtocolError('half a close code');
  const code = payload.length === 0 ? null : payload.readUInt16BE(0);
  return { type: 'close', code, reason: utf8(payload.subarray(2)) };
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new WebSocketProtocolError('text that is not UTF-8');
  }
}
