// Runs in MongoDB: a document each, which follows from the stored events. Before a batch is stored it leaves its token in the `open` list of
// its runs; what it says is joined to a run in the same update that takes the token out. So a token that stays tells of a process that died
// in between: whoever meets one, and whoever finds its own taken away, counts the run anew from all its events.
import { randomUUID } from 'node:crypto';
import type { Collection, Filter } from 'mongodb';
import { type Approval, asSeen } from '../../src/domain/approval.ts';
import type { Env } from '../../src/domain/ids.ts';
import { factsOf, joinFacts, type RunFacts, type Standing, standingOf } from '../../src/domain/run.ts';
import type { ApprovalStore } from '../../src/ports/approvals.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Run, RunFilter, RunStore } from '../../src/ports/runs.ts';
import { type ApprovalRow, approvalOf } from './approvals.ts';
import { type EventRow, toEvent } from './event-filter.ts';
import { unavailable } from './failure.ts';
import { fromBsonText, toBsonText } from './form.ts';
import { pageOf } from './page.ts';

interface Token {
  readonly batch: string;
  readonly at: number;
}

export interface RunRow {
  /** Tenant, agent and session. */
  readonly _id: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly sessionId: string;
  /** Rises with every change of the facts. */
  readonly rev: number;
  readonly open: readonly Token[];
  readonly sample: boolean;
  readonly receivedAt: number;
  // From here on absent until the first event or approval is counted.
  readonly env?: Env;
  readonly startedAt?: number;
  readonly lastAt?: number;
  readonly standing?: Standing;
  /** JSON. */
  readonly facts?: string;
}

type CountedRow = RunRow & Required<Pick<RunRow, 'env' | 'startedAt' | 'lastAt' | 'standing'>>;

/** What a batch stored of one run. */
export interface RunPart {
  readonly agentId: string;
  readonly sessionId: string;
  /** Null: it stored nothing, all were duplicates. */
  readonly facts: RunFacts | null;
  /** Some of its events were stored before. */
  readonly hasDuplicates: boolean;
}

/** A batch that is being stored. */
export interface OpenBatch {
  readonly token: string;
  readonly receivedAt: number;
  readonly tenantId: string;
}

/** Tries of one update among others' before the batch is refused. */
const attempts = 30;
/** Older tokens are of processes that died, or gave up. */
const abandonedMs = 60_000;
const repairedAtOnce = 20;
const maxPending = 10_000;

export const runId = (tenantId: string, agentId: string, sessionId: string): string =>
  toBsonText(JSON.stringify([tenantId, agentId, sessionId]));

const factsIn = ({ facts }: RunRow): RunFacts | null =>
  facts === undefined ? null : (JSON.parse(facts) as RunFacts);

