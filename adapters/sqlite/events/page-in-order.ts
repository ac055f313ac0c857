// A page of events in the order of all, filled while segments that overlap in time are read, and the cursor between two
// pages.
import type { EventPage } from '../../../src/event/port.ts';
import { HubError } from '../../../src/shared/error.ts';
import { maxPageBytes } from '../../../src/shared/ports/page.ts';
import type { Steps } from '../sync.ts';
import { type PageEvent, PageWriter } from './stored-page.ts';

/** An event's place in the order of all: time, then batch, then place in the batch. */
export interface Key {
  readonly ts: number;
  readonly batch: number;
  readonly place: number;
}

export const compare = (a: Key, b: Key): number => a.ts - b.ts || a.batch - b.batch || a.place - b.place;

const cursorBytes = 16;
/** Six bytes: higher than that of any batch. */
export const maxBatch = 2 ** 48 - 1;

function writeCursor({ ts, batch, place }: Key): string {
  const bytes = Buffer.alloc(cursorBytes);
  bytes.writeDoubleBE(ts, 0);
  bytes.writeUIntBE(batch, 8, 6);
  bytes.writeUInt16BE(place, 14);
  return bytes.toString('base64url');
}

/** @throws HubError('bad_request') */
export function readCursor(cursor: string): Key {
  const bytes = cursor.length <= 2 * cursorBytes ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0);
  if (bytes.length === cursorBytes && bytes.toString('base64url') === cursor) {
    const ts = bytes.readDoubleBE(0);
    if (Number.isFinite(ts)) return { ts, batch: bytes.readUIntBE(8, 6), place: bytes.readUInt16BE(14) };
  }
  throw new HubError('bad_request', 'The cursor is not valid. Start again without a cursor.');
}

/** The time of a step, after which other reads are let in. */
export class StepClock {
  readonly #now: () => number;
  readonly #stepMs: number;
  #began: number;

  constructor(now: () => number, stepMs: number) {
    this.#now = now;
    this.#stepMs = stepMs;
    this.#began = now();
  }

  get isOver(): boolean {
    return this.#now() - this.#began > this.#stepMs;
  }

  restart(): void {
    this.#began = this.#now();
  }
}

/** An event that may come into the page. */
export interface Candidate {
  readonly key: Key;
  /** Its JSON may be a view of a body. Null if the event was removed since. */
  readonly read: () => PageEvent | null;
}

/** A page, and where the next one begins. */
export interface PageUpTo extends Pick<EventPage, 'next' | 'searchedTo'> {
  readonly writer: PageWriter;
}

/** A page that is filled while segments are read: an event waits until nothing that still comes can precede it. */
export class PageInOrder {
  readonly #order: (a: Key, b: Key) => number;
  readonly #limit: number;
  /** Against the order: the next one to give out is the last. */
  readonly #waiting: Candidate[];
  readonly #writer = new PageWriter();
  /** Places of the page that candidates have had, those that were removed since included. */
  #occupied = 0;
  #last: Key | null = null;
  #bytes = 0;
  #hasDropped: boolean;
  #hasAdded = false;
  #lastFitting: Key | null;

  /**
   * @param order below zero: the first comes before the second
   * @param before the page before, which ran out of time: its waiting events are in this one
   */
  constructor(order: (a: Key, b: Key) => number, limit: number, before?: PageInOrder) {
    this.#order = order;
    this.#waiting = before ? [...before.#waiting] : [];
    this.#lastFitting = before ? before.#lastFitting : null;
    this.#hasDropped = before ? before.#hasDropped : false;
    // Behind what was dropped, events are missing.
    this.#limit = this.#hasDropped ? Math.min(limit, this.#waiting.length) : limit;
  }

  /** The last key that the page has place for; null while more may fit. */
  get lastFitting(): Key | null {
    return this.#lastFitting;
  }

  /** Moves out what nothing still to come can precede; true when the page is full. */
  *giveOut(before: Key | null, step: StepClock): Steps<boolean> {
    while (this.#occupied < this.#limit && this.#bytes < maxPageBytes) {
      const next = this.#waiting.at(-1);
      if (!next || (before && this.#order(next.key, before) > 0)) return false;
      this.#waiting.pop();
      // A segment comes again in a walk once a removal has taken its newest event.
      if (this.#last && this.#order(next.key, this.#last) <= 0) continue;
      this.#occupied++;
      this.#last = next.key;
      const event = next.read();
      if (event === null) continue;
      this.#bytes += this.#writer.add(event);
      if (step.isOver) {
        yield;
        step.restart();
      }
    }
    return true;
  }

  /** Waits in the page if the page has place for it. */
  add(candidate: Candidate): void {
    if (this.#lastFitting && this.#order(candidate.key, this.#lastFitting) > 0) return;
    this.#waiting.push(candidate);
    this.#hasAdded = true;
  }

  /** Drops what the page has no place for. */
  dropSurplus(): void {
    if (!this.#hasAdded) return;
    this.#hasAdded = false;
    const waiting = this.#waiting;
    const free = this.#limit - this.#occupied;
    waiting.sort((a, b) => this.#order(b.key, a.key));
    if (waiting.splice(0, waiting.length - free).length > 0) this.#hasDropped = true;
    const [lastKept] = waiting;
    if (this.#hasDropped && lastKept && waiting.length >= free) this.#lastFitting = lastKept.key;
  }

  upTo(next: Key | null): PageUpTo {
    return { writer: this.#writer, next: next && writeCursor(next) };
  }

  upToLast(): PageUpTo {
    return this.upTo(this.#last);
  }

  /** Gives out what waits: nothing comes any more. */
  *end(step: StepClock): Steps<PageUpTo> {
    yield* this.giveOut(null, step);
    return this.upTo(this.#waiting.length > 0 || this.#hasDropped ? this.#last : null);
  }
}
