// Exports from MongoDB: the links of a kind in the order of their numbers (export-log.ts), with what they name.
import type { Collection } from 'mongodb';
import type { ExportPage, ExportStore } from '../../src/export/port.ts';
import { asRequested, type ExportLine, type ExportRecord, foreignPlace } from '../../src/export/record.ts';
import { maxPageBytes } from '../../src/shared/ports/page.ts';
import { type ApprovalRow, approvalOf } from './approval-rows.ts';
import { type EventRow, toEvent } from './event-filter.ts';
import { type ExportLinkRow, entriesOf } from './export-log.ts';
import type { ExportRemovals } from './export-removals.ts';

/** Links that one query reads. */
const linksAtOnce = 20;
/** Records that one query reads. */
const recordsAtOnce = 200;

export interface ExportReading {
  readonly links: Collection<ExportLinkRow>;
  readonly events: Collection<EventRow>;
  readonly approvals: Collection<ApprovalRow>;
  readonly removals: ExportRemovals;
}

/** The line that comes next: a link, and the index of the line in it. */
interface Place {
  readonly seq: number;
  readonly index: number;
}

function placeIn(text: string | null): Place {
  if (text === null) return { seq: 1, index: 0 };
  // Cursors of an embedded store stay sealed with the same secret after a move.
  if (!/^\d+\.\d+$/.test(text)) throw foreignPlace();
  const [seq = 1, index = 0] = text.split('.').map(Number);
  return { seq, index };
}

const placeText = ({ seq, index }: Place): string => `${seq}.${index}`;

/** A line of a link, without the record that it names. */
interface Slot {
  /** Of an event: its id, with `#n` for an outcome. Of an approval: its id and the change. */
  readonly name: string;
  /** Behind it. */
  readonly next: Place;
}

function slotsOf({ seq, items }: ExportLinkRow, from: number): readonly Slot[] {
  const names = items.flatMap((item) => (item.approval ? [item.id] : entriesOf(item)));
  return names.slice(from).map((name, i) => {
    const index = from + i + 1;
    return { name, next: index === names.length ? { seq: seq + 1, index: 0 } : { seq, index } };
  });
}

/** The records that slots name, by name; those that are gone are missing. */
async function eventRecords(
  events: ExportReading['events'],
  tenantId: string,
  names: readonly string[],
): Promise<Map<string, ExportRecord>> {
  const ids = [...new Set(names.map((name) => name.split('#')[0] ?? ''))];
  const rows = await events.find({ _id: { $in: ids }, tenantId, sample: { $ne: true } }).toArray();
  const stored = new Map(rows.map((row) => [row._id, toEvent(row)]));
  const records = new Map<string, ExportRecord>();
  for (const name of names) {
    const [id = '', index] = name.split('#');
    const whole = stored.get(id);
    if (!whole) continue;
    const event = { ...whole, outcomes: [] };
    if (index === undefined) records.set(name, { type: 'event', event });
    const outcome = whole.outcomes[Number(index)];
    if (outcome) records.set(name, { type: 'outcome', event, outcome });
  }
  return records;
}

async function approvalRecords(
  approvals: ExportReading['approvals'],
  tenantId: string,
  names: readonly string[],
): Promise<Map<string, ExportRecord>> {
  const idOf = (name: string): string => name.slice(0, name.lastIndexOf('/'));
  const ids = [...new Set(names.map(idOf))];
  const rows = await approvals.find({ _id: { $in: ids }, tenantId }).toArray();
  const stored = new Map(rows.map((row) => [row._id, approvalOf(row)]));
  const records = new Map<string, ExportRecord>();
  for (const name of names) {
    const approval = stored.get(idOf(name));
    const change = name.slice(name.lastIndexOf('/') + 1);
    if (!approval) continue;
    if (change === 'requested')
      records.set(name, { type: 'approval_requested', approval: asRequested(approval) });
    if (change === 'decided') records.set(name, { type: 'approval_decided', approval });
    if (change === 'expired') records.set(name, { type: 'approval_expired', approval });
  }
  return records;
}

export function mongoExports({ links, events, approvals, removals }: ExportReading): ExportStore {
  return {
    async list(tenantId, kind, after, limit): Promise<ExportPage> {
      const from = placeIn(after);
      const lines: ExportLine[] = [];
      let place = from;
      let bytes = 0;
      const rows = await links
        .find({ tenantId, kind, seq: { $gte: from.seq } }, { sort: { seq: 1 }, limit: linksAtOnce })
        .toArray();
      const slots = rows.flatMap((row) => slotsOf(row, row.seq === from.seq ? from.index : 0));
      const isFull = () => lines.length >= limit || bytes >= maxPageBytes;
      let read = 0;
      while (read < slots.length && !isFull()) {
        const some = slots.slice(read, read + Math.min(recordsAtOnce, limit));
        const names = some.map(({ name }) => name);
        const records = await (kind === 'events'
          ? eventRecords(events, tenantId, names)
          : approvalRecords(approvals, tenantId, names));
        for (const { name, next } of some) {
          if (isFull()) break;
          read++;
          place = next;
          const record = records.get(name);
          if (!record) continue;
          lines.push({ ...record, place: placeText(place) });
          bytes += sizeOf(record);
        }
      }
      const { removed, lastSeq } = await removals.of(tenantId, kind);
      return {
        lines,
        end: rows.length === 0 ? after : placeText(place),
        hasMore: read < slots.length || rows.length === linksAtOnce,
        removed,
        isTrimmed: after !== null && lastSeq >= from.seq,
      };
    },
  };
}

/** Characters of what may be large. */
const sizeOf = (record: ExportRecord): number => {
  if (record.type === 'audit_entry') return 0;
  if (record.type === 'event') return 300 + JSON.stringify(record.event.payload ?? null).length;
  return record.type === 'outcome' ? 1_000 : 1_000 + record.approval.argsBytes;
};
