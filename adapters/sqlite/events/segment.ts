// A segment: events of one agent, stored together. Summary and body of a segment, places and ids of its events.

import {
  type EventJson,
  eventAsSent,
  fromEventJson,
  fromOutcomeJson,
  type OutcomeJson,
  toEventJson,
} from '../../../src/event/record/json.ts';
import {
  type EventInput,
  type EventOutcome,
  policyVersionOf,
  type StoredEvent,
} from '../../../src/event/record.ts';
import { hourMs } from '../../../src/shared/duration.ts';
import type { Database, Row } from '../database.ts';
import { givenText } from '../database.ts';
import { jsonText, type StoredJson, unpackedJson, unpackedText } from './body.ts';
import { markSentCallIds } from './sent-call-ids.ts';

/** No segment spans more than this, so that reading backwards in time knows when to stop looking. */
export const segmentSpanMs = hourMs;
/** Most events in a segment: reading one event parses its segment. */
export const segmentEvents = 128;
/** Most characters of a segment's events, unless one event alone has more. */
export const segmentCharacters = 256 * 1024;

/** How many events of a segment have this tool, verdict, mode and decision name. */
export type Tally = readonly [
  tool: string,
  verdict: string,
  mode: string,
  count: number,
  name: string | null,
];

/** Counted fields of an event: all but its payload and ids. */
export interface Counted {
  readonly tool: string;
  readonly verdict: string;
  readonly mode: string;
  /** payload.decision_name, when it is a text. */
  readonly name: string | null;
  /** payload.policy_version, when it is a text that could be one; else empty. */
  readonly version: string;
  readonly ts: number;
}

/** The name of the contract that decided, when it is a text. */
export function decisionName({ payload }: Pick<EventInput, 'payload'>): string | null {
  const name = payload?.decision_name;
  return typeof name === 'string' ? name : null;
}

export const countedOf = (event: EventInput): Counted => ({
  tool: event.toolName,
  verdict: event.verdict,
  mode: event.mode,
  name: decisionName(event),
  version: policyVersionOf(event) ?? '',
  ts: event.timestamp,
});

/** Bytes of a mark: which tally, and which version, the event of a position is counted in, then its time. */
const markBytes = 10;
const noEvent = 255;

export interface Summary {
  readonly id: number;
  readonly maxTs: number;
  readonly minTs: number;
  readonly receivedAt: number;
  /** The first segment of its batch: the order of arrival. */
  readonly batch: number;
  readonly env: string;
  readonly agent: string;
  readonly outcomes: number;
  readonly tallies: string;
  readonly names: string;
  readonly places: string | null;
  readonly sample: boolean;
  /** Present where a walk reads them with the rest. */
  readonly marks?: Uint8Array | null;
}

export const summaryColumns =
  'id, max_ts, min_ts, received_at, ifnull(batch, id), env, agent, outcomes, tallies, names, places, sample';

export const readSummary = (row: Row): Summary => ({
  id: row[0] as number,
  maxTs: row[1] as number,
  minTs: row[2] as number,
  receivedAt: row[3] as number,
  batch: row[4] as number,
  env: row[5] as string,
  agent: givenText(row[6] as string),
  outcomes: row[7] as number,
  tallies: row[8] as string,
  names: row[9] as string,
  places: row[10] as string | null,
  sample: row[11] === 1,
});

/** @param row with the marks behind the columns of the summary */
export const readMarkedSummary = (row: Row): Summary => ({
  ...readSummary(row),
  marks: row[12] as Uint8Array | null,
});

/** SQL: the number of the newest segment, whether or not it was removed. */
export const lastSegment = "ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'segments'), 0)";

/** The number of a tenant in the event tables, or null when it has none yet. */
export function tenantNumber(db: Database, tenantId: string): number | null {
  const row = db.get('SELECT number FROM tenant_numbers WHERE tenant_id = ?', [tenantId]);
  return row ? Number(row[0]) : null;
}

/** Summary of a segment's events. Null entries are events that are no longer, or never were, stored here. */
export function summarize(events: readonly (EventInput | null)[]) {
  const tallies: [tool: string, verdict: string, mode: string, count: number, name: string | null][] = [];
  const names = new Set<string>();
  const sentCallIds = new Set<string>();
  const versions: string[] = [];
  const marks = Buffer.alloc(events.length * markBytes, noEvent);
  let count = 0;
  let minTs = Number.POSITIVE_INFINITY;
  let maxTs = Number.NEGATIVE_INFINITY;
  for (const [position, event] of events.entries()) {
    if (!event) continue;
    const { tool, verdict, mode, name, version, ts } = countedOf(event);
    count++;
    if (ts < minTs) minTs = ts;
    if (ts > maxTs) maxTs = ts;
    if (name !== null) names.add(name);
    if (event.givenCallId !== undefined) sentCallIds.add(event.givenCallId);
    let at = 0;
    for (; at < tallies.length; at++) {
      const segmentTally = tallies[at];
      if (
        segmentTally?.[0] === tool &&
        segmentTally[1] === verdict &&
        segmentTally[2] === mode &&
        segmentTally[4] === name
      )
        break;
    }
    if (at === tallies.length) tallies.push([tool, verdict, mode, 0, name]);
    const tally = tallies[at];
    if (tally) tally[3]++;
    let run = versions.indexOf(version);
    if (run < 0) run = versions.push(version) - 1;
    const mark = position * markBytes;
    marks[mark] = at;
    marks[mark + 1] = run;
    marks.writeDoubleLE(ts, mark + 2);
  }
  return {
    count,
    minTs,
    maxTs,
    tallies: JSON.stringify(tallies),
    names: JSON.stringify([...names, markSentCallIds(sentCallIds)]),
    versions: JSON.stringify(versions),
    marks,
  };
}

