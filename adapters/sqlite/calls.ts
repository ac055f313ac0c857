// Which call ids are stored, and where. New ones are held in memory and merged into the table in sorted slices, because
// random ids written one by one would touch a page each. After a crash the newest are read back from the segments.
import type { Database } from './database.ts';
import { type CallKey, callKey, verdictCode } from './events-encode.ts';
import { bodyEvents, bodyText, placeOf } from './segment.ts';

/** Where a call is and how it ended, as one number: place × 32 + verdict code. */
const entryOf = (place: number, code: number): number => place * 32 + code;
export const placeOfEntry = (entry: number): number => Math.floor(entry / 32);
export const codeOfEntry = (entry: number): number => entry % 32;

/** All call ids of a segment as bytes, 16 each, or one key each. */
export type Calls = Uint8Array | readonly CallKey[];

/** Calls that were looked up: their names in memory, and the entries of those that are stored, by position. */
export interface Looked {
  readonly names: readonly string[];
  readonly known: ReadonlyMap<number, number>;
}

type Named = readonly [name: string, entry: number];

/** A full memory on its way into the table. */
interface Merging {
  readonly entries: Map<string, number>;
  /** Its entries by the first byte of their ids; emptied one by one. */
  readonly buckets: Named[][];
  /** The table is complete up to this segment once all buckets are empty. */
  readonly through: number;
}

export interface CallLimits {
  /** Call ids held in memory before they are merged. */
  readonly calls: number;
  /** Bytes of their segments: what a start after a crash reads. */
  readonly bytes: number;
}

const usualLimits: CallLimits = { calls: 100_000, bytes: 96 << 20 };
const bucketCount = 256;
/** Rows of one packed statement; `temp.numbers` counts as far. */
const packedRows = 256;

const findOne = 'SELECT entry FROM calls WHERE tenant = ? AND call_id = ?';
const findPacked = `SELECT n, entry FROM temp.numbers CROSS JOIN calls
  ON calls.tenant = ?1 AND calls.call_id = substr(?2, n * 16 + 1, 16) WHERE n < ?3`;
const insertOne = 'INSERT OR REPLACE INTO calls (tenant, call_id, entry) VALUES (?, ?, ?)';
// The columns' affinity makes numbers of the digits.
const insertPacked = `INSERT OR REPLACE INTO calls (tenant, call_id, entry)
  SELECT substr(?1, n * 16 + 1, 16), substr(?2, n * 16 + 1, 16), substr(?3, n * 16 + 1, 16)
  FROM temp.numbers WHERE n < ?4`;

/** Names in memory: the tenant's number, then `:` and 16 bytes as characters, or a space and the text. */
function namesOf(tenant: number, calls: Calls): string[] {
  if (!(calls instanceof Uint8Array)) return calls.map((call) => nameOf(tenant, call));
  const all = Buffer.from(calls.buffer, calls.byteOffset, calls.byteLength).toString('latin1');
  return Array.from({ length: all.length / 16 }, (_, i) => `${tenant}:${all.slice(i * 16, i * 16 + 16)}`);
}

const nameOf = (tenant: number, call: CallKey): string =>
  typeof call === 'string' ? `${tenant} ${call}` : (namesOf(tenant, call)[0] ?? '');

const afterTenant = (name: string): number => name.search(/[: ]/) + 1;
const isPacked = ([name]: Named): boolean => name[afterTenant(name) - 1] === ':';
const digits = (n: number | string): string => String(n).padStart(16, '0');

export class CallIndex {
  readonly #db: Database;
  readonly #limits: CallLimits;
  #recent = new Map<string, number>();
  #bytes = 0;
  #newest = 0;
  #merging: Merging | null = null;