export function runProjection(runs: Collection<RunRow>, events: Collection<EventRow>) {
  /** What an update sets for these facts. */
  const known = (row: RunRow, facts: RunFacts) => ({
    env: facts.env,
    startedAt: Math.min(row.startedAt ?? facts.startedAt, facts.startedAt),
    lastAt: Math.max(row.lastAt ?? facts.lastAt, facts.lastAt),
    standing: standingOf(facts),
    facts: JSON.stringify(facts),
    rev: row.rev + 1,
  });

  /** Counts a run anew from its events, and takes out the tokens that were there. True when nothing came in between. */
  async function recount(id: string): Promise<boolean> {
    const row = await runs.findOne({ _id: id });
    if (row === null) return true;
    let facts: RunFacts | null = null;
    const stored = events.find({ tenantId: row.tenantId, agentId: row.agentId, session: row.sessionId });
    for await (const one of stored) {
      const event = toEvent(one);
      const place = { seq: event.seq, id: event.id, receivedAt: one.receivedAt, env: one.env as Env };
      const said = factsOf(event, place);
      facts = facts === null ? said : joinFacts(facts, said);
    }
    const $set = facts === null ? { rev: row.rev + 1, open: [] } : { ...known(row, facts), open: [] };
    // Equal lists: a batch that left its token meanwhile may have stored events that were read, or not.
    const { matchedCount } = await runs.updateOne({ _id: id, rev: row.rev, open: row.open }, { $set });
    return matchedCount === 1;
  }

  return {
    recount,

    /** Leaves the batch's token in its runs. To be durable before any of its events is. */
    async begin(
      { tenantId, receivedAt, sample }: { tenantId: string; receivedAt: number; sample?: true },
      keys: readonly { readonly agentId: string; readonly sessionId: string }[],
    ): Promise<OpenBatch> {
      const token = randomUUID();
      await runs.bulkWrite(
        keys.map(({ agentId, sessionId }) => ({
          updateOne: {
            filter: { _id: runId(tenantId, agentId, sessionId) },
            update: {
              $push: { open: { batch: token, at: receivedAt } },
              $max: { receivedAt },
              // Its approval may have made the run of the sample.
              ...(sample ? { $set: { sample: true } } : {}),
              $setOnInsert: {
                tenantId,
                agentId: toBsonText(agentId),
                sessionId: toBsonText(sessionId),
                rev: 0,
                ...(sample ? {} : { sample: false }),
              },
            },
            upsert: true,
          },
        })),
        { ordered: false },
      );
      return { token, receivedAt, tenantId };
    },

    /** Joins what the batch stored to its runs. Once it resolves, they are no further behind than their events. */
    async finish({ token, tenantId }: OpenBatch, parts: readonly RunPart[]): Promise<void> {
      let left = new Map(parts.map((part) => [runId(tenantId, part.agentId, part.sessionId), part]));
      for (let attempt = 0; left.size > 0; attempt++) {
        if (attempt === attempts) throw unavailable();
        const rows = await runs.find({ _id: { $in: [...left.keys()] } }).toArray();
        const writes = [];
        const again = new Map<string, RunPart>();
        for (const row of rows) {
          const part = left.get(row._id);
          if (!part) continue;
          const isOpen = row.open.some(({ batch }) => batch === token);
          // Another's token may stand for the first copies of what this batch repeats.
          const doubtful = part.hasDuplicates && row.open.some(({ batch }) => batch !== token);
          if (!isOpen || doubtful) {
            if (!(await recount(row._id))) again.set(row._id, part);
            continue;
          }
          const before = factsIn(row);
          const facts = before && part.facts ? joinFacts(before, part.facts) : (part.facts ?? before);
          const update = {
            $pull: { open: { batch: token } },
            ...(part.facts && facts ? { $set: known(row, facts) } : {}),
          };
          again.set(row._id, part);
          writes.push({ updateOne: { filter: { _id: row._id, rev: row.rev, 'open.batch': token }, update } });
        }
        if (writes.length > 0) {
          await runs.bulkWrite(writes, { ordered: false });
          const ids = writes.map(({ updateOne }) => updateOne.filter._id);
          const open = await runs
            .find({ _id: { $in: ids }, 'open.batch': token }, { projection: { _id: 1 } })
            .toArray();
          const missed = new Set(open.map(({ _id }) => _id));
          for (const id of ids) if (!missed.has(id)) again.delete(id);
        }
        left = again;
      }
    },
  };
}