export const readTallies = ({ tallies }: Pick<Summary, 'tallies'>): readonly Tally[] =>
  JSON.parse(tallies) as Tally[];

/** The counted parts of each event, by position. @param marks as `summarize` made them, with tallies and versions */
export function readMarks(
  tallies: readonly Tally[],
  versions: string,
  marks: Uint8Array,
): (Counted | null)[] {
  const bytes = Buffer.from(marks.buffer, marks.byteOffset, marks.byteLength);
  const runs = JSON.parse(versions) as string[];
  return Array.from({ length: bytes.length / markBytes }, (_, position) => {
    const mark = position * markBytes;
    const tally = tallies[bytes[mark] ?? noEvent];
    if (!tally) return null;
    const [tool, verdict, mode, , name] = tally;
    const version = runs[bytes[mark + 1] ?? 0] ?? '';
    return { tool, verdict, mode, name, version, ts: bytes.readDoubleLE(mark + 2) };
  });
}

/**
 * Calls `visit` with the time, position and tally of each event that is counted in a tally which fits.
 * @param tallyFits by the index of the tally
 */
export function forEachMark(
  marks: Uint8Array,
  tallyFits: readonly boolean[],
  visit: (ts: number, position: number, tally: number) => void,
): void {
  const view = new DataView(marks.buffer, marks.byteOffset, marks.byteLength);
  for (let mark = 0; mark < marks.length; mark += markBytes) {
    const tally = marks[mark] ?? noEvent;
    if (tallyFits[tally]) visit(view.getFloat64(mark + 2, true), mark / markBytes, tally);
  }
}

/** Events of one slot of time that are counted alike. */
export interface CountedRun extends Omit<Counted, 'ts'> {
  count: number;
  first: number;
  last: number;
}

export const runOf = ({ ts, ...event }: Counted): CountedRun => ({ ...event, count: 1, first: ts, last: ts });

/**
 * Events that `readMarks` reads, with those that are counted alike together.
 * @param slotMs width of a slot; they begin at its multiples
 */
export function readRuns(
  tallies: readonly Tally[],
  versions: string,
  marks: Uint8Array,
  slotMs: number,
): readonly CountedRun[] {
  const bytes = Buffer.from(marks.buffer, marks.byteOffset, marks.byteLength);
  const names = JSON.parse(versions) as string[];
  const runs = new Map<number, CountedRun>();
  for (let mark = 0; mark < bytes.length; mark += markBytes) {
    const [at = noEvent, version = 0] = [bytes[mark], bytes[mark + 1]];
    const tally = tallies[at];
    if (!tally) continue;
    const ts = bytes.readDoubleLE(mark + 2);
    const key = Math.floor(ts / slotMs) * 65_536 + at * 256 + version;
    const run = runs.get(key);
    if (run) {
      run.count++;
      run.first = Math.min(run.first, ts);
      run.last = Math.max(run.last, ts);
    } else {
      const [tool, verdict, mode, , name] = tally;
      runs.set(key, {
        tool,
        verdict,
        mode,
        name,
        version: names[version] ?? '',
        count: 1,
        first: ts,
        last: ts,
      });
    }
  }
  return [...runs.values()];
}

/** The counted parts of each event of a segment, by position; none when the segment is removed. */
export function countedIn(db: Database, segment: number): (Counted | null)[] {
  // Of one row: a removal numbers the tallies again.
  const row = db.get('SELECT tallies, marks, versions FROM segments WHERE id = ?', [segment]);
  const [tallies, marks, versions] = row ?? [];
  if (!(marks instanceof Uint8Array)) return [];
  return readMarks(readTallies({ tallies: String(tallies) }), String(versions), marks);
}

/** How the events of a body are written: as this store does, or as their agent sent them (event/rules/as-sent). */
export type BodyForm = 'written' | 'sent';
/** Number for the form of a body: 1 for one as it was sent, and 2 more for one that is packed (body.ts). */
export const formCode = (form: BodyForm, isPacked: boolean): number =>
  (form === 'sent' ? 1 : 0) + (isPacked ? 2 : 0);

/** The JSON of a segment's events. */
export interface SegmentBody {
  readonly text: string;
  readonly form: BodyForm;
  /** Of form `sent`: the agent of the request, where some events are of others. */
  readonly sender: string | null;
}

