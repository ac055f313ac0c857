// Walks segments backwards in time, in windows, skipping those whose summary shows that nothing fits. Reads no bodies.

import type { EventFilter } from '../../../src/event/rules/filter.ts';
import { minuteMs } from '../../../src/shared/duration.ts';
import { isInFilter } from '../../../src/shared/ids.ts';
import type { Database, SqlValue } from '../database.ts';
import type { Steps } from '../sync.ts';
import { envsParameter, envTest } from '../table.ts';
import { callKey } from './encode.ts';
import { addQueryTests } from './query-clause.ts';
import {
  readMarkedSummary,
  readSummary,
  type Summary,
  segmentOf,
  segmentSpanMs,
  summaryColumns,
  tenantNumber,
} from './segment.ts';
import { markOfCallId, mayHoldSentCallId } from './sent-call-ids.ts';

/** Divides the entry of a call into its segment (calls.ts). */
const segmentEntries = 32 * 256;

/** Segments that `walk` looks at in one query, at most: bounds how long other reads wait. */
const largestWindow = 4096;

export interface Clause {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

/** Condition of a filter on summaries: never skips a segment that holds an event that fits. */
export function mayFit(filter: EventFilter, hi: number): Clause {
  const parts: string[] = ['min_ts <= ?'];
  const params: SqlValue[] = [hi];
  const add = (sql: string, ...values: SqlValue[]) => {
    parts.push(sql);
    params.push(...values);
  };
  if (filter.env !== null) add(envTest(filter.env), envsParameter(filter.env));
  if (filter.toolName !== undefined) add('instr(tallies, ?) > 0', JSON.stringify(filter.toolName));
  if (filter.mode !== undefined) add('instr(tallies, ?) > 0', JSON.stringify(filter.mode));
  if (filter.verdict !== undefined) {
    const verdict = JSON.stringify(filter.verdict);
    add('(instr(tallies, ?) > 0 OR instr(later, ?) > 0)', verdict, verdict);
  }
  if (filter.decisionName !== undefined) {
    add('(instr(names, ?) > 0 OR outcomes > 0)', JSON.stringify(filter.decisionName));
  }
  const { verdicts, fromSeq, toSeq } = filter;
  if (verdicts !== undefined && !verdicts.others) {
    const words = verdicts.any.map((word) => JSON.stringify(word));
    const either = words.map(() => 'instr(tallies, ?) > 0 OR instr(later, ?) > 0').join(' OR ');
    add(`(${either || '0'})`, ...words.flatMap((word) => [word, word]));
  }
  if (filter.query !== undefined) addQueryTests(filter.query, add);
  if (fromSeq !== undefined) add('id >= ?', segmentOf(fromSeq));
  if (toSeq !== undefined) add('id <= ?', segmentOf(toSeq));
  return { sql: parts.join(' AND '), params };
}

/**
 * The segments that may hold an event which is stored under its call id: the one that the table of calls contains, and
 * of those that are newer than it (calls.ts) the ones that mention the id. Oldest first, by newest event. One query,
 * because a merge between two would hide the id from both.
 */
function ofCall(db: Database, tenant: number, callId: string, filter: EventFilter): readonly Summary[] {
  const key = callKey(callId);
  const needle = Buffer.from(JSON.stringify(callId));
  const rows = db.all(
    `SELECT ${summaryColumns} FROM segments
       WHERE id = (SELECT entry / ${segmentEntries} FROM calls WHERE tenant = ?2 AND call_id = ?1) AND tenant = ?2
     UNION SELECT ${summaryColumns} FROM segments WHERE id > (SELECT merged FROM store) AND tenant = ?2
       AND (SELECT iif(call_keys IS NULL, instr(body, ?3), instr(call_keys, ?3) + instr(call_keys, ?4))
         FROM segment_bodies WHERE segment = segments.id) > 0
     ORDER BY 2, 1`,
    [key, tenant, needle, typeof key === 'string' ? needle : key],
  );
  return rows
    .map(readSummary)
    .filter(
      ({ env, agent }) =>
        isInFilter(filter.env, env) && (filter.agentId === undefined || agent === filter.agentId),
    );
}

/**
 * The segments and times of a walk, with further segments in the walk's order. Each segment comes once.
 * @param others in the walk's order
 * @param isBefore true if the segment must come before the segment or time
 */
function* merged(
  walked: Iterable<Summary | number>,
  others: readonly Summary[],
  isBefore: (segment: Summary, step: Summary | number) => boolean,
): Generator<Summary | number, void, undefined> {
  const ids = new Set(others.map(({ id }) => id));
  let at = 0;
  for (const step of walked) {
    for (let next = others[at]; next && isBefore(next, step); next = others[++at]) yield next;
    if (typeof step === 'number' || !ids.has(step.id)) yield step;
  }
  yield* others.slice(at);
}

const isOlder = (segment: Summary, step: Summary | number): boolean =>
  typeof step === 'number'
    ? segment.maxTs < step
    : segment.maxTs < step.maxTs || (segment.maxTs === step.maxTs && segment.id < step.id);

const isNewer = (segment: Summary, step: Summary | number): boolean =>
  typeof step === 'number'
    ? segment.maxTs > step
    : segment.maxTs > step.maxTs || (segment.maxTs === step.maxTs && segment.id > step.id);

/** As `mayFit`. With a call id, only for events that have it from their sender: `ofCall` lists the others' segments. */
function mayFitWalk(filter: EventFilter, hi: number): Clause {
  const { sql, params } = mayFit(filter, hi);
  return filter.callId === undefined
    ? { sql, params }
    : { sql: `${sql} AND ${mayHoldSentCallId}`, params: [...params, markOfCallId(filter.callId)] };
}

/** FROM and WHERE of a query, and the time of the window's oldest segment; null in the last window. */
export interface WalkWindow extends Clause {
  readonly from: number | null;
}

interface WindowSizes {
  /** Segments of the first window, and of the largest. */
  readonly first: number;
  readonly largest: number;
  /** The oldest time that is still wanted; asked for each window. Default: the filter's */
  readonly since?: (() => number) | undefined;
}

/**
 * The segments of a filter's agent and time, cut into windows, from those with the newest events on. Each is twice as
 * large as the one before.
 */
export function* windows(
  db: Database,
  tenant: number,
  filter: EventFilter,
  hi: number,
  { first, largest, since = () => filter.since ?? -Number.MAX_VALUE }: WindowSizes,
): Generator<WalkWindow, void, undefined> {
  const agent: Clause =
    filter.agentId === undefined
      ? { sql: '', params: [] }
      : { sql: 'AND agent = ?', params: [filter.agentId] };
  const index = filter.agentId === undefined ? 'segments_time' : 'segments_agent';
  const range = `FROM segments INDEXED BY ${index}
    WHERE tenant = ? ${agent.sql} AND max_ts <= ? AND max_ts >= ? AND (max_ts < ? OR id < ?)`;
  // (top, topId): the newest position not yet walked.
  let top = hi + segmentSpanMs;
  let topId = Number.MAX_SAFE_INTEGER;
  for (let size = first; ; size = Math.min(size * 2, largest)) {
    // The window's own end is the only lower bound: SQLite would walk the index down to the first of two.
    const within = (low: number): SqlValue[] => [tenant, ...agent.params, top, low, top, topId];
    const oldest = since();
    const end = db.get(`SELECT max_ts, id ${range} ORDER BY max_ts DESC, id DESC LIMIT 1 OFFSET ?`, [
      ...within(oldest),
      size - 1,
    ]);
    if (!end) {
      yield { sql: range, params: within(oldest), from: null };
      return;
    }
    const [from, fromId] = [Number(end[0]), Number(end[1])];
    yield {
      sql: `${range} AND (max_ts > ? OR id >= ?)`,
      params: [...within(from), from, fromId],
      from,
    };
    top = from;
    topId = fromId;
  }
}

interface WalkOptions {
  /** Reads the marks with the summaries: a read of its own for each takes longer. Default: false */
  readonly hasMarks?: boolean;
  /** The oldest time that is still wanted; asked for each window. Default: the filter's */
  readonly since?: (() => number) | undefined;
}

const summaryReader = (hasMarks: boolean) =>
  hasMarks
    ? { columns: `${summaryColumns}, marks`, read: readMarkedSummary }
    : { columns: summaryColumns, read: readSummary };

/**
 * Segments that may hold events that fit and are not older than `lo`, by newest event, then segment, oldest first.
 * Yields a time between windows: no segment still to come has its newest event before it.
 * @param until the newest time that is still wanted; asked for each window
 */
export function* walkUp(
  db: Database,
  tenantId: string,
  filter: EventFilter,
  lo: number,
  until: () => number,
  { hasMarks = false }: Pick<WalkOptions, 'hasMarks'> = {},
): Generator<Summary | number, void, undefined> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return;
  const walked = rangeUp(db, tenant, filter, lo, until, hasMarks);
  if (filter.callId === undefined) yield* walked;
  else {
    const indexed = ofCall(db, tenant, filter.callId, filter);
    yield* filter.isStoredCallId ? indexed : merged(walked, indexed, isOlder);
  }
}

