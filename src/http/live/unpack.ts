// MessagePack from a client to plain JSON values. Written out because a decoder that allocates by declared lengths can be made to
// allocate without bound: here nothing is allocated before its bytes are there, and nesting is bounded.
import { HubError } from '../../domain/error.ts';
import { maxJsonDepth, measureJson } from '../../domain/json.ts';

const invalid = (why: string): HubError =>
  new HubError('invalid_json', `The message is not valid MessagePack: ${why}.`);
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws HubError invalid_json for anything that JSON could not hold: binaries, extensions, keys that are no texts, NaN */
export function unpack(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (!reader.done) throw invalid('bytes follow the value');
  measureJson(value);
  return value;
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(depth: number): unknown {
    const type = this.#view.getUint8(this.#take(1));
    if (type < 0x80) return type;
    if (type >= 0xe0) return type - 0x100;
    if (type < 0x90) return this.#map(type & 0x0f, depth);
    if (type < 0xa0) return this.#array(type & 0x0f, depth);
    if (type < 0xc0) return this.#text(type & 0x1f);
    switch (type) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return this.#view.getFloat32(this.#take(4));
      case 0xcb:
        return this.#view.getFloat64(this.#take(8));
      case 0xcc:
        return this.#view.getUint8(this.#take(1));
      case 0xcd:
        return this.#view.getUint16(this.#take(2));
      case 0xce:
        return this.#view.getUint32(this.#take(4));
      case 0xcf:
        return Number(this.#view.getBigUint64(this.#take(8)));
      case 0xd0:
        return this.#view.getInt8(this.#take(1));
      case 0xd1:
        return this.#view.getInt16(this.#take(2));
      case 0xd2:
        return this.#view.getInt32(this.#take(4));
      case 0xd3:
        return Number(this.#view.getBigInt64(this.#take(8)));
      case 0xd9:
        return this.#text(this.#view.getUint8(this.#take(1)));
      case 0xda:
        return this.#text(this.#view.getUint16(this.#take(2)));
      case 0xdb:
        return this.#text(this.#view.getUint32(this.#take(4)));
      case 0xdc:
        return this.#array(this.#view.getUint16(this.#take(2)), depth);
      case 0xdd:
        return this.#array(this.#view.getUint32(this.#take(4)), depth);
      case 0xde:
        return this.#map(this.#view.getUint16(this.#take(2)), depth);
      case 0xdf:
        return this.#map(this.#view.getUint32(this.#take(4)), depth);
      default:
        throw invalid('it holds a binary, an extension or an unknown type');
    }
  }

  /** The offset of the next `count` bytes, which are there. */
  #take(count: number): number {
    const at = this.#at;
    if (count > this.#bytes.length - at) throw invalid('it is cut short');
    this.#at = at + count;
    return at;
  }

  #text(length: number): string {
    const at = this.#take(length);
    try {
      return utf8.decode(this.#bytes.subarray(at, at + length));
    } catch {
      throw invalid('a text is not UTF-8');
    }
  }

  #array(length: number, depth: number): unknown[] {
    this.#enter(length, depth);
    const items: unknown[] = [];
    for (let i = 0; i < length; i++) items.push(this.value(depth + 1));
    return items;
  }

  #map(length: number, depth: number): { [key: string]: unknown } {
    this.#enter(length * 2, depth);
    const entries: [string, unknown][] = [];
    for (let i = 0; i < length; i++) {
      const key = this.value(depth + 1);
      if (typeof key !== 'string') throw invalid('a key is not a text');
      entries.push([key, this.value(depth + 1)]);
    }
    // fromEntries defines `__proto__` as a key of its own, which measureJson then refuses.
    return Object.fromEntries(entries);
  }

  /** Every item takes a byte at least. */
  #enter(items: number, depth: number): void {
    if (items > this.#bytes.length - this.#at) throw invalid('it is cut short');
    if (depth >= maxJsonDepth) throw invalid(`it is nested deeper than ${maxJsonDepth} levels`);
  }
}
