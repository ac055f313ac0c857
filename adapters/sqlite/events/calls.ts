// Which call ids are stored, and where. New ones are held in memory and merged into the table in sorted slices. Random
// ids, written one by one, would touch a page each. After a crash the newest are read back from the segments.
import { type Database, givenText } from '../database.ts';
import { bucketsOf } from './call-buckets.ts';
import { CallFilter } from './call-filter.ts';
import { type CallIds, callIds } from './call-ids.ts';
import { CallRows, packedRows } from './call-rows.ts';
import { CallTable } from './call-table.ts';
import type { CallKey } from './encode.ts';
import { placeOf } from './segment.ts';
import { type Calls, segmentCalls } from './segment-calls.ts';

/** Where a call is and how it ended, as one number: place × 32 + verdict code. */
const entryOf = (place: number, code: number): number => place * 32 + code;
export const placeOfEntry = (entry: number): number => Math.floor(entry / 32);
export const codeOfEntry = (entry: number): number => entry % 32;

/** Ids as they are looked for in memory: those of 16 bytes together, else one by one. */
type Names = CallIds | readonly (CallIds | string)[];

/** Calls that were looked up, and the entries of those that are stored, by position. */
export interface Looked {
  readonly tenant: number;
  readonly names: Names;
  readonly entries: ReadonlyMap<number, number>;
}

const isIds = (names: Names): names is CallIds => 'words' in names;

const namesOf = (tenant: number, calls: Calls): Names =>
  calls instanceof Uint8Array
    ? callIds(tenant, calls)
    : calls.map((call) => (typeof call === 'string' ? call : callIds(tenant, call)));

/** Calls in memory: ids of 16 bytes, and others by `textName`. */
class Held {
  readonly ids = new CallTable();
  readonly texts = new Map<string, number>();

  get size(): number {
    return this.ids.size + this.texts.size;
  }

  find(tenant: number, name: CallIds | string, i: number): number | undefined {
    return typeof name === 'string' ? this.texts.get(textName(tenant, name)) : this.ids.find(name, i);
  }
}

const textName = (tenant: number, text: string): string => `${tenant} ${text}`;

/** A full memory on its way into the table. */
interface Merging {
  readonly held: Held;
  /** Its rows (call-buckets.ts); each bucket is sorted when its turn comes. */
  readonly buckets: readonly Int32Array[];
  readonly texts: readonly string[];
  /** Number of rows, with those that are removed during the merge. */
  readonly total: number;
  /** The table is complete up to this segment once all are merged. */
  readonly through: number;
  /** Merged so far: the buckets before this one, numbers of rows of this one, of texts, and of all together. */
  readonly bucket: number;
  readonly row: number;
  readonly text: number;
  readonly done: number;
}

export interface CallLimits {
  /** Call ids held in memory before they are merged, at least. */
  readonly calls: number;
  /**
   * The same at most, for a large table: 44 bytes of memory each, twice. A search by call id looks through the segments
   * of calls that are not merged. Default: `calls`
   */
  readonly mostCalls?: number;
  /** Bytes that a start after a crash reads for them. */
  readonly bytes: number;
}

export const usualCallLimits: CallLimits = { calls: 100_000, mostCalls: 250_000, bytes: 96 << 20 };
/** A merge writes about all pages of the table: as many ids are held as this part of its rows. */
const heldPart = 0.2;
/** Rows of the table that are entered into the filter before the events of a commit, until all are. */
const filteredRows = 1000;

const findOne = 'SELECT entry FROM calls WHERE tenant = ? AND call_id = ?';
const findPacked = `SELECT n, entry FROM temp.numbers CROSS JOIN calls
  ON calls.tenant = ?1 AND calls.call_id = substr(?2, n * 16 + 1, 16) WHERE n < ?3`;
const insertOne = 'INSERT OR REPLACE INTO calls (tenant, call_id, entry) VALUES (?, ?, ?)';
/** Texts sort before bytes, and are looked for one by one. */
const nextRows = `SELECT tenant, call_id FROM calls WHERE (tenant, call_id) > (?, ?) ORDER BY tenant, call_id
  LIMIT ${filteredRows}`;

export class CallIndex {
  readonly #db: Database;
  readonly #limits: CallLimits;
  readonly #filter = new CallFilter();
  /** The last row that the filter knows; null once it knows all. */
  #filtered: readonly [tenant: number, call: CallKey] | null = [-1, ''];
  #recent = new Held();
  #bytes = 0;
  #newest = 0;
  #merging: Merging | null = null;
  readonly #rows: CallRows;

