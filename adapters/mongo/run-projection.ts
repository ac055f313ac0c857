// How a run follows from its events in MongoDB: a document each. Before a batch is stored it leaves its token in the
// `open` list of its runs. One update joins the batch's facts to a run and takes the token out. So a token that stays
// is from a process that died in between. A process that meets such a token, or finds its own taken away, counts the
// run again from all its events.
import { hash } from 'node:crypto';
import type { Collection, Filter } from 'mongodb';
import type { AuditStore } from '../../src/audit/port.ts';
import type { AuditNote } from '../../src/audit/record.ts';
import type { EventBatch } from '../../src/event/port.ts';
import type { EventInput, StoredEvent } from '../../src/event/record.ts';
import { type RunFacts, runRecord, type StoredRun } from '../../src/run/record.ts';
import { type Reporter, runNote } from '../../src/run/rules/report.ts';
import { factsOf, joinFacts, placedAt, standingOf } from '../../src/run/rules/run.ts';
import type { Env } from '../../src/shared/ids.ts';
import { omitUndefined } from '../../src/shared/omit-undefined.ts';
import { type EventRow, type OutcomeRow, toEvent, toOutcome } from './event-filter.ts';
import { takenAmong, unavailable } from './failure.ts';
import { fromBsonText, toBsonText } from './form.ts';

interface Token {
  readonly batch: string;
  readonly at: number;
  /** Events from a tenant file, which get no entries. */
  readonly isImported?: true;
}

type RunDocument = Omit<ReturnType<typeof runRecord.toDocument>, 'isTrimmed' | 'facts'>;
/** Absent until the first event or approval is counted. */
type CountedField = 'env' | 'startedAt' | 'lastAt' | 'standing';

export interface RunRow extends Omit<RunDocument, CountedField>, Partial<Pick<RunDocument, CountedField>> {
  /** Tenant, agent and session. */
  readonly _id: string;
  /** Rises with every change of the facts. */
  readonly rev: number;
  readonly open: readonly Token[];
  /** Absent in place of a run's false `isTrimmed`. */
  readonly trimmed?: true;
  /** JSON; absent in place of null. */
  readonly facts?: string;
}

export type CountedRow = RunRow & Pick<RunDocument, CountedField>;

type BatchOfRuns = Pick<EventBatch, 'tenantId' | 'receivedAt' | 'sample' | 'isImported'>;

