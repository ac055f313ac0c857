// Decision events as they are stored: one reader for each tenant on a node, whose events all listeners share, and the
// events that a listener missed. The bus signals to nodes that there is something to read. A look now and then finds
// events without a signal. Keeps promise P40.
import { singleFlight } from '../../shared/concurrency/single-flight.ts';
import { eventsOf } from '../../shared/frame.ts';
import { isInFilter } from '../../shared/ids.ts';
import type { Following } from '../../shared/ports/broadcast.ts';
import { pause, type Timer } from '../../shared/ports/clock.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { arrivalSlackMs } from '../port.ts';
import type { StoredEvent } from '../record.ts';
import { isWanted, parentSessionOf, sessionOf } from '../rules/decision.ts';
import type { EventFilter } from '../rules/filter.ts';

/** Events read at a time, on the way to many listeners or to one that comes back. */
const pageSize = 200;
/** Delay between two looks of a reader that receives signals all the time, in milliseconds. */
const restMs = 50;
/** Delay between two looks of a reader that received a signal lately: events may still appear among those before. */
const lookMs = 2_000;
const lateMs = arrivalSlackMs;
/** Delay between two looks of a reader without signals, in milliseconds. */
const idleLookMs = 30_000;
/** Lag at which a reader reports lost events and goes on with the newest, in milliseconds. */
const maxBehindMs = 30_000;
/** Places that are remembered while a look goes on. */
const maxGiven = 10_000;
/**
 * So many events that were given out are read again with every look, where events may appear among them; more only
 * every `lookMs`.
 */
const maxReread = 500;

/** Maximum of missed events for a returning listener. */
export const maxMissed = 50_000;
export const maxMissedMs = 10 * 60_000;

export interface TailListener {
  /** Events in the order in which they were found; the next ones come when it settles. Those it rejects are lost. */
  take(events: readonly StoredEvent[]): Promise<void>;
  /** Events between those before and those after were left out. @param seq the place where it goes on */
  lost(seq: number): void;
}

/** The missed events of one listener. */
export interface Missed {
  /**
   * The next events, oldest first; `gone` when they are too many, too old, or the place is unknown: nothing more comes
   * then.
   */
  next(): Promise<{ readonly events: readonly StoredEvent[]; readonly more: boolean } | 'gone'>;
  /** Goes back to where events may have appeared in the meantime: `next` gives those that it has not given. */
  again(): Promise<void>;
}

export interface EventTail {
  /**
   * Listens from now on. Resolves when every event stored later will be given.
   * @throws what the store or the bus throws
   */
  follow(tenantId: string, listener: TailListener): Promise<{ readonly seq: number; stop(): void }>;
  /**
   * Events stored after the place of an event, each event once. Where nodes share the store, the last seconds before
   * the place come again: an event may have appeared there since.
   * @param max events of the tenant, more are `gone`; `maxMissed` if absent
   */
  missed(tenantId: string, seq: number, max?: number): Missed;
}

type Ports = Pick<AppPorts, 'store' | 'broadcast' | 'clock' | 'log'>;

export function createEventTail(ports: Ports): EventTail {
  const readers = new Map<string, Reader>();
  return {
    async follow(tenantId, listener) {
      const reader = readers.get(tenantId) ?? new Reader(ports, tenantId);
      readers.set(tenantId, reader);
      const leave = (): void => {
        reader.listeners.delete(listener);
        if (reader.listeners.size > 0) return;
        reader.stop();
        if (readers.get(tenantId) === reader) readers.delete(tenantId);
      };
      reader.listeners.add(listener);
      try {
        await reader.start();
      } catch (error) {
        // The next listener starts a new reader.
        if (readers.get(tenantId) === reader) readers.delete(tenantId);
        leave();
        throw error;
      }
      return { seq: reader.head, stop: leave };
    },
    missed: (tenantId, seq, max = maxMissed) => missedAfter(ports, tenantId, seq, max),
  };
}

/** True for an event that a search with this filter finds. Looks at what streams can ask for alone. */
export const fits = (
  { env, agentId, sessionId, parentSessionId, toolName, verdicts }: EventFilter,
  event: StoredEvent,
): boolean =>
  isInFilter(env, event.env) &&
  (agentId === undefined || event.agentId === agentId) &&
  (toolName === undefined || event.toolName === toolName) &&
  (sessionId === undefined || sessionOf(event) === sessionId) &&
  (parentSessionId === undefined || parentSessionOf(event) === parentSessionId) &&
  (verdicts === undefined ||
    isWanted(verdicts, event.verdict) ||
    event.outcomes.some(({ verdict }) => isWanted(verdicts, verdict)));

/** Reads a tenant's events for all its listeners on this node. */
class Reader {
  readonly listeners = new Set<TailListener>();
  /** The highest place that was given out, or from which there is nothing to give. */
  head = 0;
  /** Nothing appears at or below this place any more. */
  #floor = 0;
  /** Given out above the floor: the places by event id. */
  readonly #recent = new Map<string, number>();
  readonly #ports: Ports;
  readonly #tenantId: string;
  readonly #looks: { ask(): Promise<void> };
  #started: Promise<void> | null = null;
  #following: Following | null = null;
  #timer: Timer | null = null;
  #everything = false;
  #stopped = false;