  constructor(db: Database, limits: CallLimits = usualCallLimits) {
    this.#db = db;
    this.#rows = new CallRows(db);
    this.#limits = limits;
  }

  /** Reads what was not merged when the store was closed or died. Once, before anything else. */
  load(): void {
    const db = this.#db;
    db.exec(`CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY);
      WITH RECURSIVE up(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM up WHERE n < ${packedRows - 1})
      INSERT INTO numbers SELECT n FROM up`);
    this.#newest = Number(db.get('SELECT merged FROM store')?.[0]);
    const rows = db.all('SELECT id, tenant FROM segments WHERE id > ? ORDER BY id', [this.#newest]);
    for (const [id, tenant] of rows) {
      this.#newest = Number(id);
      this.#loadSegment(this.#newest, Number(tenant));
    }
  }

  #loadSegment(segment: number, tenant: number): void {
    const stored = segmentCalls(this.#db, segment);
    if (!stored) return;
    const { calls, codes, bytes } = stored;
    this.#bytes += bytes;
    const names = namesOf(tenant, calls);
    for (const [position, code] of codes.entries()) {
      if (code === null) continue;
      const entry = entryOf(placeOf(segment, position), code);
      const name = isIds(names) ? names : (names[position] ?? '');
      if (typeof name === 'string') this.#recent.texts.set(textName(tenant, name), entry);
      else this.#recent.ids.put(name, isIds(names) ? position : 0, entry);
    }
  }

  #inMemory(tenant: number, name: CallIds | string, i: number): number | undefined {
    return this.#recent.find(tenant, name, i) ?? this.#merging?.held.find(tenant, name, i);
  }

  #mayBeStored(ids: CallIds, i: number): boolean {
    return this.#filtered !== null || this.#filter.mayHave(ids.hashes, i);
  }

  /** The entry of a call, or null when it is not stored. */
  find(tenant: number, call: CallKey): number | null {
    return this.#find(tenant, call, typeof call === 'string' ? call : callIds(tenant, call)) ?? null;
  }

  #find(tenant: number, call: CallKey, name: CallIds | string): number | undefined {
    const held = this.#inMemory(tenant, name, 0);
    if (held !== undefined) return held;
    if (typeof name !== 'string' && !this.#mayBeStored(name, 0)) return undefined;
    const row = this.#db.get(findOne, [tenant, call]);
    return row ? Number(row[0]) : undefined;
  }

  /** Looks all calls of a segment up. */
  look(tenant: number, calls: Calls): Looked {
    const names = namesOf(tenant, calls);
    const entries = new Map<number, number>();
    if (isIds(names) && calls instanceof Uint8Array) this.#lookAll(names, calls, entries);
    else if (!isIds(names)) {
      names.forEach((name, position) => {
        const entry = this.#find(tenant, (calls as readonly CallKey[])[position] ?? '', name);
        if (entry !== undefined) entries.set(position, entry);
      });
    }
    return { tenant, names, entries };
  }

