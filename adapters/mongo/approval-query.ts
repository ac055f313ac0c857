// Reads of approvals in MongoDB: the lists that people search, and those from which deadlines are kept.
import type { Collection, Filter } from 'mongodb';
import {
  type AlikeCount,
  type ApprovalFilter,
  type ApprovalStore,
  type DeadlinePlace,
  maxAlike,
} from '../../src/approval/port.ts';
import type { Approval, AskingContract } from '../../src/approval/record.ts';
import { asSeen } from '../../src/approval/rules/state.ts';
import { maxSearchMs } from '../../src/event/record.ts';
import { environments } from '../../src/shared/ids.ts';
import { type ApprovalRow, approvalOf, placeOf } from './approval-rows.ts';
import { fromText, inEnvs, searchPattern } from './form.ts';
import { pageOf } from './page.ts';

/** Lists of approvals that people search, page by page. */
export function approvalLists(
  approvals: Collection<ApprovalRow>,
): Pick<ApprovalStore, 'list' | 'listPending' | 'countAlike' | 'count' | 'countPending'> {
  return {
    async list(tenantId, filter, page, now) {
      const { after } = page;
      const last =
        after && (await approvals.findOne({ _id: after.id, tenantId }, { projection: { arrival: 1 } }));
      const cursor = approvals
        .find(
          {
            $and: [
              fitting(tenantId, filter, now),
              ...(after ? [behind(after.createdAt, last?.arrival ?? '')] : []),
            ],
          },
          { maxTimeMS: maxSearchMs },
        )
        .sort({ createdAt: -1, arrival: -1 });
      return pageOf(cursor, page, (row) => asSeen(approvalOf(row), now));
    },
    async listPending(tenantId, filter, page, now) {
      // Naming the environments lets the index bound the deadlines.
      const pendingFilter = { ...filter, env: filter.env ?? [...environments], status: 'pending' } as const;
      const cursor = approvals
        .find(
          {
            $and: [
              fitting(tenantId, pendingFilter, now),
              ...(page.after ? [behindDeadline(page.after)] : []),
            ],
          },
          { maxTimeMS: maxSearchMs },
        )
        .sort({ deadline: 1, _id: 1 });
      return pageOf(cursor, page, approvalOf);
    },
    countAlike: (...of) => countAlike(approvals, ...of),
    count: (tenantId, filter, now) =>
      approvals.countDocuments(fitting(tenantId, filter, now), { maxTimeMS: maxSearchMs }),
    countPending: (tenantId, env, now) =>
      approvals.countDocuments({
        tenantId,
        ...inEnvs(env),
        status: 'pending',
        deadline: { $gt: now },
      }),
  };
}

async function countAlike(
  approvals: Collection<ApprovalRow>,
  ...[tenantId, env, after, now]: Parameters<ApprovalStore['countAlike']>
): Promise<readonly AlikeCount[]> {
  const pendingFilter = { env: env ?? [...environments], status: 'pending' } as const;
  const projection = { env: 1, toolName: 1, contractName: 1, 'context.contracts': 1 };
  const cursor = approvals
    .find(
      { $and: [fitting(tenantId, pendingFilter, now), behindDeadline(after)] },
      { projection, maxTimeMS: maxSearchMs },
    )
    .sort({ deadline: 1, _id: 1 });
  const counts = new Map<string, { count: number } & Omit<AlikeCount, 'count'>>();
  for await (const { env: rowEnv, toolName, contractName, context } of cursor) {
    const contracts: readonly AskingContract[] | null = fromText(context.contracts);
    const contractNames = contracts?.map(({ name }) => name) ?? null;
    const key = JSON.stringify([rowEnv, toolName, contractName, contractNames]);
    const alike = counts.get(key);
    if (alike) alike.count++;
    else if (counts.size < maxAlike)
      counts.set(key, { env: rowEnv, toolName, contractName, contractNames, count: 1 });
  }
  return [...counts.values()];
}

/** Approvals that wait for their deadline or for their announcement. */
export function waitingApprovals(
  approvals: Collection<ApprovalRow>,
): Pick<ApprovalStore, 'listDeadlines' | 'listDue' | 'listDueOf' | 'listUnannounced'> {
  return {
    async listDeadlines(tenantId, env) {
      const rows = await approvals
        .find({ tenantId, env, status: 'pending' }, { projection: { createdAt: 1, deadline: 1 } })
        .sort({ deadline: 1, arrival: 1 })
        .toArray();
      return rows.map(({ _id, createdAt, deadline }) => ({ id: _id, createdAt, deadline }));
    },
    async listDue(now, limit, skip = 0) {
      const rows = await approvals
        .find({ status: 'pending', deadline: { $lte: now } }, { projection: { tenantId: 1, env: 1 } })
        .sort({ deadline: 1 })
        .skip(skip)
        .limit(limit)
        .toArray();
      return rows.map(placeOf);
    },
    async listDueOf(tenantId, now, limit) {
      const env = { $in: [...environments] };
      const rows = await approvals
        .find(
          { tenantId, status: 'pending', env, deadline: { $lte: now } },
          { projection: { tenantId: 1, env: 1 } },
        )
        .sort({ deadline: 1 })
        .limit(limit)
        .toArray();
      return rows.map(placeOf);
    },
    async listUnannounced(before, limit, skip = 0) {
      const rows = await approvals
        .find(
          { unannouncedAt: { $lt: before } },
          // As written: the actor reads the approval itself again before it acts.
          { projection: { tenantId: 1, env: 1 }, readConcern: { level: 'local' } },
        )
        .sort({ unannouncedAt: 1 })
        .skip(skip)
        .limit(limit)
        .toArray();
      return rows.map(placeOf);
    },
  };
}

const searched = ['agentId', 'toolName', 'message', 'contractName', 'decidedBy'] as const;

function fitting(tenantId: string, filter: ApprovalFilter, now: number): Filter<ApprovalRow> {
  const { env, status, agentId, sessionId, since, until, search } = filter;
  const pattern = search && { $regex: searchPattern(search) };
  const time = {
    ...(since === undefined ? {} : { $gte: since }),
    ...(until === undefined ? {} : { $lte: until }),
  };
  return {
    tenantId,
    ...inEnvs(env),
    ...(agentId === undefined ? {} : { agentId }),
    ...(sessionId === undefined ? {} : { 'context.sessionId': sessionId }),
    ...(since === undefined && until === undefined ? {} : { createdAt: time }),
    $and: [
      status === undefined ? {} : seenAs(status, now),
      pattern ? { $or: searched.map((name) => ({ [name]: pattern })) } : {},
    ],
  };
}

/** Those that come after this place in the order of the list. */
const behind = (createdAt: number, arrival: string): Filter<ApprovalRow> => ({
  $or: [{ createdAt: { $lt: createdAt } }, { createdAt, arrival: { $lt: arrival } }],
});

/** Those that come after this place in the order of deadlines. */
const behindDeadline = ({ deadline, id }: DeadlinePlace): Filter<ApprovalRow> => ({
  deadline: { $gte: deadline },
  $or: [{ deadline: { $gt: deadline } }, { _id: { $gt: id } }],
});

/** The documents that a reader at `now` sees in this status. */
function seenAs(status: Approval['status'], now: number): Filter<ApprovalRow> {
  if (status === 'pending') return { status: 'pending', deadline: { $gt: now } };
  if (status === 'timeout')
    return { $or: [{ status: 'timeout' }, { status: 'pending', deadline: { $lte: now } }] };
  return { status };
}
