// Retention in MongoDB. A slice looks at whole milliseconds of receipt, so that a time names its end.
import type { Collection, Document, Filter } from 'mongodb';
import { maxSearchMs } from '../../src/event/record.ts';
import type { RetentionSlice, RetentionStore } from '../../src/tenant/port/retention.ts';
import {
  keepEverything,
  type RetentionCounts,
  type RetentionKind,
} from '../../src/tenant/rules/retention.ts';
import type { ApprovalRow, ArgsRow } from './approval-rows.ts';
import type { DeliveryRow } from './deliveries.ts';
import type { EventRow } from './event-filter.ts';
import type { ExportRemovals } from './export-removals.ts';
import { fromBsonText } from './form.ts';
import { idleSince, type RunRow, runId } from './run-projection.ts';

/** Counts of a tenant that no audit entry has yet. */
export interface RetentionRow extends Partial<RetentionCounts> {
  /** The tenant. */
  readonly _id: string;
  /** Rises with every slice. */
  readonly rev: number;
}

export interface RetentionCollections {
  readonly events: Collection<EventRow>;
  readonly runs: Collection<RunRow>;
  readonly approvals: Collection<ApprovalRow>;
  readonly approvalArgs: Collection<ArgsRow>;
  readonly deliveries: Collection<DeliveryRow>;
  readonly counts: Collection<RetentionRow>;
  readonly removals: ExportRemovals;
}

const bounded = { maxTimeMS: maxSearchMs };
/** Runs that one command names. */
const runsAtOnce = 1_000;

/** A record of a slice, and the run that it belongs to. */
interface Candidate {
  readonly id: string;
  readonly at: number;
  readonly run: string | null;
}