/** Part of one run that a batch stored. */
export interface RunPart {
  readonly agentId: string;
  readonly sessionId: string;
  /** Null: the batch stored nothing, because all its events were duplicates. */
  readonly facts: RunFacts | null;
  /** True if some events of the part were stored before. */
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
export const abandonedMs = 60_000;
export const repairedAtOnce = 20;

export const runId = (tenantId: string, agentId: string, sessionId: string): string =>
  toBsonText(JSON.stringify([tenantId, agentId, sessionId]));

/** All runs of a tenant, in the order of their ids. @param tenantId a UUID */
export const runsOf = (tenantId: string) => ({ _id: { $gte: `["${tenantId}",`, $lt: `["${tenantId}"-` } });

/** Runs that received nothing at `before` or later, and are touched by no batch from then on that is under way. */
export const idleSince = (before: number): Filter<RunRow> => ({
  receivedAt: { $lt: before },
  'open.at': { $not: { $gte: before } },
});

export const factsIn = ({ facts }: RunRow): RunFacts | null =>
  facts === undefined ? null : (JSON.parse(facts) as RunFacts);

/** The run of a row with counted fields. */
export const runOf = ({ trimmed, ...row }: CountedRow): StoredRun =>
  runRecord.fromDocument({
    ...row,
    agentId: fromBsonText(row.agentId),
    sessionId: fromBsonText(row.sessionId),
    isTrimmed: trimmed ?? false,
  });

export function runRowOf(run: StoredRun): CountedRow {
  const { tenantId, agentId, sessionId, isTrimmed, facts, ...row } = runRecord.toDocument(run);
  return {
    _id: runId(tenantId, agentId, sessionId),
    tenantId,
    agentId: toBsonText(agentId),
    sessionId: toBsonText(sessionId),
    rev: 1,
    open: [],
    ...row,
    ...(isTrimmed ? { trimmed: true as const } : {}),
    ...(facts === null ? {} : { facts }),
  };
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** A stored event with the content of its repeat, as far as an entry of the audit chain needs it. */
const asReported = (event: StoredEvent, row: OutcomeRow): EventInput => {
  const outcome = toOutcome(row);
  return {
    ...event,
    verdict: outcome.verdict,
    timestamp: outcome.timestamp,
    payload: { ...event.payload, decision_name: outcome.decisionName },
  };
};

export class RunProjection {
  readonly #runs: Collection<RunRow>;
  readonly #events: Collection<EventRow>;
  readonly #audit: Pick<AuditStore, 'append'>;

  constructor(runs: Collection<RunRow>, events: Collection<EventRow>, audit: Pick<AuditStore, 'append'>) {
    this.#runs = runs;
    this.#events = events;
    this.#audit = audit;
  }

  /** Counts a run again from its events, and takes out the tokens found there. True when nothing came in between. */
  async recount(id: string): Promise<boolean> {
    const row = await this.#runs.findOne({ _id: id });
    if (row === null) return true;
    const { tenantId, agentId, sessionId } = row;
    let facts: RunFacts | null = null;
    let lastReceivedAt = row.receivedAt;
    const notes: AuditNote[] = [];
    // Entries are missing of batches at most whose tokens are there.
    const reported = row.open.filter(({ isImported }) => !isImported);
    const since = reported.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY);
    const add = (added: RunFacts, receivedAt: number): void => {
      facts = facts === null ? added : joinFacts(facts, added);
      lastReceivedAt = Math.max(lastReceivedAt, receivedAt);
    };
    const record = (
      event: EventInput,
      one: EventRow,
      receivedAt: number,
      reporter: Reporter | undefined,
    ): void => {
      const batch = { tenantId, env: one.env as Env, receivedAt, ...omitUndefined({ reporter }) };
      const note = runNote(event, batch, sha256);
      if (note && receivedAt >= since && !one.sample) notes.push(note);
    };
    // A repeat may be of another session, or another agent, than the event that it adds an outcome to.
    const stored = this.#events.find({
      tenantId,
      $or: [{ agentId, session: sessionId }, { alsoIn: row._id }],
    });
    for await (const one of stored) {
      const event = toEvent(one);
      const place = { seq: event.seq, id: event.id };
      if (one.agentId === agentId && one.session === sessionId) {
        const { receivedAt } = one;
        add(factsOf(event, { ...place, receivedAt, env: one.env as Env }), receivedAt);
        record(event, one, receivedAt, one.reporter);
      }
      for (const outcome of one.outcomes) {
        if (outcome.agent !== agentId || outcome.session !== sessionId || outcome.facts === undefined)
          continue;
        const receivedAt = outcome.receivedAt ?? one.receivedAt;
        add(placedAt(JSON.parse(outcome.facts) as RunFacts, event.seq, event.id), receivedAt);
        record(asReported(event, outcome), one, receivedAt, outcome.reporter);
      }
    }
    await this.#audit.append(notes);
    const counted = facts === null ? { rev: row.rev + 1 } : this.#factsUpdate(row, facts);
    // Equal lists: a batch that left its token since the read may have stored events that were read, or not.
    const { matchedCount } = await this.#runs.updateOne(
      { _id: id, rev: row.rev, open: row.open },
      { $set: { ...counted, open: [] }, $max: { receivedAt: lastReceivedAt } },
    );
    return matchedCount === 1;
  }

  /** Leaves the batch's token in its runs. To be durable before any of its events is. */
  async begin(
    { tenantId, receivedAt, sample, isImported }: BatchOfRuns,
    keys: readonly { readonly agentId: string; readonly sessionId: string }[],
    token: string,
  ): Promise<OpenBatch> {
    const own: Token = { batch: token, at: receivedAt, ...(isImported ? { isImported } : {}) };
    const mark = {
      $push: { open: own },
      // Its approval may have made the run of the sample.
      ...(sample ? { $set: { sample: true } } : {}),
    };
    let left = new Map(
      keys.map(({ agentId, sessionId }): [string, RunRow] => {
        const _id = runId(tenantId, agentId, sessionId);
        const names = { tenantId, agentId: toBsonText(agentId), sessionId: toBsonText(sessionId) };
        return [_id, { _id, ...names, rev: 0, open: [own], sample: sample ?? false, receivedAt }];
      }),
    );
    // All that are there take one command, all that are missing another: an upsert of each is a write of its own.
    for (let attempt = 0; left.size > 0; attempt++) {
      if (attempt === attempts) throw unavailable();
      const ids = [...left.keys()];
      const { matchedCount } = await this.#runs.updateMany({ _id: { $in: ids } }, mark);
      if (matchedCount === ids.length) break;
      const there = matchedCount === 0 ? [] : await this.#marked(ids, token);
      for (const id of there) left.delete(id);
      const missing = [...left.values()];
      const refused = await takenAmong(this.#runs.insertMany(missing, { ordered: false }));
      // Another batch made these rows at the same time.
      left = new Map(refused.flatMap((i) => missing[i] ?? []).map((row) => [row._id, row]));
    }
    return { token, receivedAt, tenantId };
  }

  /** Joins what the batch stored to its runs. Once it resolves, they are no further behind than their events. */
  async finish({ token, tenantId, receivedAt }: OpenBatch, parts: readonly RunPart[]): Promise<void> {
    let left = new Map(parts.map((part) => [runId(tenantId, part.agentId, part.sessionId), part]));
    for (let attempt = 0; left.size > 0; attempt++) {
      if (attempt === attempts) throw unavailable();
      const rows = await this.#runs.find({ _id: { $in: [...left.keys()] } }).toArray();
      const ids: string[] = [];
      const writes = [];
      const again = new Map<string, RunPart>();
      for (const row of rows) {
        const part = left.get(row._id);
        if (!part) continue;
        const isOpen = row.open.some(({ batch }) => batch === token);
        // Another's token may stand for the first copies of what this batch repeats.
        const doubtful = part.hasDuplicates && row.open.some(({ batch }) => batch !== token);
        if (!isOpen || doubtful) {
          if (!(await this.recount(row._id))) again.set(row._id, part);
          continue;
        }
        again.set(row._id, part);
        ids.push(row._id);
        writes.push(this.#closing(row, part.facts, token, receivedAt));
      }
      if (writes.length > 0) {
        const { matchedCount, deletedCount } = await this.#runs.bulkWrite(writes, { ordered: false });
        const hasAll = matchedCount + deletedCount === ids.length;
        const missed = new Set(hasAll ? [] : await this.#marked(ids, token));
        for (const id of ids) if (!missed.has(id)) again.delete(id);
      }
      left = again;
    }
  }

  /** The write that takes a batch's token out of a run, and joins its facts. */
  #closing(row: RunRow, added: RunFacts | null, token: string, receivedAt: number) {
    const { _id, rev, open } = row;
    // The batch made the run, and adds nothing to it.
    if (added === null && row.lastAt === undefined && open.length === 1)
      return { deleteOne: { filter: { _id, rev, open, lastAt: { $exists: false } } } };
    const before = factsIn(row);
    const facts = before && added ? joinFacts(before, added) : added;
    const update = {
      $pull: { open: { batch: token } },
      ...(facts ? { $set: this.#factsUpdate(row, facts), $max: { receivedAt } } : {}),
    };
    return { updateOne: { filter: { _id, rev, 'open.batch': token }, update } };
  }

  /** The fields that an update sets for these facts. */
  #factsUpdate(row: RunRow, facts: RunFacts) {
    return {
      env: facts.env,
      startedAt: Math.min(row.startedAt ?? facts.startedAt, facts.startedAt),
      lastAt: Math.max(row.lastAt ?? facts.lastAt, facts.lastAt),
      standing: standingOf(facts),
      facts: JSON.stringify(facts),
      rev: row.rev + 1,
    };
  }

  /** Which of these runs hold the batch's token. */
  async #marked(ids: readonly string[], token: string): Promise<readonly string[]> {
    const rows = this.#runs.find({ _id: { $in: [...ids] }, 'open.batch': token }, { projection: { _id: 1 } });
    return (await rows.toArray()).map(({ _id }) => _id);
  }
}