/** Width of the ranges that `oldestFrom` reads, in milliseconds. */
const readAtOnceMs = minuteMs;

/**
 * The time of the oldest event in the segments whose newest event is not before `from`. Segments that are not read
 * before `isOver` count with the earliest possible time.
 */
export function* oldestFrom(
  db: Database,
  tenantId: string,
  { agentId }: Pick<EventFilter, 'agentId'>,
  from: number,
  isOver: () => boolean,
): Steps<number> {
  const ofAgent = agentId === undefined ? '' : 'AND agent = ?3';
  const index = agentId === undefined ? 'segments_time' : 'segments_agent';
  const tenant = tenantNumber(db, tenantId);
  let oldest = from;
  // Later segments hold nothing before their range's start less the span of a segment.
  for (let start = from; start - segmentSpanMs < oldest; start += readAtOnceMs) {
    if (isOver()) return start - segmentSpanMs;
    const row = db.get(
      `SELECT min(min_ts) FROM segments INDEXED BY ${index}
         WHERE tenant = ?1 ${ofAgent} AND max_ts >= ?2 AND max_ts < ?2 + ${readAtOnceMs}`,
      [tenant, start, ...(agentId === undefined ? [] : [agentId])],
    );
    if (typeof row?.[0] === 'number') oldest = Math.min(oldest, row[0]);
    yield;
  }
  return oldest;
}

