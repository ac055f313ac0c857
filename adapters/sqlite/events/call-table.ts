// Call ids in memory with their entries, as a hash table over typed arrays: a Map of texts takes five times as long.
// Rows stay in the order in which they came, so that the newest can be taken back.
import type { CallIds } from './call-ids.ts';

const firstRows = 1024;
/** The entry of a row that was removed. */
const removed = -1;
/** Words of a row: the tenant and the id. */
const rowWords = 5;

export class CallTable {
  #rows = new Uint32Array(firstRows * rowWords);
  #entries = new Float64Array(firstRows);
  /** Two of each row (call-ids.ts). The first leads to its slot. */
  #hashes = new Int32Array(firstRows * 2);
  /** Numbers of rows, from 1; 0 is an empty slot. Twice as many as rows, a power of two. */
  #slots = new Int32Array(firstRows * 2);
  #size = 0;

  /** Rows, with those that were removed. */
  get size(): number {
    return this.#size;
  }

  /** Two of each row. */
  get hashes(): Int32Array {
    return this.#hashes;
  }

  /** The row of an id, removed or not; -1 for none. */
  #rowOf({ tenant, words, hashes }: CallIds, i: number): number {
    const mask = this.#slots.length - 1;
    const rows = this.#rows;
    for (let slot = (hashes[i * 2] ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const row = (this.#slots[slot] ?? 0) - 1;
      if (row < 0) return -1;
      const at = row * rowWords;
      const id = i * 4;
      if (
        rows[at + 1] === words[id] &&
        rows[at + 2] === words[id + 1] &&
        rows[at + 3] === words[id + 2] &&
        rows[at + 4] === words[id + 3] &&
        rows[at] === tenant
      )
        return row;
    }
  }

  find(ids: CallIds, i: number): number | undefined {
    const row = this.#rowOf(ids, i);
    const entry = row < 0 ? removed : (this.#entries[row] ?? removed);
    return entry === removed ? undefined : entry;
  }

  /**
   * Sets the entry of an id.
   * @returns what takes it back, where the id had a row; a new row is taken back by `truncate`
   */
  put(ids: CallIds, i: number, entry: number): (() => void) | null {
    const row = this.#rowOf(ids, i);
    if (row >= 0) return this.#replace(row, entry);
    if (this.#size === this.#entries.length) this.#grow();
    const at = this.#size * rowWords;
    this.#rows[at] = ids.tenant;
    for (let word = 0; word < 4; word++) this.#rows[at + 1 + word] = ids.words[i * 4 + word] ?? 0;
    this.#entries[this.#size] = entry;
    this.#hashes[this.#size * 2] = ids.hashes[i * 2] ?? 0;
    this.#hashes[this.#size * 2 + 1] = ids.hashes[i * 2 + 1] ?? 0;
    this.#link(this.#size++);
    return null;
  }

  /** @returns what takes it back; null when the id has not this place */
  remove(ids: CallIds, i: number, hasPlace: (entry: number) => boolean): (() => void) | null {
    const row = this.#rowOf(ids, i);
    const entry = row < 0 ? removed : (this.#entries[row] ?? removed);
    return entry === removed || !hasPlace(entry) ? null : this.#replace(row, removed);
  }

  #replace(row: number, entry: number): () => void {
    const before = this.#entries[row] ?? removed;
    this.#entries[row] = entry;
    return () => {
      this.#entries[row] = before;
    };
  }

  /** Forgets the newest rows. */
  truncate(size: number): void {
    const mask = this.#slots.length - 1;
    while (this.#size > size) {
      const row = --this.#size;
      // The newest row is the last of its run of slots that was filled: nothing behind it is found through it.
      let slot = (this.#hashes[row * 2] ?? 0) & mask;
      while (this.#slots[slot] !== row + 1) slot = (slot + 1) & mask;
      this.#slots[slot] = 0;
    }
  }

  #link(row: number): void {
    const mask = this.#slots.length - 1;
    let slot = (this.#hashes[row * 2] ?? 0) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = row + 1;
  }

  #grow(): void {
    const rows = this.#entries.length * 2;
    const [words, entries, hashes] = [this.#rows, this.#entries, this.#hashes];
    this.#rows = new Uint32Array(rows * rowWords);
    this.#rows.set(words);
    this.#entries = new Float64Array(rows);
    this.#entries.set(entries);
    this.#hashes = new Int32Array(rows * 2);
    this.#hashes.set(hashes);
    this.#slots = new Int32Array(rows * 2);
    for (let row = 0; row < this.#size; row++) this.#link(row);
  }

  /** Null for a row that was removed. */
  entryAt(row: number): number | null {
    const entry = this.#entries[row] ?? removed;
    return entry === removed ? null : entry;
  }

  tenantAt(row: number): number {
    return this.#rows[row * rowWords] ?? 0;
  }

  /** The first byte of a row's id. */
  firstByteAt(row: number): number {
    return (this.#rows[row * rowWords + 1] ?? 0) >>> 24;
  }

  /** Writes the 16 bytes of a row's id. */
  writeId(row: number, target: Buffer, to: number): void {
    for (let word = 0; word < 4; word++)
      target.writeUInt32BE(this.#rows[row * rowWords + 1 + word] ?? 0, to + word * 4);
  }

  /** Compares rows by tenant and id, as the table on disk does. */
  readonly compare = (a: number, b: number): number => {
    for (let word = 0; word < rowWords; word++) {
      const difference = (this.#rows[a * rowWords + word] ?? 0) - (this.#rows[b * rowWords + word] ?? 0);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}
