// Events whose JSON text needs no repair, so that a store can keep the bytes that the agent sent: read from a batch,
// and read again from those bytes. Pure.

import type { JsonObject } from '../../contract/record.ts';
import { parseInstant } from '../../shared/instant.ts';
import { type JsonMeasure, measureJson } from '../../shared/json/measure.ts';
import type { EventInput } from '../record.ts';
import { maxName } from './repair.ts';

/** A batch that is parsed in one go. */
export interface ParsedBatch {
  readonly events: readonly unknown[];
  /** Of each event. */
  readonly measures: readonly JsonMeasure[];
  /** The other members of the body. */
  readonly others: JsonObject;
  /**
   * The bytes of the list, where any JSON reader reads them alike: no repeated member, no number that changes, no
   * escape that stands for a character which needs none. Null where they differ, or where another member stands beside
   * the list.
   */
  readonly listBytes: readonly [start: number, end: number] | null;
}

/** Bytes of a body that is parsed in one turn of the event loop; a longer one is read in steps. */
export const maxWholeBytes = 256 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const listStart = /^\s*\{\s*"events"\s*:\s*(?=\[)/;
const listEnd = /^\s*\}\s*$/;

/**
 * Parses a body of at most `maxWholeBytes` that is `{"events": [...], ...}`.
 * @returns null for every other body: the reader in steps explains what is wrong, or reads what JSON.parse cannot
 */
export function parseBatch(bytes: Uint8Array): ParsedBatch | null {
  if (bytes.byteLength > maxWholeBytes) return null;
  const text = textOf(bytes);
  if (text === null) return null;
  const body = objectOf(text);
  if (body === null || !Array.isArray(body.events)) return null;
  const { events, ...others } = body;
  const measures = events.map(measureJson);
  const isLong = ({ hasLongNumber }: JsonMeasure): boolean => hasLongNumber;
  if (measures.some(isLong) || isLong(measureJson(others))) return null;
  return { events, measures, others, listBytes: listBytesOf(bytes, text, body, measures) };
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

function objectOf(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : null;
  } catch {
    return null;
  }
}

function listBytesOf(
  bytes: Uint8Array,
  text: string,
  body: JsonObject,
  measures: readonly JsonMeasure[],
): ParsedBatch['listBytes'] {
  if (Object.keys(body).length !== 1 || text.includes('\\u') || text.includes('\\/')) return null;
  const start = listStart.exec(text)?.[0].length;
  const end = text.lastIndexOf(']') + 1;
  // Around the list stand brackets and blanks, a byte each.
  if (start === undefined || !listEnd.test(text.slice(end))) return null;
  return hasRepeats(text, end - start, measures) ? null : [start, bytes.byteLength - (text.length - end)];
}

/**
 * True unless no member is repeated.
 * @param listLength UTF-16 units of the list
 */
function hasRepeats(text: string, listLength: number, measures: readonly JsonMeasure[]): boolean {
  // Nothing can be left out of the shortest text of a value.
  const shortest = measures.reduce((sum, { compactLength }) => sum + compactLength + 1, 1);
  if (shortest === listLength && !text.includes('\\')) return false;
  return countMembers(text) !== measures.reduce((sum, { members }) => sum + members, 1);
}

/**
 * How often a member's name ends in the text. A text that begins with a colon counts too. So the number is never too
 * low, and exceeds the members of the value if a member is repeated.
 */
function countMembers(text: string): number {
  let count = 0;
  for (let at = text.indexOf('":'); at >= 0; at = text.indexOf('":', at + 2))
    if (!isEscaped(text, at)) count++;
  return count;
}

/** True if the character after a run of backslashes is escaped. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}

const backslash = 0x5c;

const fields = ['call_id', 'agent_id', 'tool_name', 'verdict', 'mode', 'timestamp', 'payload'];
const isField = new Set(fields);

const isName = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.length <= maxName;

/** True if `eventAsSent` restores this event, which was made from `value`. */
export function isAsSent(value: unknown, event: EventInput): boolean {
  if (event.truncated || event.unnamed || event.flat || event.sentBy !== undefined) return false;
  const sent = value as JsonObject;
  for (const key in sent) if (!isField.has(key)) return false;
  return (
    isName(sent.call_id) &&
    sent.agent_id === event.agentId &&
    sent.tool_name === event.toolName &&
    sent.verdict === event.verdict &&
    sent.mode === event.mode &&
    sent.payload === event.payload &&
    typeof sent.timestamp === 'string' &&
    parseInstant(sent.timestamp) === event.timestamp
  );
}
