// Lines of an export as CloudEvents 1.0 in JSON. `cursor` is an extension attribute.
import { iso } from '../../http/contract/render.ts';
import type { ExportLineType, ExportRecord } from '../record.ts';
import { dataOf, idOf, timeOf } from './native.ts';

const types: { readonly [T in ExportLineType]: string } = {
  event: 'reeve.event',
  outcome: 'reeve.event.outcome',
  approval_requested: 'reeve.approval.requested',
  approval_decided: 'reeve.approval.decided',
  approval_expired: 'reeve.approval.expired',
  audit_entry: 'reeve.audit.entry',
};

/** The agent that a record is about; an audit entry names its subject itself. */
function subjectOf(record: ExportRecord): string {
  if (record.type === 'audit_entry') return String(record.entry.subject_type);
  return record.type === 'event' || record.type === 'outcome'
    ? record.event.agentId
    : record.approval.agentId;
}

export const cloudEvent = (record: ExportRecord, cursor: string, tenantId: string) => ({
  specversion: '1.0',
  id: idOf(record),
  source: `urn:reeve:tenant:${tenantId}`,
  type: types[record.type],
  // An attribute may not be empty.
  ...(subjectOf(record) === '' ? {} : { subject: subjectOf(record) }),
  time: iso(timeOf(record)),
  datacontenttype: 'application/json',
  cursor,
  data: dataOf(record),
});
