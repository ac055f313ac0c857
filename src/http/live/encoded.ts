// A frame with its position, encoded at most once per codec whatever the number of connections.
import { encode } from '@msgpack/msgpack';
import { comparePositions, type Frame, type Position, readPosition } from '../../domain/frame.ts';
import type { Codec } from './session.ts';

/** True when `a` comes after `b` in the log. */
export function isAfter(a: Position, b: Position): boolean {
  const left = readPosition(a);
  const right = readPosition(b);
  return left !== null && right !== null && comparePositions(left, right) > 0;
}

/** Something to send: a frame, or the result of an agent's message. */
export interface Piece {
  /** A newer piece of the same key replaces an unsent one; null: never replaced. */
  readonly key: string | null;
  bytes(codec: Codec): Uint8Array | string;
  size(codec: Codec): number;
}

export class EncodedFrame implements Piece {
  readonly position: Position;
  readonly frame: Frame;
  readonly key: string | null;
  /** Order of arrival in its feed; 0 for frames made for one stream. */
  readonly order: number;
  #json: string | null = null;
  #sse: Buffer | null = null;
  #text: Buffer | null = null;
  #packed: Buffer | null = null;

  constructor(position: Position, frame: Frame, order = 0) {
    this.position = position;
    this.frame = frame;
    this.order = order;
    this.key = frame.bundle === undefined ? null : `${frame.type} ${frame.bundle}`;
  }

  /** The data as JSON text: one line, because JSON escapes line ends. */
  json(): string {
    this.#json ??= JSON.stringify(this.frame.data);
    return this.#json;
  }

  bytes(codec: Codec): Buffer {
    if (codec === 'sse') {
      this.#sse ??= Buffer.from(`id: ${this.position}\nevent: ${this.frame.type}\ndata: ${this.json()}\n\n`);
      return this.#sse;
    }
    if (codec === 'json') {
      this.#text ??= Buffer.from(`{"id":${JSON.stringify(this.position)},${this.json().slice(1)}`);
      return this.#text;
    }
    if (!this.#packed) {
      const packed = encode({ id: this.position, ...this.frame.data });
      this.#packed = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    }
    return this.#packed;
  }

  size(codec: Codec): number {
    return this.bytes(codec).length;
  }
}

/** The result of an agent's message, for the one socket it came from. */
export class ResultPiece implements Piece {
  readonly key = null;
  readonly #value: object;
  constructor(value: object) {
    this.#value = value;
  }

  bytes(codec: Codec): Uint8Array | string {
    return codec === 'msgpack' ? encode(this.#value, { ignoreUndefined: true }) : JSON.stringify(this.#value);
  }

  size(codec: Codec): number {
    return this.bytes(codec).length;
  }
}
