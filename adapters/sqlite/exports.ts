// Exports from SQLite, in the order of the one writer's commits. Segments are numbered by it, and every outcome holds
// the newest segment of its time: an outcome stands behind that segment and before the next one. Runs on the reader.
import type { StoredEvent } from '../../src/event/record.ts';
import type { ExportPage, ExportStore } from '../../src/export/port.ts';
import {
  type ApprovalChange,
  asRequested,
  type ExportLine,
  foreignPlace,
  type OrderedKind,
} from '../../src/export/record.ts';
import { maxPageBytes } from '../../src/shared/ports/page.ts';
import { approvals } from './approvals.ts';
import type { Database } from './database.ts';
import { markOf } from './events/search.ts';
import {
  bodyEvents,
  lastSegment,
  placeOf,
  readOutcome,
  readSummary,
  type Summary,
  segmentBody,
  storedEvent,
  summaryColumns,
  tenantNumber,
} from './events/segment.ts';
import type { Steps, Sync } from './sync.ts';

/** Segments of any tenant that one step looks at, at most. */
const segmentsPerStep = 2_000;
/** Bodies that one step parses, at most. */
const bodiesPerStep = 16;
const outcomesPerQuery = 500;
/** Outcomes of any tenant that one page looks at, at most: less than a second. */
const outcomesPerPage = 50_000;
/** Above the position of any event: all of the segment is passed. */
const wholeSegment = 255;

/** Where a reader of events is: behind an event, and behind an outcome. */
interface EventPlace {
  readonly segment: number;
  readonly position: number;
  readonly outcome: number;
}

const beginning: EventPlace = { segment: 0, position: wholeSegment, outcome: 0 };

const placeText = ({ segment, position, outcome }: EventPlace): string => `${segment}.${position}.${outcome}`;

function eventPlaceIn(text: string | null): EventPlace {
  if (text === null) return beginning;
  if (!/^\d+\.\d+\.\d+$/.test(text)) throw foreignPlace();
  const [segment = 0, position = 0, outcome = 0] = text.split('.').map(Number);
  return { segment, position, outcome };
}

interface StoredOutcome {
  readonly id: number;
  readonly segment: number;
  readonly position: number;
  readonly json: string;
  readonly afterSegment: number;
}

/** Outcomes of all tenants in the order of their ids, one at a time. */
class OutcomeReader {
  readonly #db: Database;
  readonly #defaultAfter: number;
  #rows: readonly StoredOutcome[] = [];
  #index = 0;
  #last: number;

  constructor(db: Database, after: number) {
    this.#db = db;
    this.#last = after;
    this.#defaultAfter = Number(db.get('SELECT outcomes_after FROM store')?.[0]);
  }

  /** The next one, if it stands behind no later segment than `segment`. */
  next(segment: number): StoredOutcome | null {
    if (this.#index === this.#rows.length) this.#read();
    const row = this.#rows[this.#index];
    if (!row || row.afterSegment > segment) return null;
    this.#index++;
    return row;
  }

  #read(): void {
    this.#index = 0;
    this.#rows = this.#db
      .all(
        'SELECT id, segment, position, outcome, after_segment FROM outcomes WHERE id > ? ORDER BY id LIMIT ?',
        [this.#last, outcomesPerQuery],
      )
      .map(([id, segment, position, json, after]) => ({
        id: Number(id),
        segment: Number(segment),
        position: Number(position),
        json: String(json),
        afterSegment: after === null ? this.#defaultAfter : Number(after),
      }));
    this.#last = this.#rows.at(-1)?.id ?? this.#last;
  }
}

/** A segment of the tenant with its events; null: it is another tenant's, of the sample run, or removed. */
type OpenSegment = { readonly summary: Summary; readonly events: readonly (StoredEvent | null)[] } | null;

class EventLines {
  readonly #db: Database;
  readonly #tenant: number;
  readonly #limit: number;
  readonly #mark: string;
  readonly #outcomes: OutcomeReader;
  readonly lines: ExportLine[] = [];
  #place: EventPlace;
  #bytes = 0;
  #bodies = 0;
  /** Outcomes looked at, of any tenant. */
  #passed = 0;
  /** The segment that was opened last: outcomes often come several for one. */
  #open: { readonly id: number; readonly segment: OpenSegment } | null = null;

  constructor(db: Database, tenant: number, after: EventPlace, limit: number) {
    this.#db = db;
    this.#tenant = tenant;
    this.#limit = limit;
    this.#place = after;
    this.#mark = markOf(db);
    this.#outcomes = new OutcomeReader(db, after.outcome);
  }

  get place(): EventPlace {
    return this.#place;
  }

  get #isFull(): boolean {
    const isLong = this.#passed >= outcomesPerPage;
    return isLong || this.lines.length >= this.#limit || this.#bytes >= maxPageBytes;
  }

