// The events of a segment that may come into a page. Where marks suffice, bodies are read only for a page's own events.
import type { EventOutcome } from '../../../src/event/record.ts';
import type { Database } from '../database.ts';
import { jsonText } from './body.ts';
import { type BodyCache, isReadToEnd, type ReadBody } from './body-cache.ts';
import { EventSpans } from './event-spans.ts';
import { type CompiledFilter, fittingCounts, fittingIn, needsBodies } from './fitting.ts';
import type { Candidate, Key } from './page-in-order.ts';
import { forEachMark, readTallies, type Summary, segmentJson } from './segment.ts';
import { countablePageEvent, type PageEvent } from './stored-page.ts';
import { asksFor, tallyFits } from './tallies.ts';

/** Segments whose bodies a search keeps. */
const maxBodies = 64;
/**
 * Fewer bodies are not kept, but unpacked again for the next page. Kept, they would outlive their search by so much
 * that V8 collects old objects every 40 pages, which delays the page that comes then.
 */
const fewBodies = 8;
/** Distinct tallies that a search remembers. */
const maxTallies = 256;

/** Milliseconds, both ends included. */
export interface Times {
  readonly since?: number;
  readonly until?: number;
}

/** The events as they are stored, or the parts for counts. */
export type PageParts = 'stored' | 'countable';

/** Candidates of one search. */
export class Candidates {
  readonly #db: Database;
  readonly #filter: CompiledFilter;
  readonly #cache: BodyCache;
  readonly #parts: PageParts;
  readonly #needsBodies: boolean;
  readonly #isByVersion: boolean;
  /** Each body is looked up once in a search. */
  readonly #bodies = new Map<number, ReadBody | null>();
  #bodyReads = 0;
  readonly #fittingTallies = new Map<string, readonly boolean[]>();

  constructor(db: Database, filter: CompiledFilter, cache: BodyCache, parts: PageParts) {
    this.#db = db;
    this.#filter = filter;
    this.#cache = cache;
    this.#parts = parts;
    this.#needsBodies = needsBodies(filter);
    this.#isByVersion = asksFor(filter, 'version');
  }

  /** Looks bodies up again: those of a search that paused may have lost events. */
  forgetBodies(): void {
    this.#bodies.clear();
    this.#bodyReads = 0;
  }

  /** @param times bounds in addition to the filter's, which the caller checks: they only save work */
  of(segment: Summary, times: Times = {}): Iterable<Candidate> {
    if (this.#parts === 'countable') return this.#ofCountable(segment);
    if (this.#needsBodies) return this.#ofBody(segment);
    // Tallies contain neither outcomes nor versions.
    const { marks, outcomes } = segment;
    return marks && outcomes === 0 && !this.#isByVersion
      ? this.#ofMarks(segment, marks, times)
      : this.#ofCounts(segment);
  }

  *#ofBody(segment: Summary): Generator<Candidate, void, undefined> {
    const body = segmentJson(this.#db, segment.id);
    if (body === null) return;
    const { form, sender } = body;
    const text = jsonText(body.json);
    const keyOf = keysOf(segment);
    const spans = new EventSpans(body.json);
    for (const { event, outcomes, position } of fittingIn(this.#db, segment, this.#filter, {
      text,
      form,
      sender,
    })) {
      // A copy: the event may wait longer than its segment's body should stay in memory.
      const json = spans.at(position);
      if (json === null) continue;
      const pageEvent = { json: new Uint8Array(json), position, outcomes, segment, body: { form, sender } };
      yield { key: keyOf(event.timestamp, position), read: () => pageEvent };
    }
  }

  *#ofCountable(segment: Summary): Generator<Candidate, void, undefined> {
    if (segment.sample) return;
    const keyOf = keysOf(segment);
    for (const { event, outcomes, position } of fittingCounts(this.#db, segment, this.#filter)) {
      const read = () => countablePageEvent(segment, event, outcomes, position);
      yield { key: keyOf(event.ts, position), read };
    }
  }

  *#ofCounts(segment: Summary): Generator<Candidate, void, undefined> {
    const keyOf = keysOf(segment);
    for (const { event, outcomes, position } of fittingCounts(this.#db, segment, this.#filter)) {
      yield { key: keyOf(event.ts, position), read: () => this.#read(segment, position, outcomes) };
    }
  }

  #ofMarks(segment: Summary, marks: Uint8Array, times: Times): readonly Candidate[] {
    const filter = this.#filter;
    const since = Math.max(filter.since ?? -Number.MAX_VALUE, times.since ?? -Number.MAX_VALUE);
    const until = Math.min(filter.until ?? Number.MAX_VALUE, times.until ?? Number.MAX_VALUE);
    const candidates: Candidate[] = [];
    const keyOf = keysOf(segment);
    forEachMark(marks, this.#talliesThatFit(segment), (ts, position) => {
      if (ts < since || ts > until) return;
      candidates.push({ key: keyOf(ts, position), read: () => this.#read(segment, position, []) });
    });
    return candidates;
  }

  /** Segments of many agents have equal tallies. */
  #talliesThatFit(segment: Summary): readonly boolean[] {
    const { env, agent, tallies } = segment;
    const name = this.#filter.compiled === undefined ? tallies : JSON.stringify([env, agent, tallies]);
    let fitting = this.#fittingTallies.get(name);
    if (fitting === undefined) {
      fitting = readTallies(segment).map((tally) => tallyFits(tally, this.#filter, segment));
      if (this.#fittingTallies.size >= maxTallies) this.#fittingTallies.clear();
      this.#fittingTallies.set(name, fitting);
    }
    return fitting;
  }

  /** Null if the event was removed since. */
  #read(segment: Summary, position: number, outcomes: readonly EventOutcome[]): PageEvent | null {
    let body = this.#bodies.get(segment.id);
    if (body === undefined) body = this.#readBody(segment.id);
    const json = body?.spans.at(position) ?? null;
    if (!body || !json) return null;
    const { form, sender } = body;
    this.#cache.noteRead(segment.id, body, position);
    return { json, position, outcomes, segment, body: { form, sender } };
  }

  #readBody(segment: number): ReadBody | null {
    const body = this.#cache.read(segment, this.#bodyReads >= fewBodies);
    if (this.#bodies.size >= maxBodies) this.#bodies.clear();
    this.#bodies.set(segment, body);
    this.#bodyReads++;
    if (this.#bodyReads === fewBodies)
      for (const [id, readBody] of this.#bodies)
        if (readBody !== null && !isReadToEnd(readBody)) this.#cache.keep(id, readBody);
    return body;
  }
}

/** The keys of a segment's events. */
function keysOf({ places, batch }: Summary): (ts: number, position: number) => Key {
  const list = places === null ? null : (JSON.parse(places) as number[]);
  return (ts, position) => ({ ts, batch, place: list?.[position] ?? position });
}
