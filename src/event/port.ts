// Store port of audit events. Adapters keep promise P27 until the events are purged.
import type { FirstSeenAgent, SeenAgent } from '../agent/port.ts';
import type { Reporter } from '../run/rules/report.ts';
import type { AgentsIn, Env, EnvFilter } from '../shared/ids.ts';
import type { ContractNames } from '../usage/port.ts';
import type { EventInput, FacetName, Ingested, StoredEvent, VerdictCounts } from './record.ts';
import type { CountableEvent } from './rules/countable.ts';
import type { Facet } from './rules/facet.ts';
import type { EventFilter } from './rules/filter.ts';
import type { CallSeries, RankedTotals, SeriesBy, SeriesRange } from './rules/series.ts';

/** Events that came together. */
export interface EventBatch {
  readonly tenantId: string;
  readonly env: Env;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
  /** At most 1,000. */
  readonly events: readonly EventInput[];
  /**
   * The same events as the JSON bytes of their list, as they were sent (event/rules/as-sent). Handed over: a store may
   * keep them in place of its own form, and every read gives the same events.
   */
  readonly sent?: Uint8Array;
  /** Agent of the request, where some events are of others: those are kept with it as `sentBy` (withSender). */
  readonly sender?: string;
  /** True for events from the sample run: shown as such, and counted nowhere. */
  readonly sample?: true;
  /** Agents to note as seen at `receivedAt` (AgentStore.noteSeen) before the batch is acknowledged. At most 1,000. */
  readonly agents?: readonly FirstSeenAgent[];
  /** The key that brought them. */
  readonly reporter?: Reporter;
  /** True for events from a tenant file, whose audit chain is in the file: their decisions get no entries. */
  readonly isImported?: true;
}

/** The outcome of a batch. */
export interface IngestResult extends Ingested {
  /** The accepted ones by their first verdict. */
  readonly verdicts: VerdictCounts;
  /** Number of outcomes that repeats added to stored events. */
  readonly outcomes: number;
  /** An answer for each agent of the batch, in its order; absent without agents. */
  readonly agents?: readonly SeenAgent[];
  /** The events are stored, but an agent could not be noted: the error to throw. Absent where all were noted. */
  readonly agentsError?: unknown;
}

/** Count of each value among the events that fit. */
export interface Facets {
  /** Events that fit. */
  readonly events: number;
  /** A value counts the events that a filter by it finds. */
  readonly by: { readonly [F in FacetName]: Facet };
}

export type EventOrder = 'newest' | 'oldest';

/** A part of a search. */
export interface EventPage {
  /**
   * In the order asked for (timestamp, then order of arrival), newest first by default. Fewer than the limit once they
   * hold `maxPageBytes` of JSON.
   */
  readonly events: readonly StoredEvent[];
  /** Opaque; null at the end. Events that arrive later do not shift the pages after it. */
  readonly next: string | null;
  /**
   * Epoch milliseconds: present if the time ran out before the page was full and before the end was reached. Every
   * matching event that comes before this time in the order is on this page or on an earlier one.
   */
  readonly searchedTo?: number;
}

/** A part of a count. The sample run is left out. */
export interface CountablePage extends Pick<EventPage, 'next' | 'searchedTo'> {
  readonly events: readonly CountableEvent[];
}

/** Events in the order of arrival. */
export interface Arrivals {
  readonly events: readonly StoredEvent[];
  /** True when more follow at once: there were more than asked for, or these hold `maxPageBytes` of JSON. */
  readonly more: boolean;
}

/** The events of one span of time, by class. */
export interface HistogramBucket {
  /** Epoch milliseconds, a multiple of the bucket's width. */
  readonly start: number;
  readonly allowed: number;
  readonly denied: number;
  readonly pending: number;
  readonly observed: number;
}

export interface SeriesRequest extends SeriesRange {
  readonly env: EnvFilter;
  readonly by: SeriesBy;
  /** The values that are counted, at most 100; of the total: ['']. */
  readonly values: readonly string[];
  /** Values with counts of their own: the first so many in the order of `byRefusals`; absent: all. */
  readonly maxValues?: number;
  /** Adds a last series, `other`, of the values without counts of their own; absent: none. */
  readonly withOthers?: boolean;
  /** Milliseconds; buckets begin at its multiples. */
  readonly bucketMs: number;
  /** Contracts that several names stand for, by name. */
  readonly entries?: ContractNames['entries'];
}

/** Of the values with most denials and would-be denials. */
export type RankedSeriesRequest = Omit<SeriesRequest, 'values' | 'withOthers'>;

/** The figures of a window of time. */
export interface EventCounts {
  readonly events: number;
  readonly denials: number;
  readonly observeFindings: number;
  /** Distinct payload.decision_name, of events and of their outcomes. */
  readonly contractsTriggered: number;
  /** Distinct agents with an event after `activeSince`. */
  readonly activeAgents: number;
}

/**
 * Time in milliseconds until an event with a `seq` is among the arrivals, or never will be. More than the longest
 * insert on a store that nodes share: 2 s to choose a server, 4 s for a connection, 8 s for the command.
 */
export const arrivalSlackMs = 15_000;

