// Reads MessagePack into plain data: what the hub's frames are made of (JSON's types and byte strings). No extension types.
const maxDepth = 64;
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * The one value these bytes hold. Whole numbers beyond 2^53 lose precision.
 * @throws RangeError for bytes that end too soon, go on too long, nest deeper than 64, or hold a type that JSON has not
 */
export function readMessagePack(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (!reader.ended) throw new RangeError('MessagePack: bytes after the value');
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

  get ended(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(depth: number): unknown {
    if (depth > maxDepth) throw new RangeError('MessagePack: nested too deep');
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
        return this.#raw(this.#unsigned(2 ** (type - 0xc4)));
      case 0xca:
        return this.#view.getFloat32(this.#take(4));
      case 0xcb:
        return this.#view.getFloat64(this.#take(8));
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return this.#unsigned(2 ** (type - 0xcc));
      case 0xd0:
        return this.#view.getInt8(this.#take(1));
      case 0xd1:
        return this.#view.getInt16(this.#take(2));
      case 0xd2:
        return this.#view.getInt32(this.#take(4));
      case 0xd3:
        return Number(this.#view.getBigInt64(this.#take(8)));
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
        throw new RangeError(`MessagePack: type 0x${type.toString(16)} is not used here`);
    }
  }

  /** @param size bytes: 1, 2, 4 or 8 */
  #unsigned(size: number): number {
    const at = this.#take(size);
    if (size === 1) return this.#view.getUint8(at);
    if (size === 2) return this.#view.getUint16(at);
    return size === 4 ? this.#view.getUint32(at) : Number(this.#view.getBigUint64(at));
  }

  #raw(length: number): Uint8Array {
    const at = this.#take(length);
    return this.#bytes.slice(at, at + length);
  }

  #text(length: number): string {
    return utf8.decode(this.#raw(length));
  }

  /** Nothing is reserved for a stated length: values that are not there end the reading. */
  #list(length: number, depth: number): unknown[] {
    const list: unknown[] = [];
    for (let i = 0; i < length; i++) list.push(this.value(depth + 1));
    return list;
  }

  #map(length: number, depth: number): { [name: string]: unknown } {
    const entries: [string, unknown][] = [];
    for (let i = 0; i < length; i++) entries.push([String(this.value(depth + 1)), this.value(depth + 1)]);
    return Object.fromEntries(entries);
  }

  #take(length: number): number {
    const at = this.#at;
    if (at + length > this.#bytes.length) throw new RangeError('MessagePack: the bytes end too soon');
    this.#at = at + length;
    return at;
  }
}
