// Adds rows to the table of calls, many in one statement.
import type { Database } from '../database.ts';
import type { CallTable } from './call-table.ts';

/** Rows of one statement; `temp.numbers` counts as far. */
export const packedRows = 256;

// All three are bytes, because SQLite finds a place in a text by counting from its start.
const insertPacked = `INSERT OR REPLACE INTO calls (tenant, call_id, entry)
  SELECT CAST(substr(?1, n * 16 + 1, 16) AS INTEGER), substr(?2, n * 16 + 1, 16),
    CAST(substr(?3, n * 16 + 1, 16) AS INTEGER) FROM temp.numbers WHERE n < ?4`;

const halfDigits = 1e8;

/** Writes a number in 16 digits: its halves are 32-bit numbers, whose division costs a tenth. */
function writeDigits(target: Uint8Array, from: number, value: number): void {
  const high = Math.floor(value / halfDigits);
  writeHalf(target, from, high);
  writeHalf(target, from + 8, value - high * halfDigits);
}

/** Writes a number in 8 digits. */
function writeHalf(target: Uint8Array, from: number, value: number): void {
  let left = value | 0;
  for (let at = from + 7; at >= from; at--) {
    const rest = (left / 10) | 0;
    target[at] = 0x30 + left - rest * 10;
    left = rest;
  }
}

export class CallRows {
  readonly #db: Database;
  /** Tenants, ids and entries, 16 bytes each. */
  readonly #packed = [
    Buffer.alloc(packedRows * 16),
    Buffer.alloc(packedRows * 16),
    Buffer.alloc(packedRows * 16),
  ] as const;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Adds at most `packedRows` rows of calls in memory, without those that were removed since.
   * @param onRow called with each row that is added
   */
  insert(rows: Int32Array, ids: CallTable, onRow: (row: number) => void): void {
    const [tenants, idBytes, entries] = this.#packed;
    let end = 0;
    for (const row of rows) {
      const entry = ids.entryAt(row);
      if (entry === null) continue;
      writeDigits(tenants, end, ids.tenantAt(row));
      ids.writeId(row, idBytes, end);
      writeDigits(entries, end, entry);
      onRow(row);
      end += 16;
    }
    if (end === 0) return;
    this.#db.run(insertPacked, [
      tenants.subarray(0, end),
      idBytes.subarray(0, end),
      entries.subarray(0, end),
      end / 16,
    ]);
  }
}