/** The audit events of all tenants. */
export interface EventStore {
  /**
   * Stores a batch, the effects on its runs (run/port), and its decisions of runs in the audit chain, as one link:
   * durable when resolved; nothing is stored when it throws. Repeats of a call id count as duplicates and add an
   * outcome when they contain a new one (event/record). The outcome counts in its run as an event does. Safe to repeat
   * as a whole: all become duplicates. Throws `overloaded` when the queue of writes is full, `disk_full` when the store
   * has only its reserve of room left. Its agents are noted in the same commit. A store without such commits notes the
   * agents after the events, and returns `agentsError` if an agent could not be noted: the repeat notes it again.
   */
  ingest(batch: EventBatch): Promise<IngestResult>;
  /**
   * @param budgetMs a search that has not filled its page after about this time returns the events so far, and
   *   `searchedTo`; absent: the store chooses
   * @param order which events come first; `oldest` is the exact reverse of `newest`. A cursor is for its order alone.
   * @throws HubError bad_request for a cursor that is not one of ours; search_timeout, here and in the four below: the
   *   store ends what
   *   takes longer than `maxSearchMs`
   */
  search(
    tenantId: string,
    filter: EventFilter,
    limit: number,
    cursor: string | null,
    order?: EventOrder,
    budgetMs?: number,
  ): Promise<EventPage>;
  /** As `search`, newest first, with the parts for counts alone. A cursor is for this list and this filter. */
  listCountable(
    tenantId: string,
    filter: EventFilter,
    limit: number,
    cursor: string | null,
    budgetMs: number,
  ): Promise<CountablePage>;
  get(tenantId: string, id: string): Promise<StoredEvent | null>;
  /**
   * Events with a `seq` above `after`, in its order. Where nodes share the store, an event of another node may appear
   * below the highest `seq` that was given out, at most `arrivalSlackMs` below it.
   */
  listArrivals(tenantId: string, after: number, limit: number): Promise<Arrivals>;
  /** A `seq` that no event is above that was stored until now. */
  getNewestSeq(): Promise<number>;
  /**
   * A `seq` at or below which no event appears any more once one of `seq` was given out: `seq` itself where nobody
   * shares the store, else the place `arrivalSlackMs` before it.
   */
  settledBy(seq: number): Promise<number>;
  /** Time of each of these agents' newest event, by its own clock; those without events are left out. */
  newestOf(tenantId: string, agents: AgentsIn): Promise<readonly (readonly [agentId: string, at: number])[]>;
  /** Removes the events of the sample run, and the run. Safe to repeat. */
  removeSample(tenantId: string): Promise<void>;
  /**
   * Here and below the sample run is left out. How often each value of the fields that lists are narrowed by occurs
   * among the events that fit; at most `limit` values each.
   * @param entries contracts by their other names: an event counts once for its contract
   * @param budgetMs here and in `histogram`, the store ends with search_timeout what takes longer than about this time;
   *   absent: `maxSearchMs`
   */
  facets(
    tenantId: string,
    filter: EventFilter,
    limit: number,
    entries?: ContractNames['entries'],
    budgetMs?: number,
  ): Promise<Facets>;
  /** Number of events that fit. */
  count(tenantId: string, filter: EventFilter): Promise<number>;
  /** Buckets that hold events, in order; `until` exclusive. */
  histogram(
    tenantId: string,
    filter: EventFilter,
    bucketMs: number,
    budgetMs?: number,
  ): Promise<readonly HistogramBucket[]>;
  /**
   * Counts by bucket for each of the values, in their order. An event counts once for each of its values, by its first
   * verdict; a contract's are those that the event or a later report names. An empty text is no value.
   */
  series(tenantId: string, request: SeriesRequest): Promise<readonly CallSeries[]>;
  /** The events of each value in the range: the first `limit` of them in the order of `byRefusals`. */
  seriesTotals(
    tenantId: string,
    request: Omit<SeriesRequest, 'values' | 'withOthers' | 'bucketMs'>,
    limit: number,
  ): Promise<RankedTotals>;
  /**
   * `series` of the first `limit` values in the order of `byRefusals`, in that order. The last one is `other` if some
   * values have no counts of their own. Empty without events.
   */
  rankedSeries(tenantId: string, request: RankedSeriesRequest, limit: number): Promise<readonly CallSeries[]>;
  /**
   * Counts over events that are not older than `since`; contracts are counted by what `entries` call them. Events from
   * an agent whose clock is ahead count, as they do in lists and facets.
   */
  counts(
    tenantId: string,
    env: EnvFilter,
    since: number,
    activeSince: number,
    entries?: ContractNames['entries'],
  ): Promise<EventCounts>;
  /** Number of events that were received before `before`: what a purge would remove. */
  countReceived(tenantId: string, before: number): Promise<number>;
  /**
   * Removes up to `limit` events received before `before`; returns how many. Call until 0. In the same write, or before
   * it, marks the runs of these events (`Run.isTrimmed`).
   */
  removeBefore(tenantId: string, before: number, limit: number): Promise<number>;
  /**
   * Removes up to `limit` runs that had no event, and no approval, since `before`; returns how many. Call after
   * `removeBefore`, until 0.
   */
  removeIdleRuns(tenantId: string, before: number, limit: number): Promise<number>;
  /** Removes up to `limit` events of a removed tenant, and overwrites their bytes; returns how many. Call until 0. */
  removeAll(tenantId: string, limit: number): Promise<number>;
}
