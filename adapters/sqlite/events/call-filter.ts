// Which ids may be in the table of calls: an id that the filter does not know is new, and nothing is read for it.
// Nearly every id of an event is new, and a look into the table costs more than all else that is done with it.

/** Ids of the first part; each next part holds twice as many. */
const firstIds = 1 << 19;
/** Beyond so many ids a filter costs more memory than it saves time: 48 MB. */
const maxIds = 1 << 25;
const bitsPerId = 12;
/** A block has eight words, and an id sets a bit in each. */
const blockWords = 8;
/** Odd numbers of the Parquet format's split block Bloom filter, which take a bit of each word from one hash. */
const salts = Int32Array.of(
  0x47b6137b,
  0x44974d91,
  0x8824ad5b | 0,
  0xa2b7289d | 0,
  0x705495c7,
  0x2df1424b,
  0x9efc4947 | 0,
  0x5c6bfb31,
);

class Part {
  readonly #words: Int32Array;
  readonly #blocks: number;
  readonly capacity: number;
  count = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#blocks = Math.ceil((capacity * bitsPerId) / (blockWords * 32));
    this.#words = new Int32Array(this.#blocks * blockWords);
  }

  #blockOf(hash: number): number {
    return Math.floor(((hash >>> 0) * this.#blocks) / 0x1_0000_0000) * blockWords;
  }

  add(first: number, second: number): void {
    const at = this.#blockOf(first);
    for (let i = 0; i < blockWords; i++)
      this.#words[at + i] = (this.#words[at + i] ?? 0) | (1 << (Math.imul(second, salts[i] ?? 0) >>> 27));
    this.count++;
  }

  mayHave(first: number, second: number): boolean {
    const at = this.#blockOf(first);
    for (let i = 0; i < blockWords; i++)
      if (((this.#words[at + i] ?? 0) & (1 << (Math.imul(second, salts[i] ?? 0) >>> 27))) === 0) return false;
    return true;
  }
}

export class CallFilter {
  #parts: Part[] | null = [];
  #ids = 0;

  /** False once there are too many ids: then every id may be in the table. */
  get isUsed(): boolean {
    return this.#parts !== null;
  }

  /** Ids that were added; infinite once there are too many. */
  get size(): number {
    return this.#parts === null ? Number.POSITIVE_INFINITY : this.#ids;
  }

  /** @param hashes two of each id (call-ids.ts) */
  add(hashes: Int32Array, i: number): void {
    if (this.#parts === null) return;
    let part = this.#parts.at(-1);
    if (!part || part.count >= part.capacity) {
      if (this.#ids >= maxIds) {
        this.#parts = null;
        return;
      }
      part = new Part(part ? part.capacity * 2 : firstIds);
      this.#parts.push(part);
    }
    part.add(hashes[i * 2] ?? 0, hashes[i * 2 + 1] ?? 0);
    this.#ids++;
  }

  /** False for an id that was never added. */
  mayHave(hashes: Int32Array, i: number): boolean {
    if (this.#parts === null) return true;
    const first = hashes[i * 2] ?? 0;
    const second = hashes[i * 2 + 1] ?? 0;
    return this.#parts.some((part) => part.mayHave(first, second));
  }
}
