// Events, runs, approvals and the audit chain of a move as documents.
import { argsRecord } from '../../../src/approval/record.ts';
import { entriesOf } from '../../../src/audit/record.ts';
import type { EventOutcome } from '../../../src/event/record.ts';
import type { OrderedKind } from '../../../src/export/record.ts';
import { reportFacts } from '../../../src/run/rules/report.ts';
import type { Env } from '../../../src/shared/ids.ts';
import type {
  ActivityKind,
  ExportOrderKind,
  MovedApproval,
  MovedEvent,
  MovedExportItem,
  MovedRecords,
} from '../../../src/shared/ports/moved-records.ts';
import { type ApprovalRow, approvalOf, rowOf } from '../approval-rows.ts';
import type { LinkRow } from '../audit-links.ts';
import { type EventRow, type OutcomeRow, toEvent, toEventRow, toOutcomeFields } from '../event-filter.ts';
import {
  type ExportItem,
  type ExportLinkRow,
  entriesOf as exportEntriesOf,
  itemOf,
  outcomeEntry,
} from '../export-log.ts';
import { toBsonText } from '../form.ts';
import { type CountedRow, runOf, runRowOf } from '../run-projection.ts';
import type { Forms } from './forms.ts';

/** The batch of an event in the order of exports: those of one segment, which the first digits of its id name. */
const batchOf = (eventId: string): string => `moved-${eventId.slice(0, 13)}`;
const outcomePrefix = 'moved-o';

/** An outcome, with the facts that it adds to its run if the run is counted again. */
function outcomeRow(event: MovedEvent, outcome: EventOutcome, id: number): OutcomeRow {
  const { verdict, timestamp, decisionName, decisionSource, reason } = outcome;
  const payload = {
    ...event.payload,
    decision_name: decisionName,
    decision_source: decisionSource,
    reason,
  };
  const facts = reportFacts(
    { ...event, verdict, timestamp, payload },
    { env: event.env as Env, receivedAt: event.createdAt },
  );
  return {
    ...toOutcomeFields(outcome),
    by: `${outcomePrefix}${id}`,
    receivedAt: event.createdAt,
    ...(facts
      ? {
          agent: toBsonText(event.agentId),
          session: toBsonText(facts[0]),
          facts: JSON.stringify(facts[1]),
        }
      : {}),
  };
}

function eventDocument({ tenantId, ...event }: MovedEvent): EventRow {
  const { id, env, createdAt, sample, outcomes, outcomeIds } = event;
  const batch = { tenantId, env, receivedAt: createdAt, ...(sample ? { sample } : {}) };
  const row = toEventRow(event, batch, id, sample ? undefined : batchOf(id));
  if (outcomes.length === 0) return row;
  const verdicts = new Set([...row.verdicts, ...outcomes.map(({ verdict }) => toBsonText(verdict))]);
  return {
    ...row,
    verdicts: [...verdicts],
    outcomes: outcomes.map((outcome, i) => outcomeRow({ tenantId, ...event }, outcome, outcomeIds[i] ?? 0)),
  };
}

/** Texts that rise with the order, as those of approvals that are stored here do. */
const arrivalOf = (order: number): string => `moved-${String(order).padStart(16, '0')}`;
const orderOf = (arrival: string): number => Number(arrival.slice('moved-'.length));

function approvalDocument({ order, unannouncedAt, decisionId, ...approval }: MovedApproval): ApprovalRow {
  // The links of exports contain its changes.
  const { unannouncedAt: _since, unlined: _unlined, ...row } = rowOf(approval, arrivalOf(order));
  return {
    ...row,
    ...(unannouncedAt === null ? {} : { unannouncedAt }),
    ...(decisionId === null ? {} : { decisionId }),
  };
}

