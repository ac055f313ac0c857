// The calls of a stored segment, for a start that reads back which ones were not merged. A packed body of thousands of
// segments would take seconds to unpack and parse: its ids stand beside it in plain bytes.
import type { Database } from '../database.ts';
import { type CallKey, callKey, verdictCode } from './encode.ts';
import { bodyEvents, readMarks, readTallies, segmentBody } from './segment.ts';

/** All call ids of a segment as bytes, 16 each, or one key each. */
export type Calls = Uint8Array | readonly CallKey[];

/** The ids of a segment in one text of bytes, in which an id is looked for as its 16 bytes or as JSON. */
export const keyBytes = (calls: Calls): Uint8Array =>
  calls instanceof Uint8Array
    ? calls
    : Buffer.concat(
        calls.map((call) => (typeof call === 'string' ? Buffer.from(JSON.stringify(call)) : call)),
      );

export interface SegmentCalls {
  readonly calls: Calls;
  /** Code of each call's verdict (encode.ts); null where its event is no longer, or never was, stored here. */
  readonly codes: readonly (number | null)[];
  /** Bytes that were read for them. */
  readonly bytes: number;
}

const keyLength = 16;
const quote = 0x22;
const firstPrintable = 0x20;

/** False if no JSON text begins here: none has a control character before its next quotation mark. */
function mayBeText(keys: Uint8Array, from: number): boolean {
  if (keys[from] !== quote) return false;
  for (let at = from + 1; at < from + keyLength && keys[at] !== quote; at++)
    if ((keys[at] ?? 0) < firstPrintable) return false;
  return true;
}

/** True if all keys are ids of 16 bytes: the first text among others would begin where such an id does. */
function areIds(keys: Uint8Array, count: number): boolean {
  if (keys.byteLength !== count * keyLength) return false;
  for (let at = 0; at < keys.byteLength; at += keyLength) if (mayBeText(keys, at)) return false;
  return true;
}

/**
 * Bytes that a start reads for the calls of a segment. Ids that stand beside a packed body lie behind it in their row,
 * so its pages are read too.
 * @param body as it is stored
 * @param jsonBytes of the body, unpacked
 */
export const loadedBytes = (calls: Calls, body: Uint8Array | null, jsonBytes: number): number =>
  body !== null && calls instanceof Uint8Array && areIds(calls, calls.byteLength / keyLength)
    ? body.byteLength + calls.byteLength
    : jsonBytes;

/** Null when the segment is removed. */
export function segmentCalls(db: Database, segment: number): SegmentCalls | null {
  const row = db.get(
    `SELECT s.tallies, s.versions, s.marks, b.call_keys, length(b.body) FROM segments s
       JOIN segment_bodies b ON b.segment = s.id WHERE s.id = ? AND b.call_keys IS NOT NULL`,
    [segment],
  );
  const [tallies, versions, marks, keys, bodyBytes] = row ?? [];
  if (marks instanceof Uint8Array && keys instanceof Uint8Array) {
    const events = readMarks(readTallies({ tallies: String(tallies) }), String(versions), marks);
    if (areIds(keys, events.length)) {
      const codes = events.map((event) => event && verdictCode(event.verdict));
      return { calls: keys, codes, bytes: Number(bodyBytes) + keys.byteLength };
    }
  }
  return callsOfBody(db, segment);
}

function callsOfBody(db: Database, segment: number): SegmentCalls | null {
  const body = segmentBody(db, segment);
  if (!body) return null;
  const events = bodyEvents(body);
  return {
    calls: events.map((event) => (event ? callKey(event.callId) : '')),
    codes: events.map((event) => event && verdictCode(event.verdict)),
    bytes: body.text.length,
  };
}
