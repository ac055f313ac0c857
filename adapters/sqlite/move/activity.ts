// Events, runs, approvals and the audit chain, as records of a move. Events keep their ids, and runs name them.
import type { Approval } from '../../../src/approval/record.ts';
import type { RunEvent, RunFacts } from '../../../src/run/record.ts';
import type {
  ActivityKind,
  MovedApproval,
  MovedEvent,
  MovedRun,
} from '../../../src/shared/ports/moved-records.ts';
import { storedArgs } from '../approval-arguments.ts';
import { approvals } from '../approvals.ts';
import { heads, links } from '../audit.ts';
import type { Database } from '../database.ts';
import { markOf } from '../events/search.ts';
import {
  bodyEvents,
  eventId,
  outcomesOf,
  positionOf,
  readSummary,
  segmentBody,
  segmentOf,
  storedEvent,
  summaryColumns,
} from '../events/segment.ts';
import { runs } from '../runs.ts';
import { pages, records } from './pages.ts';
import type { Readers } from './people.ts';

/** Numbers of a segment's outcomes by position, in the order of `outcomesOf`. */
function outcomeIdsOf(db: Database, segment: number): ReadonlyMap<number, readonly number[]> {
  const ids = new Map<number, number[]>();
  for (const [position, id] of db.all('SELECT position, id FROM outcomes WHERE segment = ? ORDER BY id', [
    segment,
  ]))
    ids.set(Number(position), [...(ids.get(Number(position)) ?? []), Number(id)]);
  return ids;
}

function* events(db: Database): Generator<readonly MovedEvent[]> {
  const mark = markOf(db);
  const tenants = new Map(
    db.all('SELECT number, tenant_id FROM tenant_numbers').map(([n, id]) => [Number(n), String(id)]),
  );
  const columns = `tenant, ${summaryColumns}`;
  for (const rows of pages(db, { table: 'segments', key: ['id'], columns, size: 64 })) {
    for (const [tenant, ...rest] of rows) {
      const segment = readSummary(rest);
      const body = segmentBody(db, segment.id);
      const tenantId = tenants.get(Number(tenant));
      if (!body || tenantId === undefined) continue;
      const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
      const ids = segment.outcomes > 0 ? outcomeIdsOf(db, segment.id) : null;
      yield bodyEvents(body).flatMap((event, position): MovedEvent[] => {
        if (!event) return [];
        const stored = storedEvent(event, mark, position, segment, outcomes?.get(position) ?? []);
        return [{ ...stored, tenantId, outcomeIds: ids?.get(position) ?? [] }];
      });
    }
  }
}

/** The facts with the ids of the events that they name. */
function withIds(facts: RunFacts, mark: string): RunFacts {
  const withNames = <M extends { readonly seq: number }>(moment: M): M => ({
    ...moment,
    id: eventId(mark, segmentOf(moment.seq), positionOf(moment.seq)),
  });
  const maybe = <M extends { readonly seq: number }>(moment: M | null): M | null =>
    moment && withNames(moment);
  return {
    ...facts,
    last: withNames<RunEvent>(facts.last),
    lastDecision: maybe(facts.lastDecision),
    lastWorkflow: maybe(facts.lastWorkflow),
    snapshot: maybe(facts.snapshot),
    version: maybe(facts.version),
  };
}

function* movedRuns(db: Database): Generator<readonly MovedRun[]> {
  const mark = markOf(db);
  for (const rows of pages(db, { table: 'runs', key: ['id'], columns: runs.columns, size: 200 }))
    yield rows.map((row) => {
      const run = runs.read(row);
      return { ...run, facts: run.facts && withIds(run.facts, mark) };
    });
}

function* movedApprovals(db: Database): Generator<readonly MovedApproval[]> {
  const columns = `rowid, unannounced_at, decision_id, ${approvals.columns}`;
  for (const rows of pages(db, { table: 'approvals', key: ['rowid'], columns, size: 200 }))
    yield rows.map(([order, unannouncedAt, decisionId, ...rest]) => ({
      ...(approvals.read(rest) as Approval),
      order: Number(order),
      unannouncedAt: unannouncedAt === null ? null : Number(unannouncedAt),
      decisionId: decisionId === null ? null : String(decisionId),
    }));
}

export const activityReaders: Readers<ActivityKind> = {
  events,
  runs: movedRuns,
  approvals: movedApprovals,
  approvalArgs: (db) => records(db, storedArgs, 'approval_args', { size: 8 }),
  *auditLinks(db) {
    const key = ['tenant_id', 'seq'];
    for (const rows of pages(db, { table: 'audit_links', key, columns: links.columns, size: 200 }))
      yield rows.map(links.read);
  },
  *auditHeads(db) {
    const key = ['tenant_id', 'seq'];
    const columns = `starts, ${heads.columns}`;
    for (const rows of pages(db, { table: 'audit_heads', key, columns, size: 500 }))
      yield rows.map(([starts, ...rest]) => ({ ...heads.read(rest), starts: starts === 1 }));
  },
};