function* rangeUp(
  db: Database,
  tenant: number,
  filter: EventFilter,
  lo: number,
  until: () => number,
  hasMarks: boolean,
): Generator<Summary | number, void, undefined> {
  const agent: Clause =
    filter.agentId === undefined
      ? { sql: '', params: [] }
      : { sql: 'AND agent = ?', params: [filter.agentId] };
  const index = filter.agentId === undefined ? 'segments_time' : 'segments_agent';
  const { columns, read } = summaryReader(hasMarks);
  // (bottom, bottomId): the newest position walked.
  let bottom = lo;
  let bottomId = -1;
  for (let size = 8; ; size = Math.min(size * 2, largestWindow)) {
    const hi = until();
    const fit = mayFitWalk(filter, hi);
    const range = `tenant = ? ${agent.sql} AND max_ts >= ? AND max_ts <= ? AND (max_ts > ? OR id > ?)`;
    const params = [tenant, ...agent.params, bottom, hi + segmentSpanMs, bottom, bottomId];
    const order = 'ORDER BY max_ts, id';
    const end = db.get(
      `SELECT max_ts, id FROM segments INDEXED BY ${index} WHERE ${range} ${order} LIMIT 1 OFFSET ?`,
      [...params, size - 1],
    );
    const rows = db.all(
      `SELECT ${columns} FROM segments INDEXED BY ${index}
         WHERE ${range} AND ${fit.sql} ${end ? 'AND (max_ts < ? OR id <= ?) AND max_ts <= ?' : ''} ${order}`,
      [...params, ...fit.params, ...(end ? [Number(end[0]), Number(end[1]), Number(end[0])] : [])],
    );
    for (const row of rows) yield read(row);
    if (!end) return;
    bottom = Number(end[0]);
    bottomId = Number(end[1]);
    yield bottom;
  }
}

/**
 * Segments that may hold events that fit and are not younger than `hi`, by newest event, then newest segment.
 * Yields a time between windows, so that a caller can let other work in: no event still to come is newer.
 */
export function* walk(
  db: Database,
  tenantId: string,
  filter: EventFilter,
  hi: number,
  { hasMarks = false, since }: WalkOptions = {},
): Generator<Summary | number, void, undefined> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return;
  const walked = rangeDown(db, tenant, filter, hi, { hasMarks, since });
  if (filter.callId === undefined) yield* walked;
  else {
    const indexed = ofCall(db, tenant, filter.callId, filter).toReversed();
    yield* filter.isStoredCallId ? indexed : merged(walked, indexed, isNewer);
  }
}

function* rangeDown(
  db: Database,
  tenant: number,
  filter: EventFilter,
  hi: number,
  { hasMarks = false, since }: WalkOptions,
): Generator<Summary | number, void, undefined> {
  const fit = mayFitWalk(filter, hi);
  const { columns, read } = summaryReader(hasMarks);
  for (const window of windows(db, tenant, filter, hi, { first: 8, largest: largestWindow, since })) {
    const rows = db.all(`SELECT ${columns} ${window.sql} AND ${fit.sql} ORDER BY max_ts DESC, id DESC`, [
      ...window.params,
      ...fit.params,
    ]);
    for (const row of rows) yield read(row);
    if (window.from === null) return;
    yield window.from;
  }
}
