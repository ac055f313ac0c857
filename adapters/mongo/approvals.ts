// Approvals in MongoDB: one document each. A transition is one update of a document that is still pending, so it
// happens once.
import { randomUUID } from 'node:crypto';
import type { Collection, Filter } from 'mongodb';
import { createBatcher } from '../../src/concurrency/batcher.ts';
import {
  type Approval,
  type AskingContract,
  approvalStatuses,
  asSeen,
  largeArgs,
} from '../../src/domain/approval.ts';
import { maxSearchMs } from '../../src/domain/event.ts';
import { type Env, environments } from '../../src/domain/ids.ts';
import type { ApprovalFilter, ApprovalPlace, ApprovalStore } from '../../src/ports/approvals.ts';
import { type Clock, pause } from '../../src/ports/clock.ts';
import { isDuplicate, unlessTaken } from './failure.ts';
import { byTenant, fromRow, fromText, literalPattern, type Row, toRow, toText } from './form.ts';
import { pageOf } from './page.ts';
import type { RisingIds } from './uuidv7.ts';

export type ApprovalRow = Omit<Row<Approval>, 'toolArgs' | 'argsBytes' | keyof Names | keyof Context> &
  Partial<Names> & {
    /** Null when they are kept apart. */
    readonly toolArgs: string | null;
    /** Absent in what earlier versions stored. */
    readonly context?: Context;
    /** Absent in rows of before arguments were kept apart. */
    readonly argsBytes?: number;
    readonly arrival: string;
    /** Since when it waits to be announced; absent once it was. */
    readonly unannouncedAt?: number;
    /** The decision that won. */
    readonly decisionId?: string;
    /** The bulk write that timed it out. */
    readonly timedOutBy?: string;
  };

/** Absent in what earlier versions stored. */
type Names = Pick<Approval, 'rulesetName' | 'decidedBySubject'>;

/** What an approval knows of its call besides. JSON as text. */
interface Context {
  readonly contracts: string | null;
  readonly principal: string | null;
  readonly sessionId: string | null;
  readonly callId: string | null;
}

const noContext: Context = { contracts: null, principal: null, sessionId: null, callId: null };

/** Arguments that are kept apart; `_id` is their approval's. */
export interface ArgsRow {
  readonly _id: string;
  readonly tenantId: string;
  readonly env: Env;
  readonly bytes: number;
  readonly createdAt: number;
  readonly json: string;
}

/** An approval that may be due. */
interface Due {
  readonly tenantId: string;
  readonly id: string;
  readonly now: number;
}

/** An approval that was announced in this status. */
interface Announced {
  readonly tenantId: string;
  readonly id: string;
  readonly status: Approval['status'];
}

const atOnce = 200;
/** Marks that go together: few, because decisions wait while the server writes them. */
const announcedAtOnce = 8;
/** Much shorter than the time after which what waits to be announced is announced again. */
const unmarkMs = 40;
/** After a failure. */
const unmarkAgainMs = 1000;

export function approvalOf({
  arrival: _arrival,
  unannouncedAt: _unannouncedAt,
  timedOutBy: _bulk,
  decisionId: _decision,
  toolArgs,
  argsBytes = Buffer.byteLength(toolArgs ?? ''),
  context: { contracts, principal, ...context } = noContext,
  rulesetName = null,
  decidedBySubject = null,
  ...rest
}: ApprovalRow): Approval {
  return fromRow<Approval>({
    ...rest,
    rulesetName,
    decidedBySubject,
    ...context,
    contracts: fromText<readonly AskingContract[]>(contracts),
    principal: fromText(principal),
    toolArgs: fromText(toolArgs),
    argsBytes,
  });
}

function rowOf(approval: Approval, arrival: string): ApprovalRow {
  const { contracts, principal, sessionId, callId, toolArgs, ...rest } = approval;
  const context = { contracts: toText(contracts), principal: toText(principal), sessionId, callId };
  const unannouncedAt = approval.createdAt;
  return { ...toRow(rest), toolArgs: toText(toolArgs), context, arrival, unannouncedAt };
}

const idOf = ({ id }: { readonly id: string }): string => id;

const place = ({ _id, tenantId, env }: ApprovalRow): ApprovalPlace => ({ tenantId, env, id: _id });

