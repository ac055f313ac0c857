// Lines of an export: what a tenant's hub stored, in the order in which the store committed it.
import { z } from 'zod';
import { type Approval, noDecision } from '../approval/record.ts';
import type { JsonObject } from '../contract/record.ts';
import type { EventOutcome, StoredEvent } from '../event/record.ts';
import { type HubError, refused } from '../shared/error.ts';
import { field, json, type RecordOf, record } from '../shared/record.ts';
import { anyObject } from '../shared/schemas.ts';

export const exportKinds = ['events', 'approvals', 'audit'] as const;
export type ExportKind = (typeof exportKinds)[number];

/** Kinds whose order the store keeps by itself; the audit chain has its own numbers. */
export type OrderedKind = Exclude<ExportKind, 'audit'>;

export const approvalChanges = ['requested', 'decided', 'expired'] as const;
export type ApprovalChange = (typeof approvalChanges)[number];

/** A line in the hub's own words. */
const lineFields = {
  cursor: field(z.string()),
  type: field(
    z.enum([
      'event',
      'outcome',
      ...approvalChanges.map((change) => `approval_${change}` as const),
      'audit_entry',
    ]),
  ),
  data: field(json<JsonObject, typeof anyObject>(anyObject)),
};
export const exportLineRecord = record('export_lines', lineFields);
export type ExportLineType = RecordOf<typeof lineFields>['type'];

export type ExportRecord =
  | {
      readonly type: 'event';
      /** Without its outcomes: each is a line of its own. */
      readonly event: StoredEvent;
    }
  | { readonly type: 'outcome'; readonly event: StoredEvent; readonly outcome: EventOutcome }
  | {
      readonly type: `approval_${ApprovalChange}`;
      /** As it was after the change; large arguments are left out. */
      readonly approval: Approval;
    }
  | { readonly type: 'audit_entry'; readonly entry: JsonObject };

/** A record and its place in the order of its kind. Opaque. */
export type ExportLine = ExportRecord & { readonly place: string };

/** The approval as it was when it was requested. */
export const asRequested = (approval: Approval): Approval => ({
  ...approval,
  ...noDecision,
  status: 'pending',
});

/** The environment of a record; null: an audit entry, which admins alone read. */
export function envOfRecord(record: ExportRecord): string | null {
  if (record.type === 'audit_entry') return null;
  return record.type === 'event' || record.type === 'outcome' ? record.event.env : record.approval.env;
}

/** The refusal of a place that another store gave. */
export const foreignPlace = (): HubError =>
  refused(
    'invalid_cursor',
    'The cursor belongs to another store, which this data came from. Start again without a cursor.',
  );