/** Search keys of a link's entries. */
const keysOf = (body: string): LinkRow['entries'] =>
  entriesOf(body).map((entry) => {
    const actor = entry.actor as { readonly id: string; readonly display: string };
    return {
      id: String(entry.id),
      actors: [actor.id.toLowerCase(), actor.display.toLowerCase()],
      action: String(entry.action_type),
      subjectType: String(entry.subject_type),
    };
  });

function itemDocument(item: MovedExportItem): ExportItem {
  if ('events' in item) return itemOf(batchOf(item.events[0] ?? ''), item.events);
  if ('approval' in item) {
    const { id, change } = item.approval;
    return { id: `${id}/${change}`, approval: { id, change } };
  }
  const { id, eventId, index } = item.outcome;
  return itemOf(`${outcomePrefix}${id}`, [outcomeEntry(eventId, index)]);
}

function itemRecord(item: ExportItem): MovedExportItem {
  if (item.approval) return { approval: item.approval };
  const entries = exportEntriesOf(item);
  if (!item.id.startsWith(outcomePrefix)) return { events: entries };
  const [eventId = '', index] = (entries[0] ?? '').split('#');
  return { outcome: { id: Number(item.id.slice(outcomePrefix.length)), eventId, index: Number(index) } };
}

export const activityForms: Forms<ActivityKind | ExportOrderKind> = {
  exportLinks: {
    collection: 'exportLinks',
    toDocument: ({ tenantId, kind, seq, items }) => ({
      _id: `${tenantId}/${kind}/${seq}`,
      tenantId,
      kind,
      seq,
      items: items.map(itemDocument),
    }),
    toRecord(document) {
      const { tenantId, kind, seq, items } = document as unknown as ExportLinkRow;
      return { tenantId, kind, seq, items: items.map(itemRecord) };
    },
  },
  exportRemovals: {
    collection: 'exportRemovals',
    // Cursors of the embedded store are of no use here: no link has lost a line.
    toDocument: ({ tenantId, kind, removed }) => ({
      _id: `${tenantId}/${kind}`,
      tenantId,
      removed,
      lastSeq: 0,
    }),
    toRecord: ({ _id, tenantId, removed }) => ({
      tenantId: String(tenantId),
      kind: String(_id).slice(String(tenantId).length + 1) as OrderedKind,
      removed: Number(removed),
    }),
  },
  events: {
    collection: 'events',
    toDocument: eventDocument,
    toRecord(document) {
      const row = document as unknown as EventRow;
      const outcomeIds = row.outcomes.map(({ by = '' }) => Number(by.slice(outcomePrefix.length)));
      return { ...toEvent(row), tenantId: row.tenantId, outcomeIds };
    },
  },
  runs: {
    collection: 'runs',
    toDocument: runRowOf,
    toRecord: (document) => runOf(document as unknown as CountedRow),
  },
  approvals: {
    collection: 'approvals',
    toDocument: approvalDocument,
    toRecord(document) {
      const row = document as unknown as ApprovalRow;
      return {
        ...approvalOf(row),
        order: orderOf(row.arrival),
        unannouncedAt: row.unannouncedAt ?? null,
        decisionId: row.decisionId ?? null,
      };
    },
  },
  approvalArgs: {
    collection: 'approvalArgs',
    toDocument: argsRecord.toDocument,
    toRecord: argsRecord.fromDocument,
  },
  auditLinks: {
    collection: 'auditLinks',
    toDocument: (link) => ({ _id: `${link.tenantId}/${link.seq}`, ...link, entries: keysOf(link.body) }),
    toRecord: ({ _id, entries: _entries, ...link }) => link as MovedRecords['auditLinks'],
  },
  auditHeads: {
    collection: 'auditHeads',
    toDocument: ({ starts, ...head }) => ({
      _id: `${head.tenantId}/${head.seq}`,
      ...head,
      ...(starts ? { starts: true } : {}),
    }),
    toRecord: ({ _id, starts = false, ...head }) => ({ ...head, starts }) as MovedRecords['auditHeads'],
  },
};