  constructor(db: Database, limits = usualLimits) {
    this.#db = db;
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
      const text = bodyText(db, this.#newest) ?? '[]';
      this.#bytes += text.length;
      bodyEvents(text).forEach((event, position) => {
        if (!event) return;
        const entry = entryOf(placeOf(this.#newest, position), verdictCode(event.verdict));
        this.#recent.set(nameOf(Number(tenant), callKey(event.call_id)), entry);
      });
    }
  }

  #held(name: string): number | undefined {
    return this.#recent.get(name) ?? this.#merging?.entries.get(name);
  }

  /** The entry of a call, or null when it is not stored. */
  find(tenant: number, call: CallKey): number | null {
    const held = this.#held(nameOf(tenant, call));
    if (held !== undefined) return held;
    const row = this.#db.get(findOne, [tenant, call]);
    return row ? Number(row[0]) : null;
  }

  /** Looks all calls of a segment up. */
  look(tenant: number, calls: Calls): Looked {
    const names = namesOf(tenant, calls);
    const known = new Map<number, number>();
    names.forEach((name, position) => {
      const entry = calls instanceof Uint8Array ? this.#held(name) : this.find(tenant, calls[position] ?? '');
      if (typeof entry === 'number') known.set(position, entry);
    });
    if (calls instanceof Uint8Array && known.size < names.length) {
      const rows = this.#db.all(findPacked, [tenant, calls, names.length]);
      for (const [position, entry] of rows) known.set(Number(position), Number(entry));
    }
    return { names, known };
  }

  /** Adds those calls of a new segment that were not known. */
  add(segment: number, { names, known }: Looked, codes: Uint8Array, bytes: number): void {
    const added = this.#recent;
    const newest = this.#newest;
    names.forEach((name, position) => {
      if (!known.has(position)) added.set(name, entryOf(placeOf(segment, position), codes[position] ?? 0));
    });
    this.#newest = Math.max(newest, segment);
    this.#bytes += bytes;
    this.#db.onUndo(() => {
      names.forEach((name, position) => {
        if (!known.has(position)) added.delete(name);
      });
      this.#newest = newest;
      this.#bytes -= bytes;
    });
  }

  /** Forgets a call if it is the one at this place. */
  remove(tenant: number, call: CallKey, place: number): void {
    const name = nameOf(tenant, call);
    for (const held of [this.#recent, this.#merging?.entries]) {
      const entry = held?.get(name);
      if (!held || entry === undefined || placeOfEntry(entry) !== place) continue;
      held.delete(name);
      this.#db.onUndo(() => held.set(name, entry));
    }
    this.#db.run('DELETE FROM calls WHERE tenant = ? AND call_id = ? AND entry / 32 = ?', [
      tenant,
      call,
      place,
    ]);
  }

  /**
   * Moves on with the merge, twice as fast as the memory fills: it is over before the memory is full again.
   * To be called in a transaction, before its other writes.
   */
  maintain(): void {
    const full = () => Math.max(this.#recent.size / this.#limits.calls, this.#bytes / this.#limits.bytes);
    if (full() >= 1 && !this.#merging) this.#freeze();
    const wanted = bucketCount * Math.min(1, full() * 2);
    while (this.#merging && bucketCount - this.#merging.buckets.length < wanted)
      this.#mergeBucket(this.#merging);
  }

  #freeze(): void {
    const buckets: Named[][] = Array.from({ length: bucketCount }, () => []);
    for (const named of this.#recent) {
      const first = named[0].charCodeAt(afterTenant(named[0]));
      buckets[first % bucketCount || 0]?.push(named);
    }
    this.#merging = { entries: this.#recent, buckets, through: this.#newest };
    this.#recent = new Map();
    this.#bytes = 0;
  }

  #mergeBucket(merging: Merging): void {
    const bucket = merging.buckets.pop() ?? [];
    this.#db.onUndo(() => merging.buckets.push(bucket));
    // Some may have been removed since; in their order they touch each page once.
    const left = bucket.filter(([name, entry]) => merging.entries.get(name) === entry);
    left.sort(([a], [b]) => (a < b ? -1 : 1));
    this.#insert(left.filter(isPacked));
    for (const [name, entry] of left.filter((named) => !isPacked(named))) {
      const at = afterTenant(name);
      this.#db.run(insertOne, [Number(name.slice(0, at - 1)), name.slice(at), entry]);
    }
    if (merging.buckets.length > 0) return;
    this.#db.run('UPDATE store SET merged = ?', [merging.through]);
    this.#merging = null;
    this.#db.onUndo(() => {
      this.#merging = merging;
    });
  }

  /** Adds entries whose calls are bytes, many in one statement. */
  #insert(named: readonly Named[]): void {
    for (let i = 0; i < named.length; i += packedRows) {
      const part = named.slice(i, i + packedRows);
      this.#db.run(insertPacked, [
        part.map(([name]) => digits(name.slice(0, -17))).join(''),
        Buffer.from(part.map(([name]) => name.slice(-16)).join(''), 'latin1'),
        part.map(([, entry]) => digits(entry)).join(''),
        part.length,
      ]);
    }
  }
}
