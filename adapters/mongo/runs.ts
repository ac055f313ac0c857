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

/** Runs with waiting approvals that a filter by status names. */
const maxWaiting = 10_000;

/** The run of an approval, in an aggregation. */
const runOfApproval = { agentId: '$agentId', sessionId: '$context.sessionId', env: '$env' };

interface PendingGroup {
  readonly _id: { readonly agentId: string; readonly sessionId: string; readonly env: Env };
  readonly count: number;
  readonly oldest: { readonly id: string };
}

interface PendingOfRun {
  readonly count: number;
  readonly oldestId: string;
}
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
    const items = await this.#readAll(tenantId, runPage.items as readonly CountedRow[], now);
    return { items, more: runPage.more, total };
  }

  async get(tenantId: string, { agentId, sessionId }: RunKey, now: number): Promise<Run | null> {
    const _id = runId(tenantId, agentId, sessionId);
    await this.#repair({ _id });
    const row = await this.#runs.findOne({ _id, ...counted });
    if (!row) return null;
    const [run = null] = await this.#readAll(tenantId, [row as CountedRow], now);
    return run;
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
      pendingApprovals: pending.get(row._id)?.count ?? 0,
    }));
  }

  async countPending(tenantId: string, { agentIds, env }: AgentsIn, now: number) {
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

  /** By run: how many of its approvals wait in its environment, and the id of the oldest. */
  async #pendingByRun(tenantId: string, rows: readonly RunRow[], now: number) {
    const byRun = new Map<string, PendingOfRun>();
    if (rows.length === 0) return byRun;
    const envs = new Map(rows.map((row) => [row._id, row.env]));
    const groups = await this.#approvals
      .aggregate<PendingGroup>(
        [
          {
            $match: {
              tenantId,
              status: 'pending',
              env: { $in: [...new Set(envs.values())] },
              deadline: { $gt: now },
              agentId: { $in: [...new Set(rows.map((row) => fromBsonText(row.agentId)))] },
              'context.sessionId': { $in: [...new Set(rows.map((row) => fromBsonText(row.sessionId)))] },
            },
          },
          {
            $group: {
              _id: runOfApproval,
              count: { $sum: 1 },
              oldest: { $min: { createdAt: '$createdAt', arrival: '$arrival', id: '$_id' } },
            },
          },
        ],
        bounded,
      )
      .toArray();
    for (const { _id, count, oldest } of groups) {
      const id = runId(tenantId, _id.agentId, _id.sessionId);
      if (envs.get(id) === _id.env) byRun.set(id, { count, oldestId: oldest.id });
    }
    return byRun;
  }

  /** The runs of these rows, each with its oldest approval that waits. */
  async #readAll(tenantId: string, rows: readonly CountedRow[], now: number): Promise<readonly Run[]> {
    const pending = await this.#pendingByRun(tenantId, rows, now);
    const oldestIds = [...pending.values()].map(({ oldestId }) => oldestId);
    const oldest =
      oldestIds.length === 0 ? [] : await this.#approvals.find({ _id: { $in: oldestIds } }).toArray();
    const byId = new Map(oldest.map((row) => [row._id, row]));
    return rows.map((row) => {
      const { count = 0, oldestId } = pending.get(row._id) ?? {};
      return this.#read(row, count, oldestId === undefined ? undefined : byId.get(oldestId), now);
    });
  }

  #read(row: CountedRow, pendingApprovals: number, oldest: ApprovalRow | undefined, now: number): Run {
    const { tenantId: _tenant, receivedAt: _received, lastAt: lastActivityAt, ...run } = runOf(row);
    return {
      ...run,
      lastActivityAt,
      lastEventId: run.facts?.last.id ?? null,
      snapshotEventId: run.facts?.snapshot?.id ?? null,
      pendingApprovals,
      oldestPending: oldest ? asSeen(approvalOf(oldest), now) : null,
    };
  }

  /** The ids of runs with an approval that waits in the environment of its list, the newest `maxWaiting` of them. */
  async #waitingIds(
    tenantId: string,
    { env, agentId, sessionId }: RunFilter,
    now: number,
  ): Promise<readonly (readonly [Env, readonly string[]])[]> {
    const groups = await this.#approvals
      .aggregate<Pick<PendingGroup, '_id'>>(
        [
          {
            $match: {
              tenantId,
              ...inEnvs(env),
              status: 'pending',
              deadline: { $gt: now },
              ...(agentId === undefined ? {} : { agentId }),
              'context.sessionId': sessionId ?? { $type: 'string' },
            },
          },
          { $group: { _id: runOfApproval, createdAt: { $max: '$createdAt' } } },
          { $sort: { createdAt: -1 } },
          { $limit: maxWaiting },
        ],
        bounded,
      )
      .toArray();
    const ids = new Map<Env, string[]>();
    for (const { _id } of groups) {
      const ofEnv = ids.get(_id.env) ?? [];
      ofEnv.push(runId(tenantId, _id.agentId, _id.sessionId));
      ids.set(_id.env, ofEnv);
    }
    return [...ids];
  }

  async #queryOf(
    tenantId: string,
    filter: RunFilter,
    now: number,
    staleBefore: number,
  ): Promise<Filter<RunRow>> {
    const { env, agentId, sessionId, statuses } = filter;
    const base: Filter<RunRow> = {
      tenantId,
      ...counted,
      ...inEnvs(env),
      ...(agentId === undefined ? {} : { agentId: toBsonText(agentId) }),
      ...(sessionId === undefined ? {} : { sessionId: toBsonText(sessionId) }),
    };
    if (statuses === undefined) return base;
    const waiting = (await this.#waitingIds(tenantId, filter, now)).map(([env, ids]) => ({
      env,
      _id: { $in: ids },
    }));
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
    listRecent: (tenantId, query, now) => reader.recent(tenantId, query, now),
    countPending: (tenantId, agents, now) => reader.countPending(tenantId, agents, now),
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

  /** Of an approval that ended. Its run may have been removed since: it is not made again. */
  async function touchEnd({ tenantId, agentId, sessionId }: Approval, at: number): Promise<void> {
    if (sessionId === null) return;
    const _id = runId(tenantId, agentId, sessionId);
    await runs.updateOne({ _id, ...counted }, { $max: { lastAt: at, receivedAt: at } });
  }

  return {
    ...approvals,
    async request(approval) {
      await touch(approval, approval.createdAt);
      return approvals.request(approval);
    },
    async decide(tenantId, id, decision, now) {
      const decided = await approvals.decide(tenantId, id, decision, now);
      if (typeof decided === 'object') await touchEnd(decided, decided.decidedAt ?? now);
      return decided;
    },
    async expire(tenantId, id, now) {
      const expired = await approvals.expire(tenantId, id, now);
      if (expired) await touchEnd(expired, expired.deadline);
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
