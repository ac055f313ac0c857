// Reads of runs in MongoDB, and the changes that approvals make to runs. run-projection.ts makes runs from events.

import type { Collection, Filter } from 'mongodb';
import type { ApprovalStore } from '../../src/approval/port.ts';
import type { Approval } from '../../src/approval/record.ts';
import { asSeen } from '../../src/approval/rules/state.ts';
import type { AuditStore } from '../../src/audit/port.ts';
import { maxSearchMs } from '../../src/event/record.ts';
import type { RecentQuery, Run, RunFilter, RunGlance, RunPageRequest, RunStore } from '../../src/run/port.ts';
import type { RunKey, RunPlace } from '../../src/run/record.ts';
import type { StatusTime } from '../../src/run/rules/run.ts';
import type { AgentsIn, Env } from '../../src/shared/ids.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Page } from '../../src/shared/ports/page.ts';
import { type ApprovalRow, approvalOf } from './approval-rows.ts';
import type { EventRow } from './event-filter.ts';
import { fromBsonText, inEnvs, toBsonText } from './form.ts';
import { pageOf } from './page.ts';

import {
  abandonedMs,
  type CountedRow,
  RunProjection,
  type RunRow,
  repairedAtOnce,
  runId,
  runOf,
} from './run-projection.ts';

const maxPending = 10_000;
/** A search that takes longer is ended. */
const bounded = { maxTimeMS: maxSearchMs };

const counted = { lastAt: { $exists: true } };

class RunReader {
  readonly #runs: Collection<RunRow>;
  readonly #approvals: Collection<ApprovalRow>;
  readonly #clock: Clock;
  readonly #projection: RunProjection;

  constructor(
    runs: Collection<RunRow>,
    events: Collection<EventRow>,
    approvals: Collection<ApprovalRow>,
    audit: Pick<AuditStore, 'append'>,
    clock: Clock,
  ) {
    this.#runs = runs;
    this.#approvals = approvals;
    this.#clock = clock;
    this.#projection = new RunProjection(runs, events, audit);
  }

  async list(
    tenantId: string,
    filter: RunFilter,
    page: RunPageRequest,
    { now, staleAfterMs }: StatusTime,
  ): Promise<Page<Run> & { readonly total: number }> {
    await this.#repair({ tenantId });
    const query = await this.#queryOf(tenantId, filter, now, now - staleAfterMs);
    const [runPage, total] = await Promise.all([
      pageOf(
        this.#runs.find(behind(query, page.after), bounded).sort({ lastAt: -1, agentId: 1, sessionId: 1 }),
        page,
        (row) => row,
      ),
      this.#runs.countDocuments(query, bounded),
    ]);
    const pending = await this.#pendingByRun(tenantId, runPage.items, now);
    const items = runPage.items.map((row) => this.#read(row as CountedRow, pending.get(row._id) ?? [], now));
    return { items, more: runPage.more, total };
  }

  async get(tenantId: string, { agentId, sessionId }: RunKey, now: number): Promise<Run | null> {
    const _id = runId(tenantId, agentId, sessionId);
    await this.#repair({ _id });
    const row = await this.#runs.findOne({ _id, ...counted });
    if (!row) return null;
    const pending = await this.#pendingByRun(tenantId, [row], now);
    return this.#read(row as CountedRow, pending.get(_id) ?? [], now);
  }

  async recent(
    tenantId: string,
    { agentIds, env, since, limit }: RecentQuery,
    now: number,
  ): Promise<readonly RunGlance[]> {
    const lists = await Promise.all(
      agentIds.map((agentId) =>
        this.#runs
          .find({
            tenantId,
            agentId: toBsonText(agentId),
            ...inEnvs(env),
            lastAt: { $gte: since },
            sample: false,
          })
          .sort({ lastAt: -1 })
          .limit(limit)
          .project<CountedRow>({ facts: 0 })
          .toArray(),
      ),
    );
    const rows = lists.flat();
    const pending = await this.#pendingByRun(tenantId, rows, now);
    return rows.map((row) => ({
      agentId: fromBsonText(row.agentId),
      sessionId: fromBsonText(row.sessionId),
      standing: row.standing,
      lastActivityAt: row.lastAt,
      pendingApprovals: pending.get(row._id)?.length ?? 0,
    }));
  }

  async pendingOf(tenantId: string, { agentIds, env }: AgentsIn, now: number) {
    const counts = await this.#approvals
      .aggregate<{ readonly _id: string; readonly n: number }>([
        {
          $match: {
            tenantId,
            ...inEnvs(env),
            status: 'pending',
            deadline: { $gt: now },
            agentId: { $in: [...agentIds] },
          },
        },
        { $group: { _id: '$agentId', n: { $sum: 1 } } },
      ])
      .toArray();
    return counts.map(({ _id, n }) => [_id, n] as const);
  }

  /** Counts runs again whose writers died. */
  async #repair(which: Filter<RunRow>): Promise<void> {
    const abandoned = await this.#runs
      .find({ ...which, 'open.at': { $lt: this.#clock.now() - abandonedMs } }, { projection: { _id: 1 } })
      .limit(repairedAtOnce)
      .toArray();
    for (const { _id } of abandoned) await this.#projection.recount(_id);
  }

  /** Approvals of these runs, in the environment of each, that wait, oldest first, by run. */
  async #pendingByRun(tenantId: string, rows: readonly RunRow[], now: number) {
    const byRun = new Map<string, ApprovalRow[]>();
    if (rows.length === 0) return byRun;
    const pendingApprovals = await this.#approvals
      .find({
        tenantId,
        status: 'pending',
        deadline: { $gt: now },
        agentId: { $in: [...new Set(rows.map((row) => fromBsonText(row.agentId)))] },
        'context.sessionId': { $in: [...new Set(rows.map((row) => fromBsonText(row.sessionId)))] },
      })
      .sort({ createdAt: 1, arrival: 1 })
      .toArray();
    const envs = new Map(rows.map((row) => [row._id, row.env]));
    for (const row of pendingApprovals) {
      const id = runId(tenantId, row.agentId, row.context?.sessionId ?? '');
      if (envs.get(id) !== row.env) continue;
      byRun.set(id, [...(byRun.get(id) ?? []), row]);
    }
    return byRun;
  }

  #read(row: CountedRow, pending: readonly ApprovalRow[], now: number): Run {
    const { tenantId: _tenant, receivedAt: _received, lastAt: lastActivityAt, ...run } = runOf(row);
    const [oldest] = pending;
    return {
      ...run,
      lastActivityAt,
      lastEventId: run.facts?.last.id ?? null,
      snapshotEventId: run.facts?.snapshot?.id ?? null,
      pendingApprovals: pending.length,
      oldestPending: oldest ? asSeen(approvalOf(oldest), now) : null,
    };
  }

  /** The ids of runs with an approval that waits in the environment of its list. */
  async #waitingIds(tenantId: string, now: number): Promise<readonly (readonly [Env, readonly string[]])[]> {
    const rows = await this.#approvals
      .find(
        { tenantId, status: 'pending', deadline: { $gt: now }, 'context.sessionId': { $type: 'string' } },
        { projection: { agentId: 1, context: 1, env: 1 } },
      )
      .limit(maxPending)
      .toArray();
    const ids = new Map<Env, Set<string>>();
    for (const { env, agentId, context } of rows) {
      const ofEnv = ids.get(env) ?? new Set();
      ids.set(env, ofEnv.add(runId(tenantId, agentId, context?.sessionId ?? '')));
    }
    return [...ids].map(([env, ofEnv]) => [env, [...ofEnv]]);
  }