export function mongoApprovals(
  approvals: Collection<ApprovalRow>,
  args: Collection<ArgsRow>,
  nextId: RisingIds,
  clock: Clock,
): ApprovalStore {
  const one = (tenantId: string, id: string) => ({ _id: id, tenantId });
  const get = async (tenantId: string, id: string): Promise<Approval | null> => {
    const row = await approvals.findOne(one(tenantId, id));
    return row && approvalOf(row);
  };

  /**
   * Thousands may be due at once: they share bulk writes, and the name of the bulk write tells which of them it timed
   * out.
   */
  const timedOut = createBatcher<Due, { readonly approval: Approval | null }>(async (due) => {
    const timedOutBy = randomUUID();
    // All of these times are past: the last of them is none too early for any.
    const now = Math.max(...due.map((one) => one.now));
    const $set = {
      status: 'timeout' as const,
      decidedVia: 'system' as const,
      unannouncedAt: now,
      timedOutBy,
    };
    const writes = byTenant(due, idOf).map(([tenantId, ids]) => {
      const filter = { _id: { $in: ids }, tenantId, status: 'pending' as const, deadline: { $lte: now } };
      return { updateMany: { filter, update: { $set } } };
    });
    await approvals.bulkWrite(writes, { ordered: false });
    const ids = due.map(({ id }) => id);
    const rows = await approvals.find({ _id: { $in: ids }, timedOutBy }).toArray();
    const won = new Map(rows.map((row) => [row._id, approvalOf(row)]));
    return due.map(({ id }) => {
      const approval = won.get(id) ?? null;
      // Asked for twice in one bulk write, it was timed out by the first.
      won.delete(id);
      return { approval };
    });
  }, atOnce);

  let unmarkFailedAt = Number.NEGATIVE_INFINITY;
  /**
   * Every approval is announced twice in its life, and nobody waits until that is written: those of a moment share an
   * update.
   */
  const announcedBatches = createBatcher<Announced, true>(
    async (announced) => {
      // The sweep makes good what fails: a store that is away is not waited for by each of a long queue.
      if (clock.monotonic() - unmarkFailedAt < unmarkAgainMs) throw new Error('The store did not answer.');
      const writes = approvalStatuses.flatMap((status) =>
        byTenant(
          announced.filter((one) => one.status === status),
          idOf,
        ).map(([tenantId, ids]) => ({
          updateMany: {
            filter: { _id: { $in: ids }, tenantId, status },
            update: { $unset: { unannouncedAt: '' as const } },
          },
        })),
      );
      // Nobody waits for it and a lost one is made good: it must not hold up decisions, which wait for the journal.
      try {
        await approvals.bulkWrite(writes, { ordered: false, writeConcern: { w: 1, journal: false } });
      } catch (error) {
        unmarkFailedAt = clock.monotonic();
        throw error;
      }
      return announced.map(() => true as const);
    },
    announcedAtOnce,
    () => pause(clock, unmarkMs),
  );
  /** By status and id. What the sweep has announced again, because the queue is long, does not make it longer. */
  const unmarking = new Map<string, Promise<true>>();
  const noteAnnounced = (one: Announced): Promise<true> => {
    const name = `${one.status} ${one.id}`;
    const under = unmarking.get(name) ?? announcedBatches(one).finally(() => unmarking.delete(name));
    unmarking.set(name, under);
    return under;
  };

  return {
    async keepArgs({ id, ...rest }, quota) {
      const { tenantId, env, bytes } = rest;
      if (bytes > largeArgs) {
        const [large] = await args
          .aggregate<{ readonly bytes: number }>([
            { $match: { tenantId, env, bytes: { $gt: largeArgs } } },
            { $group: { _id: null, bytes: { $sum: '$bytes' } } },
          ])
          .toArray();
        if ((large?.bytes ?? 0) + bytes > quota) return 'full';
      }
      await unlessTaken(args.insertOne({ _id: id, ...rest }));
      return 'kept';
    },
    async dropArgs(tenantId, id) {
      await args.deleteOne({ _id: id, tenantId });
    },
    async dropLargeArgs(before, limit) {
      const old = { createdAt: { $lt: before }, bytes: { $gt: largeArgs } };
      const rows = await args
        .find(old, { projection: { _id: 1 } })
        .sort({ createdAt: 1 })
        .limit(limit)
        .toArray();
      if (rows.length === 0) return 0;
      return (await args.deleteMany({ _id: { $in: rows.map((row) => row._id) } })).deletedCount;
    },
    async getWhole(tenantId, id) {
      const approval = await get(tenantId, id);
      if (!approval || approval.toolArgs !== null || approval.argsBytes === 0) return approval;
      const kept = await args.findOne({ _id: id, tenantId });
      return { ...approval, toolArgs: fromText(kept?.json ?? null) };
    },
    async insert(approval) {
      try {
        await approvals.insertOne(rowOf(approval, nextId(approval.createdAt)));
        return approval;
      } catch (error) {
        const stored = isDuplicate(error) ? await get(approval.tenantId, approval.id) : null;
        if (stored === null) throw error;
        return stored;
      }
    },
    get,
    async list(tenantId, filter, page, now) {
      const { after } = page;
      const last =
        after && (await approvals.findOne(one(tenantId, after.id), { projection: { arrival: 1 } }));
      const found = approvals
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
      return pageOf(found, page, (row) => asSeen(approvalOf(row), now));
    },
    count: (tenantId, filter, now) =>
      approvals.countDocuments(fitting(tenantId, filter, now), { maxTimeMS: maxSearchMs }),
    async decide(tenantId, id, decision, now) {
      const outcome = {
        status: decision.approved ? ('approved' as const) : ('denied' as const),
        decidedBy: decision.decidedBy,
        decidedBySubject: decision.decidedBySubject ?? null,
        decidedAt: now,
        decisionReason: decision.reason,
        decidedVia: decision.decidedVia,
      };
      // The rest of it never changes, so it is read beside the write: findOneAndUpdate walks the whole collection on
      // the stand-in server.
      const [written, read] = await Promise.allSettled([
        approvals.updateOne(
          { ...one(tenantId, id), status: 'pending', deadline: { $gt: now } },
          { $set: { ...outcome, decisionId: decision.id, unannouncedAt: now } },
        ),
        approvals.findOne(one(tenantId, id)),
      ]);
      if (written.status === 'rejected') throw written.reason;
      const row = read.status === 'fulfilled' ? read.value : null;
      if (written.value.matchedCount === 1 && row) return { ...approvalOf(row), ...outcome };
      const stored = await approvals.findOne(one(tenantId, id));
      if (stored === null) return 'absent';
      return stored.decisionId === decision.id ? approvalOf(stored) : 'not_pending';
    },
    async expire(tenantId, id, now) {
      return (await timedOut({ tenantId, id, now })).approval;
    },
    async pending(tenantId, env) {
      const rows = await approvals
        .find({ tenantId, env, status: 'pending' }, { projection: { deadline: 1 } })
        .sort({ deadline: 1, arrival: 1 })
        .toArray();
      return rows.map(({ _id, deadline }) => ({ id: _id, deadline }));
    },
    async due(now, limit, skip = 0) {
      const rows = await approvals
        .find({ status: 'pending', deadline: { $lte: now } }, { projection: { tenantId: 1, env: 1 } })
        .sort({ deadline: 1 })
        .skip(skip)
        .limit(limit)
        .toArray();
      return rows.map(place);
    },
    async dueOf(tenantId, now, limit) {
      const env = { $in: [...environments] };
      const rows = await approvals
        .find(
          { tenantId, status: 'pending', env, deadline: { $lte: now } },
          { projection: { tenantId: 1, env: 1 } },
        )
        .sort({ deadline: 1 })
        .limit(limit)
        .toArray();
      return rows.map(place);
    },
    async announced(tenantId, status, ids) {
      await Promise.all(ids.map((id) => noteAnnounced({ tenantId, id, status })));
    },
    async unannounced(before, limit, skip = 0) {
      const rows = await approvals
        .find(
          { unannouncedAt: { $lt: before } },
          // As written: who acts on it reads the approval itself again.
          { projection: { tenantId: 1, env: 1 }, readConcern: { level: 'local' } },
        )
        .sort({ unannouncedAt: 1 })
        .skip(skip)
        .limit(limit)
        .toArray();
      return rows.map(place);
    },
    async remove(tenantId, id) {
      await approvals.deleteOne(one(tenantId, id));
      await args.deleteOne({ _id: id, tenantId });
    },
    countPending: (tenantId, env, now) =>
      approvals.countDocuments({
        tenantId,
        ...(env === null ? {} : { env }),
        status: 'pending',
        deadline: { $gt: now },
      }),
  };
}

const searched = ['agentId', 'toolName', 'message', 'contractName', 'decidedBy'] as const;

function fitting(tenantId: string, filter: ApprovalFilter, now: number): Filter<ApprovalRow> {
  const { env, status, agentId, sessionId, since, until, search } = filter;
  const pattern = search && { $regex: literalPattern(search), $options: 'i' };
  const time = {
    ...(since === undefined ? {} : { $gte: since }),
    ...(until === undefined ? {} : { $lte: until }),
  };
  return {
    tenantId,
    ...(env === null ? {} : { env }),
    ...(agentId === undefined ? {} : { agentId }),
    ...(sessionId === undefined ? {} : { sessionId }),
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

/** The documents that a reader at `now` sees in this status. */
function seenAs(status: Approval['status'], now: number): Filter<ApprovalRow> {
  if (status === 'pending') return { status: 'pending', deadline: { $gt: now } };
  if (status === 'timeout')
    return { $or: [{ status: 'timeout' }, { status: 'pending', deadline: { $lte: now } }] };
  return { status };
}