/** The same as bytes, UTF-8. */
export interface SegmentJson extends Omit<SegmentBody, 'text'> {
  readonly json: Uint8Array;
  readonly version: BodyVersion;
}

/**
 * Bytes of a body as it is stored, and the number for its form. Nothing but the removal of events changes a body: the
 * first one unpacks it, each later one makes it shorter.
 */
export type BodyVersion = readonly [bytes: number, form: number];

/** The version of a body without reading the body; null when the segment is removed. */
export function bodyVersion(db: Database, segment: number): BodyVersion | null {
  const row = db.get('SELECT length(body), form FROM segment_bodies WHERE segment = ?', [segment]);
  return row ? [Number(row[0]), Number(row[1])] : null;
}

/** JSON of a segment; null when the segment is removed. */
export function segmentJson(db: Database, segment: number): SegmentJson | null {
  const row = db.get('SELECT body, form, sender FROM segment_bodies WHERE segment = ?', [segment]);
  if (!row) return null;
  const body = row[0] as Uint8Array;
  const [form, sender] = [Number(row[1]), row[2]];
  return {
    json: unpackedJson(body, form >= 2),
    form: form % 2 === 1 ? 'sent' : 'written',
    sender: typeof sender === 'string' ? givenText(sender) : null,
    version: [body.byteLength, form],
  };
}

/** Body of a segment; null when the segment is removed. */
export function segmentBody(db: Database, segment: number): SegmentBody | null {
  const body = segmentJson(db, segment);
  return body && { text: jsonText(body.json), form: body.form, sender: body.sender };
}

/** The events by position; null where one is no longer, or never was, stored here. */
export function bodyEvents({ text, form, sender }: SegmentBody): (EventInput | null)[] {
  const values = JSON.parse(text) as (EventJson | null)[];
  return form === 'sent'
    ? values.map((value) => eventAsSent(value, sender))
    : values.map((value) => value && fromEventJson(value));
}

/** JSON of a body of form `written`. */
export const bodyText = (events: readonly (EventInput | null)[]): string =>
  JSON.stringify(events.map((event) => event && toEventJson(event)));

export const eventsIn = ({ body, isPacked, form, sender }: Omit<SegmentBody, 'text'> & StoredJson) =>
  bodyEvents({ text: unpackedText(body, isPacked), form, sender });

/** The events of a segment; none when the segment is removed. */
export function segmentEventsOf(db: Database, segment: number): (EventInput | null)[] {
  const body = segmentBody(db, segment);
  return body ? bodyEvents(body) : [];
}

/** The outcome of its stored JSON. */
export const readOutcome = (text: string): EventOutcome => fromOutcomeJson(JSON.parse(text) as OutcomeJson);

/** Outcomes of a segment's events, by position, in order of arrival. */
export function outcomesOf(db: Database, segment: number): Map<number, EventOutcome[]> {
  const outcomesByPosition = new Map<number, EventOutcome[]>();
  const rows = db.all('SELECT position, outcome FROM outcomes WHERE segment = ? ORDER BY id', [segment]);
  for (const [position, outcome] of rows) {
    const list = outcomesByPosition.get(Number(position)) ?? [];
    list.push(readOutcome(String(outcome)));
    outcomesByPosition.set(Number(position), list);
  }
  return outcomesByPosition;
}

/** Where an event is, as one number. */
export const placeOf = (segment: number, position: number): number => segment * 256 + position;
export const segmentOf = (place: number): number => Math.floor(place / 256);
export const positionOf = (place: number): number => place % 256;

/**
 * The id of an event: a UUID (version 8) of its segment, its position and the store's own mark. The same at every
 * reading.
 * @param mark 16 hex digits
 */
export function eventId(mark: string, segment: number, position: number): string {
  const where = segment.toString(16).padStart(12, '0');
  const at = position.toString(16).padStart(3, '0');
  return `${where.slice(0, 8)}-${where.slice(8)}-8${at}-8${mark.slice(0, 3)}-${mark.slice(3, 15)}`;
}

/** Where the event of an id is; null for an id that is not one of this store's. */
export function placeOfId(mark: string, id: string): { segment: number; position: number } | null {
  const digits = id.replaceAll('-', '');
  const segment = Number.parseInt(digits.slice(0, 12), 16);
  const position = Number.parseInt(digits.slice(13, 16), 16);
  return id === eventId(mark, segment, position) ? { segment, position } : null;
}

/**
 * The event as readers get it.
 * @param mark as for `eventId`
 */
export function storedEvent(
  event: EventInput,
  mark: string,
  position: number,
  segment: Pick<Summary, 'id' | 'env' | 'receivedAt' | 'sample'>,
  outcomes: readonly EventOutcome[],
): StoredEvent {
  const stored = {
    id: eventId(mark, segment.id, position),
    seq: placeOf(segment.id, position),
    env: segment.env,
    createdAt: segment.receivedAt,
    outcomes,
    // Fields behind a spread would take V8 thirty times as long as fields before it.
    ...event,
  };
  return segment.sample ? { ...stored, sample: true } : stored;
}
