// Documents that a thread has compiled before, so that trying one call after another does not compile the same text
// each time. Bounded in bytes of text and by the thread's heap: a short text may compile to much. Knows nothing of
// rules.
import { getHeapStatistics } from 'node:v8';

export interface CompiledTextsOptions {
  /** Bytes of all remembered texts and their keys, as the engine holds them: two for each UTF-16 code unit. */
  readonly maxBytes?: number;
  /**
   * Bytes of heap in use above which everything is forgotten before the next text is compiled. A thread has 256 MiB.
   */
  readonly maxHeapBytes?: number;
  /** Bytes of heap in use. */
  readonly heapBytes?: () => number;
}

interface Entry<T> {
  readonly value: T;
  readonly bytes: number;
}

export class CompiledTexts<T> {
  /** The one used last stands last. */
  readonly #entries = new Map<string, Entry<T>>();
  readonly #maxBytes: number;
  readonly #maxHeapBytes: number;
  readonly #heapBytes: () => number;
  #bytes = 0;

  constructor(options: CompiledTextsOptions = {}) {
    this.#maxBytes = options.maxBytes ?? 4 * 1024 * 1024;
    this.#maxHeapBytes = options.maxHeapBytes ?? 96 * 1024 * 1024;
    this.#heapBytes = options.heapBytes ?? (() => getHeapStatistics().used_heap_size);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Remembered value of the key, else a new value from `make`.
   * @param key the text or its digest, with all else that the result depends on
   * @param length of the text, where the key does not hold it
   * @throws errors from `make`; nothing is remembered then
   */
  of(key: string, length: number, make: () => T): T {
    const entry = this.#entries.get(key);
    if (entry) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      return entry.value;
    }
    if (this.#heapBytes() > this.#maxHeapBytes) this.#forget(() => true);
    const value = make();
    const bytes = 2 * (key.length + length);
    if (bytes > this.#maxBytes) return value;
    this.#forget(() => this.#bytes + bytes > this.#maxBytes);
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    return value;
  }

  /** Those not used for the longest time first. */
  #forget(goesOn: () => boolean): void {
    for (const [key, { bytes }] of this.#entries) {
      if (!goesOn()) return;
      this.#entries.delete(key);
      this.#bytes -= bytes;
    }
  }
}
