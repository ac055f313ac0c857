// Which call ids are stored, and where. New ones are held in memory and merged into the table in sorted slices, because
// random ids written one by one would touch a page each. After a crash the newest are read back from the segments.
import type { Database } from '../database.ts';
import { type CallKey, callKey, verdictCode } from './encode.ts';
import { bodyEvents, placeOf, segmentBody } from './segment.ts';

/** Where a call is and how it ended, as one number: place × 32 + verdict code. */
const entryOf = (place: number, code: number): number => place * 32 + code;
export const placeOfEntry = (entry: number): number => Math.floor(entry / 32);
export const codeOfEntry = (entry: number): number => entry % 32;

/** All call ids of a segment as bytes, 16 each, or one key each. */
export type Calls = Uint8Array | readonly CallKey[];

/** The ids of a segment in one text of bytes, in which an id is looked for as its 16 bytes or as JSON. */
export const keyBytes = (calls: Calls): Uint8Array =>
  calls instanceof Uint8Array
    ? calls
    : Buffer.concat(
        calls.map((call) => (typeof call === 'string' ? Buffer.from(JSON.stringify(call)) : call)),
      );

/** Calls that were looked up: their names in memory, and the entries of those that are stored, by position. */
export interface Looked {
  readonly names: readonly string[];
  readonly known: ReadonlyMap<number, number>;
}

/** A full memory on its way into the table. */
interface Merging {
  readonly entries: Map<string, number>;
  /** Its names by the first byte of their ids; each is sorted when its turn comes. */
  readonly buckets: readonly string[][];
  /** How many names there are. */
  readonly total: number;
  /** The table is complete up to this segment once all names are merged. */
  readonly through: number;
  /** What is merged: the buckets before this one, so many names of this one, so many names in all. */
  readonly bucket: number;
  readonly row: number;
  readonly done: number;
}

export interface CallLimits {
  /** Call ids held in memory before they are merged. */
  readonly calls: number;
  /** Bytes of their segments: what a start after a crash reads. */
  readonly bytes: number;
}

export const usualCallLimits: CallLimits = { calls: 100_000, bytes: 96 << 20 };
const bucketCount = 256;
/** Rows of one packed statement; `temp.numbers` counts as far. */
const packedRows = 256;

const findOne = 'SELECT entry FROM calls WHERE tenant = ? AND call_id = ?';
const findPacked = `SELECT n, entry FROM temp.numbers CROSS JOIN calls
  ON calls.tenant = ?1 AND calls.call_id = substr(?2, n * 16 + 1, 16) WHERE n < ?3`;
const insertOne = 'INSERT OR REPLACE INTO calls (tenant, call_id, entry) VALUES (?, ?, ?)';
// All three are bytes, because SQLite finds a place in a text by counting from its start.
const insertPacked = `INSERT OR REPLACE INTO calls (tenant, call_id, entry)
  SELECT CAST(substr(?1, n * 16 + 1, 16) AS INTEGER), substr(?2, n * 16 + 1, 16),
    CAST(substr(?3, n * 16 + 1, 16) AS INTEGER) FROM temp.numbers WHERE n < ?4`;

/** Names in memory: the tenant's number, then `:` and 16 bytes as characters, or a space and the text. */
function namesOf(tenant: number, calls: Calls): string[] {
  if (!(calls instanceof Uint8Array)) return calls.map((call) => nameOf(tenant, call));
  const all = Buffer.from(calls.buffer, calls.byteOffset, calls.byteLength).toString('latin1');
  return Array.from({ length: all.length / 16 }, (_, i) => `${tenant}:${all.slice(i * 16, i * 16 + 16)}`);
}

const nameOf = (tenant: number, call: CallKey): string =>
  typeof call === 'string' ? `${tenant} ${call}` : (namesOf(tenant, call)[0] ?? '');

function afterTenant(name: string): number {
  let at = 0;
  while (isDigit(name.charCodeAt(at))) at++;
  return at + 1;
}

const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;

/** Writes a number in 16 digits. */
function writeDigits(target: Uint8Array, from: number, value: number): void {
  let left = value;
  for (let at = from + 15; at >= from; at--) {
    const rest = Math.floor(left / 10);
    target[at] = 0x30 + left - rest * 10;
    left = rest;
  }
}

export class CallIndex {
  readonly #db: Database;
  readonly #limits: CallLimits;
  #recent = new Map<string, number>();
  #bytes = 0;
  #newest = 0;
  #merging: Merging | null = null;
  /** Tenants, ids and entries of one packed statement, 16 bytes each. */
  readonly #packed = [
    Buffer.alloc(packedRows * 16),
    Buffer.alloc(packedRows * 16),
    Buffer.alloc(packedRows * 16),
  ] as const;

  constructor(db: Database, limits: CallLimits = usualCallLimits) {
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
      const body = segmentBody(db, this.#newest);
      if (!body) continue;
      this.#bytes += body.text.length;
      bodyEvents(body).forEach((event, position) => {
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
    const full = Math.max(this.#recent.size / this.#limits.calls, this.#bytes / this.#limits.bytes);
    const merging = this.#merging;
    if (merging) this.#merge(merging, merging.total * Math.min(1, full * 2));
    else if (full >= 1) this.#freeze();
  }

  #freeze(): void {
    const buckets: string[][] = Array.from({ length: bucketCount }, () => []);
    for (const name of this.#recent.keys()) {
      const first = name.charCodeAt(afterTenant(name));
      buckets[first % bucketCount || 0]?.push(name);
    }
    const [entries, through] = [this.#recent, this.#newest];
    this.#merging = { entries, buckets, total: entries.size, through, bucket: 0, row: 0, done: 0 };
    this.#recent = new Map();
    this.#bytes = 0;
  }

  /** Merges until `wanted` names are done, in their order, so that each page is touched once. */
  #merge(merging: Merging, wanted: number): void {
    let { bucket, row, done } = merging;
    while (done < wanted) {
      const names = merging.buckets[bucket] ?? [];
      if (row === 0) names.sort();
      const part = names.slice(row, row + packedRows);
      this.#insert(part, merging.entries);
      row += part.length;
      done += part.length;
      if (row === names.length) [bucket, row] = [bucket + 1, 0];
    }
    const over = done === merging.total;
    if (over) this.#db.run('UPDATE store SET merged = ?', [merging.through]);
    this.#merging = over ? null : { ...merging, bucket, row, done };
    this.#db.onUndo(() => {
      this.#merging = merging;
    });
  }

  /** Adds names to the table, those whose calls are bytes in one statement. Some may have been removed since. */
  #insert(names: readonly string[], entries: ReadonlyMap<string, number>): void {
    const [tenants, ids, found] = this.#packed;
    let count = 0;
    for (const name of names) {
      const entry = entries.get(name);
      if (entry === undefined) continue;
      const at = afterTenant(name);
      const tenant = Number(name.slice(0, at - 1));
      if (name[at - 1] === ':') {
        const to = count++ * 16;
        writeDigits(tenants, to, tenant);
        ids.write(name.slice(at), to, 'latin1');
        writeDigits(found, to, entry);
      } else this.#db.run(insertOne, [tenant, name.slice(at), entry]);
    }
    if (count === 0) return;
    const end = count * 16;
    this.#db.run(insertPacked, [
      tenants.subarray(0, end),
      ids.subarray(0, end),
      found.subarray(0, end),
      count,
    ]);
  }
}