  #lookAll(ids: CallIds, calls: Uint8Array, knownEntries: Map<number, number>): void {
    const stored: number[] = [];
    for (let i = 0; i < ids.length; i++) {
      const entry = this.#inMemory(ids.tenant, ids, i);
      if (entry !== undefined) knownEntries.set(i, entry);
      else if (this.#mayBeStored(ids, i)) stored.push(i);
    }
    if (stored.length === 0) return;
    const newCalls =
      stored.length === ids.length
        ? calls
        : Buffer.concat(stored.map((i) => calls.subarray(i * 16, i * 16 + 16)));
    for (const [n, entry] of this.#db.all(findPacked, [ids.tenant, newCalls, stored.length]))
      knownEntries.set(stored[Number(n)] ?? -1, Number(entry));
  }

  /** Adds those calls of a new segment that were not known. */
  add(
    segment: number,
    { tenant, names, entries: knownEntries }: Looked,
    codes: Uint8Array,
    bytes: number,
  ): void {
    const { ids, texts } = this.#recent;
    const before = ids.size;
    const newest = this.#newest;
    const undo: (() => void)[] = [];
    for (let position = 0; position < names.length; position++) {
      if (knownEntries.has(position)) continue;
      const entry = entryOf(placeOf(segment, position), codes[position] ?? 0);
      const name = isIds(names) ? names : (names[position] ?? '');
      if (typeof name === 'string') {
        const text = textName(tenant, name);
        texts.set(text, entry);
        undo.push(() => texts.delete(text));
        continue;
      }
      const back = ids.put(name, isIds(names) ? position : 0, entry);
      if (back) undo.push(back);
    }
    this.#newest = Math.max(newest, segment);
    this.#bytes += bytes;
    this.#db.onUndo(() => {
      while (undo.length > 0) undo.pop()?.();
      ids.truncate(before);
      this.#newest = newest;
      this.#bytes -= bytes;
    });
  }

  /** Forgets a call if it is the one at this place. */
  remove(tenant: number, call: CallKey, place: number): void {
    const hasPlace = (entry: number): boolean => placeOfEntry(entry) === place;
    for (const held of [this.#recent, this.#merging?.held]) {
      const back = held && this.#forget(held, tenant, call, hasPlace);
      if (back) this.#db.onUndo(back);
    }
    this.#db.run('DELETE FROM calls WHERE tenant = ? AND call_id = ? AND entry / 32 = ?', [
      tenant,
      call,
      place,
    ]);
  }

  /** @returns what takes it back; null when nothing was forgotten */
  #forget(held: Held, tenant: number, call: CallKey, hasPlace: (entry: number) => boolean) {
    if (typeof call !== 'string') return held.ids.remove(callIds(tenant, call), 0, hasPlace);
    const name = textName(tenant, call);
    const entry = held.texts.get(name);
    if (entry === undefined || !hasPlace(entry)) return null;
    held.texts.delete(name);
    return () => held.texts.set(name, entry);
  }

  /**
   * Moves on with the merge, twice as fast as the memory fills: it is over before the memory is full again.
   * To be called in a transaction, before its other writes.
   */
  maintain(): void {
    this.#fillFilter();
    const full = Math.max(this.#recent.size / this.#mostHeld, this.#bytes / this.#limits.bytes);
    const merging = this.#merging;
    if (merging) this.#merge(merging, merging.total * Math.min(1, full * 2));
    else if (full >= 1) this.#freeze();
  }

  /** Ids held in memory before they are merged. */
  get #mostHeld(): number {
    const { calls, mostCalls = calls } = this.#limits;
    return Math.max(calls, Math.min(mostCalls, this.#filter.size * heldPart));
  }

  /** A merge at the same time enters its own rows into the filter, wherever they are. */
  #fillFilter(): void {
    if (this.#filtered === null || !this.#filter.isUsed) return;
    const rows = this.#db.all(nextRows, [...this.#filtered]);
    let last = this.#filtered;
    for (const [tenant, call] of rows) {
      last = [Number(tenant), typeof call === 'string' ? givenText(call) : (call as Uint8Array)];
      if (typeof call !== 'string') this.#filter.add(callIds(Number(tenant), call as Uint8Array).hashes, 0);
    }
    this.#filtered = rows.length < filteredRows ? null : last;
  }

  #freeze(): void {
    const held = this.#recent;
    this.#merging = {
      held,
      buckets: bucketsOf(held.ids),
      texts: [...held.texts.keys()].sort(),
      total: held.size,
      through: this.#newest,
      ...{ bucket: 0, row: 0, text: 0, done: 0 },
    };
    this.#recent = new Held();
    this.#bytes = 0;
  }

  /** Merges until `wanted` calls are done, in their order, so that each page is touched once. */
  #merge(merging: Merging, target: number): void {
    const { held, buckets, texts, total } = merging;
    let { bucket, row, text, done } = merging;
    for (; done < target && text < texts.length; text++, done++) this.#insertText(texts[text] ?? '', held);
    while (done < target) {
      const rows = buckets[bucket] ?? new Int32Array();
      if (row === 0) rows.sort(held.ids.compare);
      const part = rows.subarray(row, row + packedRows);
      this.#rows.insert(part, held.ids, (added) => this.#filter.add(held.ids.hashes, added));
      row += part.length;
      done += part.length;
      if (row >= rows.length) [bucket, row] = [bucket + 1, 0];
    }
    const over = done === total;
    if (over) this.#db.run('UPDATE store SET merged = ?', [merging.through]);
    this.#merging = over ? null : { ...merging, bucket, row, text, done };
    this.#db.onUndo(() => {
      this.#merging = merging;
    });
  }

  /** Some may have been removed since. */
  #insertText(name: string, { texts }: Held): void {
    const entry = texts.get(name);
    const at = name.indexOf(' ');
    if (entry !== undefined) this.#db.run(insertOne, [Number(name.slice(0, at)), name.slice(at + 1), entry]);
  }
}