  async #queryOf(
    tenantId: string,
    { env, agentId, sessionId, statuses }: RunFilter,
    now: number,
    staleBefore: number,
  ): Promise<Filter<RunRow>> {
    const base: Filter<RunRow> = {
      tenantId,
      ...counted,
      ...inEnvs(env),
      ...(agentId === undefined ? {} : { agentId: toBsonText(agentId) }),
      ...(sessionId === undefined ? {} : { sessionId: toBsonText(sessionId) }),
    };
    if (statuses === undefined) return base;
    const waiting = (await this.#waitingIds(tenantId, now)).map(([env, ids]) => ({ env, _id: { $in: ids } }));
    const free = waiting.length === 0 ? {} : { $nor: waiting };
    const filters: { readonly [S in (typeof statuses)[number]]: Filter<RunRow> } = {
      approval_pending: { $or: [{ standing: 'asking' }, ...waiting] },
      completed: { standing: 'completed', ...free },
      blocked: { standing: 'blocked', ...free },
      stale: { standing: 'open', lastAt: { $lt: staleBefore }, ...free },
      active: { standing: 'open', lastAt: { $gte: staleBefore }, ...free },
    };
    return { ...base, $or: statuses.map((status) => filters[status]) };
  }
}

export function mongoRuns(
  runs: Collection<RunRow>,
  events: Collection<EventRow>,
  approvals: Collection<ApprovalRow>,
  audit: Pick<AuditStore, 'append'>,
  clock: Clock,
): RunStore {
  const reader = new RunReader(runs, events, approvals, audit, clock);
  return {
    list: (tenantId, filter, page, time) => reader.list(tenantId, filter, page, time),
    get: (tenantId, key, now) => reader.get(tenantId, key, now),
    recent: (tenantId, query, now) => reader.recent(tenantId, query, now),
    pendingOf: (tenantId, agents, now) => reader.pendingOf(tenantId, agents, now),
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

/** The query for what comes after a place in the list. */
function behind(query: Filter<RunRow>, after: RunPlace | undefined): Filter<RunRow> {
  if (!after) return query;
  const { lastActivityAt: lastAt } = after;
  const [agentId, sessionId] = [toBsonText(after.agentId), toBsonText(after.sessionId)];
  const places = [
    { lastAt: { $lt: lastAt } },
    { lastAt, agentId: { $gt: agentId } },
    { lastAt, agentId, sessionId: { $gt: sessionId } },
  ];
  return { $and: [query, { $or: places }] };
}