  #segment(id: number): OpenSegment {
    if (this.#open?.id === id) return this.#open.segment;
    const row = this.#db.get(`SELECT ${summaryColumns} FROM segments WHERE id = ? AND tenant = ?`, [
      id,
      this.#tenant,
    ]);
    const body = row && segmentBody(this.#db, id);
    let segment: OpenSegment = null;
    if (row && body) {
      const summary = readSummary(row);
      this.#bodies++;
      this.#bytes += body.text.length;
      const events = summary.sample
        ? []
        : bodyEvents(body).map(
            (event, position) => event && storedEvent(event, this.#mark, position, summary, []),
          );
      segment = { summary, events };
    }
    this.#open = { id, segment };
    return segment;
  }

  /** Outcomes behind `segment` and before the next one, most perhaps of other tenants. False: the page is full. */
  *#addOutcomes(segment: number): Steps<boolean> {
    while (!this.#isFull) {
      const row = this.#outcomes.next(segment);
      if (!row) return true;
      if (++this.#passed % outcomesPerQuery === 0) yield;
      this.#place = { ...this.#place, outcome: row.id };
      const event = this.#segment(row.segment)?.events[row.position];
      if (!event) continue;
      const outcome = readOutcome(row.json);
      this.#bytes += row.json.length;
      this.lines.push({ type: 'outcome', event, outcome, place: placeText(this.#place) });
    }
    return false;
  }

  /** False: the page is full. */
  #addEvents(id: number): boolean {
    const from = id === this.#place.segment ? this.#place.position + 1 : 0;
    const events = this.#segment(id)?.events ?? [];
    for (let position = from; position < events.length; position++) {
      if (this.#isFull) return false;
      const event = events[position];
      if (!event) continue;
      this.#place = { ...this.#place, segment: id, position };
      this.lines.push({ type: 'event', event, place: placeText(this.#place) });
    }
    return true;
  }

  #pass(segment: number): void {
    this.#place = { ...this.#place, segment, position: wholeSegment };
  }

  /** Reads on until the page is full (false) or the end is reached (true). */
  *read(): Steps<boolean> {
    for (;;) {
      // Outcomes are read after this: with a segment, every outcome before it can be seen.
      const newest = Number(this.#db.get(`SELECT ${lastSegment}`)?.[0]);
      const until = Math.min(newest, this.#place.segment + segmentsPerStep);
      const first = this.#place.position === wholeSegment ? this.#place.segment + 1 : this.#place.segment;
      const ids = this.#db
        .all('SELECT id FROM segments NOT INDEXED WHERE id >= ? AND id <= ? AND tenant = ? ORDER BY id', [
          first,
          until,
          this.#tenant,
        ])
        .map(([id]) => Number(id));
      for (const id of ids) {
        // Outcomes behind the segments before this one; a segment that was begun has outcomes behind its last event.
        const isBegun = id === this.#place.segment;
        if (!isBegun && !(yield* this.#addOutcomes(id - 1))) return false;
        if (!this.#addEvents(id)) return false;
        this.#pass(id);
        if (this.#bodies >= bodiesPerStep) {
          this.#bodies = 0;
          yield;
        }
      }
      if (!(yield* this.#addOutcomes(until))) return false;
      this.#pass(Math.max(until, this.#place.segment));
      if (until >= newest) return true;
      yield;
    }
  }
}

interface Removals {
  readonly removed: number;
  readonly lastPlace: number;
  readonly lastOutcome: number;
}

function removalsOf(db: Database, tenantId: string, kind: OrderedKind): Removals {
  const row = db.get(
    'SELECT removed, last_place, last_outcome FROM export_removals WHERE tenant_id = ? AND kind = ?',
    [tenantId, kind],
  );
  const [removed = 0, lastPlace = -1, lastOutcome = -1] = (row ?? []).map(Number);
  return { removed, lastPlace, lastOutcome };
}

export function exportStore(db: Database): Sync<ExportStore> {
  function* events(tenantId: string, after: string | null, limit: number): Steps<ExportPage> {
    const place = eventPlaceIn(after);
    const tenant = tenantNumber(db, tenantId);
    if (tenant === null) return { lines: [], end: after, hasMore: false, removed: 0, isTrimmed: false };
    const reader = new EventLines(db, tenant, place, limit);
    const isEnd = yield* reader.read();
    // Read last: lines removed during this read are counted, too.
    const { removed, lastPlace, lastOutcome } = removalsOf(db, tenantId, 'events');
    const isTrimmed =
      after !== null && (lastPlace > placeOf(place.segment, place.position) || lastOutcome > place.outcome);
    return { lines: reader.lines, end: placeText(reader.place), hasMore: !isEnd, removed, isTrimmed };
  }

  function approvalLines(tenantId: string, after: string | null, limit: number): ExportPage {
    if (after !== null && !/^\d+$/.test(after)) throw foreignPlace();
    const place = Number(after ?? 0);
    const rows = db.all(
      `SELECT l.seq, l.change, ${approvals.columns
        .split(', ')
        .map((column) => `a.${column}`)
        .join(', ')}
         FROM approval_lines l JOIN approvals a ON a.tenant_id = l.tenant_id AND a.id = l.id
         WHERE l.tenant_id = ? AND l.seq > ? ORDER BY l.seq LIMIT ?`,
      [tenantId, place, limit],
    );
    const lines: ExportLine[] = [];
    let bytes = 0;
    for (const [seq, change, ...row] of rows) {
      const approval = approvals.read(row);
      const type = `approval_${change as ApprovalChange}` as const;
      const isRequest = change === 'requested';
      lines.push({ type, approval: isRequest ? asRequested(approval) : approval, place: String(seq) });
      bytes += row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
      if (bytes >= maxPageBytes) break;
    }
    const { removed, lastPlace } = removalsOf(db, tenantId, 'approvals');
    return {
      lines,
      end: lines.at(-1)?.place ?? after,
      hasMore: lines.length === limit || lines.length < rows.length,
      removed,
      isTrimmed: after !== null && lastPlace > place,
    };
  }

  return {
    list: (tenantId, kind, after, limit) =>
      kind === 'events' ? events(tenantId, after, limit) : approvalLines(tenantId, after, limit),
  };
}
