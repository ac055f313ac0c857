// A frame in the encodings that connections want, each made at most once, whatever the number of connections. Also the
// frames for one socket alone. Keeps promise P38.
import { encode } from '@msgpack/msgpack';
import type { Frame } from '../../shared/frame.ts';
import { idWithPlace, type Position } from '../../shared/position.ts';
import type { Codec } from './session.ts';

/** Something to send: a frame, or the result of an agent's message. */
export interface Piece {
  /** A newer piece of the same key replaces an unsent one; null: never replaced. */
  readonly key: string | null;
  bytes(codec: Codec): Uint8Array | string;
  size(codec: Codec): number;
}

/** A frame before it has a position: what its copies at several positions share. */
export class EncodedFrame {
  readonly frame: Frame;
  readonly key: string | null;
  #packed: Uint8Array | null = null;
  #placed: PlacedFrame | null = null;

  constructor(frame: Frame) {
    this.frame = frame;
    const newest = frame.bundle ?? frame.fleet;
    this.key = newest === undefined ? null : `${frame.type} ${newest}`;
  }

  /** The data as a MessagePack map: only where a connection wants it is the JSON read. */
  packed(): Uint8Array {
    this.#packed ??= encode(JSON.parse(viewOf(this.frame.json).toString()));
    return this.#packed;
  }

  /**
   * The frame as streams that catch up are sent it. They get the same one, with its encodings, until the position is
   * another: a fleet that comes back at once catches up after the same frame of the log.
   */
  placedAt(position: Position, place: number | null): PlacedFrame {
    const last = this.#placed;
    if (last && last.position === position && last.place === place) return last;
    this.#placed = new PlacedFrame(position, this, 0, place);
    return this.#placed;
  }
}

export class PlacedFrame implements Piece {
  readonly position: Position;
  readonly encoded: EncodedFrame;
  /** Order of arrival in its feed; 0 for frames made for one stream. */
  readonly order: number;
  /** The highest place of the events that were sent until then; null where none come in between. */
  readonly place: number | null;
  #sse: Buffer | null = null;
  #text: Buffer | null = null;
  #packed: Buffer | null = null;
  #traced: PlacedFrame | null = null;

  constructor(position: Position, encoded: EncodedFrame, order = 0, place: number | null = null) {
    this.position = position;
    this.encoded = encoded;
    this.order = order;
    this.place = place;
  }

  /** The same for a stream that was sent events up to another place. */
  after(place: number): PlacedFrame {
    return new PlacedFrame(this.position, this.encoded, this.order, place);
  }

  /** The same with the trace that it belongs to, for streams that ask for it. */
  traced(): PlacedFrame {
    const { frame } = this.encoded;
    if (frame.trace === undefined) return this;
    const json = Buffer.concat([frame.json.subarray(0, -1), Buffer.from(`,"traceparent":"${frame.trace}"}`)]);
    this.#traced ??= new PlacedFrame(
      this.position,
      new EncodedFrame({ ...frame, json }),
      this.order,
      this.place,
    );
    return this.#traced;
  }

  /** The id that a client sends back to continue after this frame. */
  get id(): string {
    return this.place === null ? this.position : idWithPlace(this.position, this.place);
  }

  get frame(): Frame {
    return this.encoded.frame;
  }

  get key(): string | null {
    return this.encoded.key;
  }

  bytes(codec: Codec): Buffer {
    const { type, json } = this.frame;
    if (codec === 'sse') {
      // A type that begins with a colon is a comment, which has neither id nor data.
      if (type.startsWith(':')) return Buffer.from(`${type}\n\n`);
      const eventLine = type === '' ? '' : `event: ${type}\n`;
      this.#sse ??= Buffer.concat([Buffer.from(`id: ${this.id}\n${eventLine}data: `), json, lineEnds]);
      return this.#sse;
    }
    if (isAside(this.frame)) {
      const head = Buffer.from(`{"id":${JSON.stringify(this.id)},"type":${JSON.stringify(type)},"data":`);
      this.#text ??= Buffer.concat([head, json, Buffer.from('}')]);
      return codec === 'json' ? this.#text : Buffer.from(encode(JSON.parse(this.#text.toString())));
    }
    // The data of a frame without a type contains the frame's own id.
    if (type === '') return codec === 'json' ? viewOf(json) : viewOf(this.encoded.packed());
    if (codec === 'json') {
      this.#text ??= Buffer.concat([Buffer.from(`{"id":${JSON.stringify(this.id)},`), json.subarray(1)]);
      return this.#text;
    }
    this.#packed ??= withId(this.encoded.packed(), this.id);
    return this.#packed;
  }

  size(codec: Codec): number {
    return this.bytes(codec).length;
  }
}

/** True for an event among frames of another kind: its data is the event alone. */
export const isAside = ({ type, event }: Frame): boolean => type !== '' && event !== undefined;

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const lineEnds = Buffer.from('\n\n');
const mapMarks = { short: 0x80, two: 0xde, four: 0xdf } as const;

/** A MessagePack map with `id` before its other entries. */
function withId(map: Uint8Array, id: string): Buffer {
  const bytes = viewOf(map);
  const mark = bytes.readUInt8(0);
  const width = mark === mapMarks.two ? 2 : mark === mapMarks.four ? 4 : 0;
  const count = 1 + (width === 0 ? mark - mapMarks.short : bytes.readUIntBE(1, width));
  const head = Buffer.alloc(5, mapMarks.four);
  head.writeUInt32BE(count, 1);
  return Buffer.concat([head, encode('id'), encode(id), bytes.subarray(1 + width)]);
}

/** An object without an id, for one WebSocket: the result of an agent's message, or a keepalive. */
export class SocketPiece implements Piece {
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
