// Lines of an export in the hub's own words: those of the console API, and of the hosted API for audit entries.
import { render as renderApproval } from '../../approval/console/render.ts';
import { render as renderEvent, renderOutcome } from '../../event/console/render.ts';
import { callIdOf } from '../../event/rules/decision.ts';
import { type ExportRecord, exportLineRecord } from '../record.ts';

type JsonFields = { readonly [name: string]: unknown };

/** The record as an object. */
export function dataOf(record: ExportRecord): JsonFields {
  if (record.type === 'audit_entry') return record.entry;
  if (record.type === 'event') {
    const { outcomes: _outcomes, ...event } = renderEvent(record.event);
    return event;
  }
  if (record.type !== 'outcome') return renderApproval(record.approval);
  const { event, outcome } = record;
  return {
    event_id: event.id,
    call_id: callIdOf(event),
    agent_id: event.agentId,
    tool_name: event.toolName,
    env: event.env,
    ...renderOutcome(outcome, event),
  };
}

/** The id of a record, which no other record of its tenant has. */
export function idOf(record: ExportRecord): string {
  if (record.type === 'audit_entry') return String(record.entry.id);
  if (record.type === 'event') return record.event.id;
  if (record.type !== 'outcome') return `${record.approval.id}/${record.type.slice('approval_'.length)}`;
  const { event, outcome } = record;
  return `${event.id}/${outcome.verdict}/${outcome.decisionName ?? ''}`;
}

/** Time of the record, by the clock of its reporter; epoch milliseconds. */
export function timeOf(record: ExportRecord): number {
  if (record.type === 'audit_entry') return Date.parse(String(record.entry.occurred_at));
  if (record.type === 'event') return record.event.timestamp;
  if (record.type === 'outcome') return record.outcome.timestamp;
  const { createdAt, decidedAt, deadline } = record.approval;
  if (record.type === 'approval_requested') return createdAt;
  return record.type === 'approval_decided' ? (decidedAt ?? createdAt) : deadline;
}

export const nativeLine = (record: ExportRecord, cursor: string): JsonFields =>
  exportLineRecord.render('console', { cursor, type: record.type, data: dataOf(record) });
