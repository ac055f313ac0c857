// Reads MessagePack into plain data: JSON's types, and byte strings where they are wanted. No extension types. Written
// out because a decoder that allocates by declared lengths can be made to allocate without bound: here nothing is
// allocated before its bytes are there.
/** Levels of nesting: as many as the hub takes of JSON. */
export const maxDepth = 64;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface MessagePackBounds {
  /** Byte strings are taken, too: as a Uint8Array; default false. */
  readonly binary?: boolean;
  /** Items of all lists and maps together; default unbounded. A value may take a hundred times its byte in memory. */
  readonly maxValues?: number;
  /** Reads an integer of 64 bits. Default: as a number, which loses precision beyond 2^53. */
  readonly large?: (value: bigint) => unknown;
}

/**
 * The one value these bytes hold. A `__proto__` becomes a key of its own.
 * @throws RangeError with a reason, for bytes that end too soon or go on too long, and for nesting deeper than JSON may
 *   have. Also for keys that are no texts, texts that are not UTF-8, and a type that JSON has not
 */
export function readMessagePack(bytes: Uint8Array, bounds: MessagePackBounds = {}): unknown {
  const reader = new Reader(bytes, bounds);
  const value = reader.value(0);
  if (!reader.ended) throw new RangeError('bytes follow the value');
  return value;
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #binary: boolean;
  readonly #maxValues: number;
  readonly #large: (value: bigint) => unknown;
  #values = 0;
  #at = 0;

  constructor(
    bytes: Uint8Array,
    { binary = false, maxValues = Number.POSITIVE_INFINITY, large = Number }: MessagePackBounds,
  ) {
    this.#bytes = bytes;
    this.#binary = binary;
    this.#maxValues = maxValues;
    this.#large = large;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get ended(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(depth: number): unknown {
    const type = this.#view.getUint8(this.#take(1));
    if (type <= 0x7f) return type;
    if (type <= 0x8f) return this.#map(type & 0x0f, depth);
    if (type <= 0x9f) return this.#list(type & 0x0f, depth);
    if (type <= 0xbf) return this.#text(type & 0x1f);
    if (type >= 0xe0) return type - 0x100;
    switch (type) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        if (this.#binary) return this.#raw(this.#unsigned(2 ** (type - 0xc4)));
        throw unknownType();
      case 0xca:
        return this.#view.getFloat32(this.#take(4));
      case 0xcb:
        return this.#view.getFloat64(this.#take(8));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(2 ** (type - 0xcc));
      case 0xcf:
        return this.#large(this.#view.getBigUint64(this.#take(8)));
      case 0xd0:
        return this.#view.getInt8(this.#take(1));
      case 0xd1:
        return this.#view.getInt16(this.#take(2));
      case 0xd2:
        return this.#view.getInt32(this.#take(4));
      case 0xd3:
        return this.#large(this.#view.getBigInt64(this.#take(8)));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#unsigned(2 ** (type - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#list(this.#unsigned(2 ** (type - 0xdb)), depth);
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(2 ** (type - 0xdd)), depth);
      default:
        throw unknownType();
    }
  }

  /** @param size bytes: 1, 2 or 4 */
  #unsigned(size: number): number {
    const at = this.#take(size);
    if (size === 1) return this.#view.getUint8(at);
    if (size === 2) return this.#view.getUint16(at);
    return this.#view.getUint32(at);
  }

  #raw(length: number): Uint8Array {
    const at = this.#take(length);
    return this.#bytes.slice(at, at + length);
  }

  #text(length: number): string {
    const at = this.#take(length);
    try {
      return utf8.decode(this.#bytes.subarray(at, at + length));
    } catch {
      throw new RangeError('a string is not UTF-8');
    }
  }

  #list(length: number, depth: number): unknown[] {
    this.#enter(length, length, depth);
    const list: unknown[] = [];
    for (let i = 0; i < length; i++) list.push(this.value(depth + 1));
    return list;
  }

  #map(length: number, depth: number): { [name: string]: unknown } {
    this.#enter(length, length * 2, depth);
    const entries: [string, unknown][] = [];
    for (let i = 0; i < length; i++) {
      const key = this.value(depth + 1);
      if (typeof key !== 'string') throw new RangeError('a key is not a string');
      entries.push([key, this.value(depth + 1)]);
    }
    return Object.fromEntries(entries);
  }

  /** Before a list or map is made. @param bytes it takes at least */
  #enter(items: number, bytes: number, depth: number): void {
    this.#values += items;
    if (this.#values > this.#maxValues)
      throw new RangeError(`it contains more than ${this.#maxValues} values`);
    if (bytes > this.#bytes.length - this.#at) throw tooShort();
    if (depth >= maxDepth) throw new RangeError(`it is nested deeper than ${maxDepth} levels`);
  }

  #take(length: number): number {
    const at = this.#at;
    if (length > this.#bytes.length - at) throw tooShort();
    this.#at = at + length;
    return at;
  }
}

const tooShort = (): RangeError => new RangeError('it is cut short');
const unknownType = (): RangeError => new RangeError('it contains a binary, an extension or an unknown type');