export function mongoRuns(
  runs: Collection<RunRow>,
  events: Collection<EventRow>,
  approvals: Collection<ApprovalRow>,
  clock: Clock,
): RunStore {
  const projection = runProjection(runs, events);
  const counted = { lastAt: { $exists: true } };

  /** Counts runs anew whose writers died. */
  async function repair(which: Filter<RunRow>): Promise<void> {
    const abandoned = await runs
      .find({ ...which, 'open.at': { $lt: clock.now() - abandonedMs } }, { projection: { _id: 1 } })
      .limit(repairedAtOnce)
      .toArray();
    for (const { _id } of abandoned) await projection.recount(_id);
  }

  /** Approvals of these runs that wait, oldest first, by run. */
  async function pendingOf(tenantId: string, rows: readonly RunRow[], now: number) {
    const byRun = new Map<string, ApprovalRow[]>();
    if (rows.length === 0) return byRun;
    const found = await approvals
      .find({
        tenantId,
        status: 'pending',
        deadline: { $gt: now },
        agentId: { $in: [...new Set(rows.map((row) => fromBsonText(row.agentId)))] },
        'context.sessionId': { $in: [...new Set(rows.map((row) => fromBsonText(row.sessionId)))] },
      })
      .sort({ createdAt: 1, arrival: 1 })
      .toArray();
    for (const row of found) {
      const id = runId(tenantId, row.agentId, row.context?.sessionId ?? '');
      byRun.set(id, [...(byRun.get(id) ?? []), row]);
    }
    return byRun;
  }

  function read(row: CountedRow, pending: readonly ApprovalRow[], now: number): Run {
    const facts = factsIn(row);
    const [oldest] = pending;
    return {
      agentId: fromBsonText(row.agentId),
      sessionId: fromBsonText(row.sessionId),
      env: row.env,
      startedAt: row.startedAt,
      lastActivityAt: row.lastAt,
      standing: row.standing,
      facts,
      lastEventId: facts?.last.id ?? null,
      snapshotEventId: facts?.snapshot?.id ?? null,
      pendingApprovals: pending.length,
      oldestPending: oldest ? asSeen(approvalOf(oldest), now) : null,
      sample: row.sample,
    };
  }

  /** The ids of runs with an approval that waits. */
  async function waiting(tenantId: string, now: number): Promise<readonly string[]> {
    const rows = await approvals
      .find(
        { tenantId, status: 'pending', deadline: { $gt: now }, 'context.sessionId': { $type: 'string' } },
        { projection: { agentId: 1, context: 1 } },
      )
      .limit(maxPending)
      .toArray();
    return [...new Set(rows.map((row) => runId(tenantId, row.agentId, row.context?.sessionId ?? '')))];
  }

  async function queryOf(
    tenantId: string,
    { env, agentId, sessionId, statuses }: RunFilter,
    now: number,
    staleBefore: number,
  ): Promise<Filter<RunRow>> {
    const base: Filter<RunRow> = {
      tenantId,
      ...counted,
      ...(env === null ? {} : { env }),
      ...(agentId === undefined ? {} : { agentId: toBsonText(agentId) }),
      ...(sessionId === undefined ? {} : { sessionId: toBsonText(sessionId) }),
    };
    if (statuses === undefined) return base;
    const ids = await waiting(tenantId, now);
    const free = { _id: { $nin: [...ids] } };
    const wanted: { readonly [S in (typeof statuses)[number]]: Filter<RunRow> } = {
      approval_pending: { $or: [{ standing: 'asking' }, { _id: { $in: [...ids] } }] },
      completed: { standing: 'completed', ...free },
      blocked: { standing: 'blocked', ...free },
      stale: { standing: 'open', lastAt: { $lt: staleBefore }, ...free },
      active: { standing: 'open', lastAt: { $gte: staleBefore }, ...free },
    };
    return { ...base, $or: statuses.map((status) => wanted[status]) };
  }

  return {
    async list(tenantId, filter, page, { now, staleAfterMs }) {
      await repair({ tenantId });
      const query = await queryOf(tenantId, filter, now, now - staleAfterMs);
      const [found, total] = await Promise.all([
        pageOf(runs.find(query).sort({ lastAt: -1, agentId: 1, sessionId: 1 }), page, (row) => row),
        runs.countDocuments(query),
      ]);
      const pending = await pendingOf(tenantId, found.items, now);
      const items = found.items.map((row) => read(row as CountedRow, pending.get(row._id) ?? [], now));
      return { items, more: found.more, total };
    },

    async get(tenantId, { agentId, sessionId }, now) {
      const _id = runId(tenantId, agentId, sessionId);
      await repair({ _id });
      const row = await runs.findOne({ _id, ...counted });
      if (!row) return null;
      const pending = await pendingOf(tenantId, [row], now);
      return read(row as CountedRow, pending.get(_id) ?? [], now);
    },

    async recent(tenantId, agentIds, since, limit, now) {
      const lists = await Promise.all(
        agentIds.map((agentId) =>
          runs
            .find({ tenantId, agentId: toBsonText(agentId), lastAt: { $gte: since }, sample: false })
            .sort({ lastAt: -1 })
            .limit(limit)
            .project<CountedRow>({ facts: 0 })
            .toArray(),
        ),
      );
      const rows = lists.flat();
      const pending = await pendingOf(tenantId, rows, now);
      return rows.map((row) => ({
        agentId: fromBsonText(row.agentId),
        sessionId: fromBsonText(row.sessionId),
        standing: row.standing,
        lastActivityAt: row.lastAt,
        pendingApprovals: pending.get(row._id)?.length ?? 0,
      }));
    },

    async pendingOf(tenantId, agentIds, now) {
      const found = await approvals
        .aggregate<{ readonly _id: string; readonly n: number }>([
          {
            $match: { tenantId, status: 'pending', deadline: { $gt: now }, agentId: { $in: [...agentIds] } },
          },
          { $group: { _id: '$agentId', n: { $sum: 1 } } },
        ])
        .toArray();
      return found.map(({ _id, n }) => [_id, n] as const);
    },
  };
}

/** The store of approvals, where what happens to one that names a session is activity of its run. */
export function touchingRuns(approvals: ApprovalStore, runs: Collection<RunRow>): ApprovalStore {
  async function touch({ tenantId, agentId, sessionId, env }: Approval, at: number): Promise<void> {
    if (sessionId === null) return;
    const _id = runId(tenantId, agentId, sessionId);
    const names = { tenantId, agentId: toBsonText(agentId), sessionId: toBsonText(sessionId) };
    await runs.updateOne(
      { _id },
      {
        $min: { startedAt: at },
        $max: { lastAt: at, receivedAt: at },
        $setOnInsert: { ...names, rev: 0, open: [], sample: false },
      },
      { upsert: true },
    );
    // A batch may have made the run without having counted anything yet.
    await runs.updateOne({ _id, standing: { $exists: false } }, { $set: { standing: 'open', env } });
  }

  return {
    ...approvals,
    async insert(approval) {
      await touch(approval, approval.createdAt);
      return approvals.insert(approval);
    },
    async decide(tenantId, id, decision, now) {
      const decided = await approvals.decide(tenantId, id, decision, now);
      if (typeof decided === 'object') await touch(decided, decided.decidedAt ?? now);
      return decided;
    },
    async expire(tenantId, id, now) {
      const expired = await approvals.expire(tenantId, id, now);
      if (expired) await touch(expired, expired.deadline);
      return expired;
    },
  };
}