  constructor(ports: Ports, tenantId: string) {
    this.#ports = ports;
    this.#tenantId = tenantId;
    this.#looks = singleFlight(
      () => this.#look(),
      () => this.#stopped,
    );
  }

  /** Once, however many ask. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#following?.stop();
  }

  async #start(): Promise<void> {
    const { broadcast, clock } = this.#ports;
    let toldAt = clock.monotonic();
    let looked = toldAt;
    const wake = (): void => {
      toldAt = clock.monotonic();
      void this.#looks.ask();
    };
    const following = await broadcast.follow(eventsOf(this.#tenantId), wake, wake);
    this.#following = following;
    if (this.#stopped) return following.stop();
    await this.#skip();
    this.#timer = clock.every(lookMs, () => {
      const now = clock.monotonic();
      if (now - toldAt >= lateMs && now - looked < idleLookMs) return;
      looked = now;
      this.#everything = true;
      void this.#looks.ask();
    });
    if (this.#stopped) this.stop();
  }

  /** Goes on after what is stored now, given to nobody. */
  async #skip(): Promise<void> {
    const { events } = this.#ports.store;
    const head = await events.getNewestSeq();
    const floor = await events.settledBy(head);
    this.#recent.clear();
    for (let after = floor, more = floor < head; more; ) {
      const page = await events.listArrivals(this.#tenantId, after, pageSize);
      for (const { id, seq } of page.events) this.#recent.set(id, seq);
      after = page.events.at(-1)?.seq ?? after;
      more = page.more && after < head;
    }
    this.head = Math.max(head, ...this.#recent.values());
    this.#floor = floor;
  }

  /** Never throws. */
  async #look(): Promise<void> {
    const { clock, log } = this.#ports;
    try {
      await this.#read();
    } catch (err) {
      log.warn(
        { err, tenantId: this.#tenantId },
        'cannot read decision events for the streams that follow them',
      );
    }
    // Those that arrive one after another are read together.
    if (!this.#stopped) await pause(clock, restMs);
  }

  async #read(): Promise<void> {
    const { store, clock } = this.#ports;
    const all = this.#everything;
    this.#everything = false;
    // Events stored during this read are announced, or found by the next one.
    const newest = all ? await store.events.getNewestSeq() : null;
    let after = all || this.#recent.size <= maxReread ? this.#floor : this.head;
    let isFound = false;
    for (let more = true; more && !this.#stopped; ) {
      const page = await store.events.listArrivals(this.#tenantId, after, pageSize);
      const last = page.events.at(-1);
      more = page.more && last !== undefined;
      const fresh = page.events.filter(({ id }) => !this.#recent.has(id));
      // Events that are read again may be of any age: they are given out already.
      const isNew = last !== undefined && last === fresh.at(-1);
      if (isNew && last.createdAt < clock.now() - maxBehindMs && more) return this.#lose();
      for (const { id, seq } of fresh) this.#recent.set(id, seq);
      // One place may hold two events: the second is looked for again.
      if (last) after = more && last.seq - 1 > after ? last.seq - 1 : last.seq;
      this.head = Math.max(this.head, last?.seq ?? 0);
      if (fresh.length === 0) continue;
      isFound = true;
      await Promise.all([...this.listeners].map((listener) => this.#give(listener, fresh)));
      if (this.#recent.size > maxGiven) await this.#settle();
    }
    if (newest !== null && !isFound) this.head = Math.max(this.head, newest);
    await this.#settle();
  }

  /** Calls `lost` for a listener that rejects its events: each event is given once. */
  async #give(listener: TailListener, events: readonly StoredEvent[]): Promise<void> {
    try {
      await listener.take(events);
    } catch (err) {
      this.#ports.log.warn({ err, tenantId: this.#tenantId }, 'a stream cannot take decision events');
      listener.lost(this.head);
    }
  }

  /** Forgets what cannot be found a second time. */
  async #settle(): Promise<void> {
    // The place below the head is read again while a look goes on.
    const settled = (await this.#ports.store.events.settledBy(this.head)) - 1;
    this.#floor = Math.max(this.#floor, settled);
    for (const [id, seq] of this.#recent) if (seq <= this.#floor) this.#recent.delete(id);
  }

  async #lose(): Promise<void> {
    await this.#skip();
    this.#ports.log.warn(
      { tenantId: this.#tenantId },
      'decision events arrive faster than the streams that follow them can receive them',
    );
    for (const listener of this.listeners) listener.lost(this.head);
  }
}

function missedAfter({ store, clock }: Ports, tenantId: string, seq: number, max: number): Missed {
  const ids = new Set<string>();
  let after: number | null = null;
  let last = seq;
  let looked = 0;
  let isGone = false;
  return {
    async next() {
      if (isGone) return 'gone';
      if (after === null) {
        isGone = seq > (await store.events.getNewestSeq());
        if (isGone) return 'gone';
        after = await store.events.settledBy(seq);
      }
      for (;;) {
        const page = await store.events.listArrivals(tenantId, after, pageSize);
        const events = page.events.filter(({ id }) => !ids.has(id));
        const end = page.events.at(-1);
        // The first pages repeat events up to the position, whose neighbours may have come late: those never count.
        const later = events.filter((one) => one.seq > seq);
        looked += later.length;
        const tooOld = later.some(({ createdAt }) => createdAt < clock.now() - maxMissedMs);
        if (tooOld || looked > max) {
          isGone = true;
          return 'gone';
        }
        for (const { id } of events) ids.add(id);
        if (end) {
          after = page.more && end.seq - 1 > after ? end.seq - 1 : end.seq;
          last = Math.max(last, end.seq);
        }
        if (events.length > 0 || !page.more || !end) return { events, more: page.more };
      }
    },
    async again() {
      after = await store.events.settledBy(last);
    },
  };
}