class RetentionSlices {
  readonly #collections: RetentionCollections;
  /** Where the records of each kind are. */
  readonly #kinds: {
    readonly [K in RetentionKind]: {
      readonly collection: Collection<Document>;
      readonly at: string;
      readonly which: Filter<Document>;
      readonly fields: readonly string[];
      readonly runOf: (row: Document) => string | null;
    };
  };

  constructor(collections: RetentionCollections) {
    this.#collections = collections;
    const { events, runs, approvals, deliveries } = collections;
    this.#kinds = {
      events: {
        collection: events as unknown as Collection<Document>,
        at: 'receivedAt',
        which: {},
        fields: ['agentId', 'session'],
        runOf: (row) => this.#runOfEvent(row as unknown as EventRow),
      },
      approvals: {
        collection: approvals as unknown as Collection<Document>,
        at: 'createdAt',
        which: { status: { $ne: 'pending' }, unannouncedAt: { $exists: false } },
        fields: ['agentId', 'context.sessionId'],
        runOf: (row) => this.#runOfApproval(row as unknown as ApprovalRow),
      },
      runs: {
        collection: runs as unknown as Collection<Document>,
        at: 'receivedAt',
        which: {},
        fields: [],
        runOf: (row) => String(row._id),
      },
      deliveries: {
        collection: deliveries as unknown as Collection<Document>,
        at: 'updatedAt',
        which: { status: { $ne: 'waiting' } },
        fields: [],
        runOf: () => null,
      },
    };
  }

  async remove(
    tenantId: string,
    kind: RetentionKind,
    before: number,
    after: string | null,
    limit: number,
  ): Promise<RetentionSlice> {
    const { collection } = this.#kinds[kind];
    const place = after === null ? Number.MIN_SAFE_INTEGER : Number(after);
    const { slice, next } = await this.#candidates(kind, tenantId, before, place, limit);
    const ids = await this.#removable(kind, tenantId, slice, before);
    let removed = 0;
    if (ids.length > 0) {
      const _id = { $in: [...ids] } as Filter<Document>;
      await this.#noteRemoval(kind, tenantId, ids);
      if (kind === 'approvals')
        await this.#collections.approvalArgs.deleteMany({ tenantId, _id: { $in: [...ids] } });
      // A run that had something since the slice was read stays.
      const still = kind === 'runs' ? (idleSince(before) as Filter<Document>) : {};
      removed = (await collection.deleteMany({ _id, tenantId, ...still })).deletedCount;
    }
    if (removed > 0) {
      await this.#collections.counts.updateOne(
        { _id: tenantId },
        { $inc: { [kind]: removed, rev: 1 } },
        { upsert: true },
      );
      if (kind === 'events' || kind === 'approvals')
        await this.#collections.removals.removeEmptyLinks(tenantId, kind);
    }
    return { removed, next: next === null ? null : String(next) };
  }

  async count(tenantId: string, kind: RetentionKind, before: number): Promise<number> {
    const { collection, at, which } = this.#kinds[kind];
    const old = { tenantId, ...which, [at]: { $lt: before } };
    const all = await collection.countDocuments(old, bounded);
    if (kind === 'deliveries' || all === 0) return all;
    if (kind !== 'runs') return all - (await this.#countKept(kind, tenantId, before));
    const waiting = [...(await this.#waitingRuns(tenantId))];
    const kept = { _id: { $in: waiting }, receivedAt: { $lt: before } };
    return all - (waiting.length === 0 ? 0 : await this.#collections.runs.countDocuments(kept, bounded));
  }

  async settle(tenantId: string): Promise<RetentionCounts | null> {
    for (;;) {
      const row = await this.#collections.counts.findOne({ _id: tenantId });
      if (row === null) return null;
      const { _id, rev, ...removed } = row;
      const { deletedCount } = await this.#collections.counts.deleteOne({ _id, rev });
      // Another node removes something at the same time.
      if (deletedCount === 1) return { ...keepEverything, ...removed };
    }
  }

  #runOfEvent({ tenantId, agentId, session }: EventRow): string | null {
    return session === undefined ? null : runId(tenantId, fromBsonText(agentId), fromBsonText(session));
  }

  #runOfApproval({ tenantId, agentId, context }: ApprovalRow): string | null {
    return context?.sessionId ? runId(tenantId, agentId, context.sessionId) : null;
  }

  /** The records of a slice, and where it ends. */
  async #candidates(
    kind: RetentionKind,
    tenantId: string,
    before: number,
    after: number,
    limit: number,
  ): Promise<{ readonly slice: readonly Candidate[]; readonly next: number | null }> {
    const { collection, at, which, fields, runOf } = this.#kinds[kind];
    const projection = Object.fromEntries(['tenantId', at, ...fields].map((field) => [field, 1]));
    const inTime = (time: Filter<Document>) =>
      collection
        .find({ tenantId, ...which, [at]: time }, { projection, ...bounded })
        .sort({ [at]: 1 })
        .map((row): Candidate => ({ id: String(row._id), at: Number(row[at]), run: runOf(row) }));
    const rows = await inTime({ $gt: after, $lt: before })
      .limit(limit + 1)
      .toArray();
    if (rows.length <= limit) return { slice: rows, next: null };
    const last = rows.at(-1)?.at ?? before;
    const slice = rows.filter((row) => row.at < last);
    // More than a slice came in one millisecond: they are taken together.
    if (slice.length === 0)
      return { slice: await inTime({ $eq: last } as Filter<Document>).toArray(), next: last };
    return { slice, next: slice.at(-1)?.at ?? null };
  }

  /** Those of these runs that had something at `before` or later. */
  async #liveRuns(ids: readonly string[], before: number): Promise<ReadonlySet<string>> {
    const live = new Set<string>();
    for (let from = 0; from < ids.length; from += runsAtOnce) {
      const rows = this.#collections.runs.find(
        { _id: { $in: ids.slice(from, from + runsAtOnce) }, $nor: [idleSince(before)] },
        { projection: { _id: 1 }, ...bounded },
      );
      for await (const { _id } of rows) live.add(_id);
    }
    return live;
  }

  /** Runs of a tenant with a pending approval. */
  async #waitingRuns(tenantId: string): Promise<ReadonlySet<string>> {
    const rows = this.#collections.approvals.find(
      { tenantId, status: 'pending', 'context.sessionId': { $type: 'string' } },
      { projection: { tenantId: 1, agentId: 1, 'context.sessionId': 1 }, ...bounded },
    );
    const ids = new Set<string>();
    for await (const row of rows) ids.add(this.#runOfApproval(row) ?? '');
    return ids;
  }

  /** Runs whose records stay. The others are marked first: from then on nobody signs what is left of them. */
  async #keptRuns(slice: readonly Candidate[], before: number): Promise<ReadonlySet<string>> {
    const ids = [...new Set(slice.flatMap(({ run }) => run ?? []))];
    if (ids.length === 0) return new Set();
    await this.#collections.runs.updateMany(
      { _id: { $in: ids }, ...idleSince(before), trimmed: { $exists: false } },
      { $set: { trimmed: true } },
    );
    return this.#liveRuns(ids, before);
  }

  async #removable(
    kind: RetentionKind,
    tenantId: string,
    slice: readonly Candidate[],
    before: number,
  ): Promise<readonly string[]> {
    if (kind === 'deliveries') return slice.map(({ id }) => id);
    const kept = kind === 'runs' ? await this.#waitingRuns(tenantId) : await this.#keptRuns(slice, before);
    return slice.filter(({ run }) => run === null || !kept.has(run)).map(({ id }) => id);
  }

  /** For who reads exports. */
  async #noteRemoval(kind: RetentionKind, tenantId: string, ids: readonly string[]): Promise<void> {
    if (kind === 'approvals') await this.#collections.removals.noteApprovals(tenantId, ids);
    if (kind !== 'events') return;
    const projection = { batch: 1, 'outcomes.by': 1 };
    await this.#collections.removals.note(
      tenantId,
      await this.#collections.events.find({ _id: { $in: [...ids] } }, { projection }).toArray(),
    );
  }

  /** Old records of runs that had something since. */
  async #countKept(kind: 'events' | 'approvals', tenantId: string, before: number): Promise<number> {
    const { collection, at, which, fields, runOf } = this.#kinds[kind];
    const [agent = '', session = ''] = fields;
    const groups = collection.aggregate<Document>(
      [
        { $match: { tenantId, ...which, [at]: { $lt: before }, [session]: { $type: 'string' } } },
        { $group: { _id: { agent: `$${agent}`, session: `$${session}` }, count: { $sum: 1 } } },
      ],
      bounded,
    );
    const countOf = new Map<string, number>();
    for await (const { _id, count } of groups) {
      const { agent: agentId, session: sessionId } = _id as {
        readonly agent: string;
        readonly session: string;
      };
      const run = runOf({ tenantId, agentId, session: sessionId, context: { sessionId } });
      if (run !== null) countOf.set(run, Number(count));
    }
    let kept = 0;
    for (const run of await this.#liveRuns([...countOf.keys()], before)) kept += countOf.get(run) ?? 0;
    return kept;
  }
}

export function mongoRetention(collections: RetentionCollections): RetentionStore {
  const slices = new RetentionSlices(collections);
  return {
    count: (tenantId, kind, before) => slices.count(tenantId, kind, before),
    remove: (tenantId, kind, before, after, limit) => slices.remove(tenantId, kind, before, after, limit),
    settle: (tenantId) => slices.settle(tenantId),
  };
}
