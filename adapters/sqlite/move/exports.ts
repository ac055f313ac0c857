// The order of exports, as records of a move: links of the lines in the order of the one writer's commits, as
// exports.ts reads them. An item's id follows from its segment, its outcome or its approval.
import type { ApprovalChange, OrderedKind } from '../../../src/export/record.ts';
import type {
  ExportOrderKind,
  MovedExportItem,
  MovedRecords,
} from '../../../src/shared/ports/moved-records.ts';
import type { Database } from '../database.ts';
import { markOf } from '../events/search.ts';
import { eventId, segmentEventsOf } from '../events/segment.ts';
import { pages } from './pages.ts';
import type { Readers } from './people.ts';

type Link = MovedRecords['exportLinks'];

const itemsPerLink = 50;

const tenantsOf = (db: Database): readonly (readonly [tenantId: string, number: number])[] =>
  db
    .all('SELECT tenant_id, number FROM tenant_numbers ORDER BY number')
    .map(([id, n]) => [String(id), Number(n)]);

/** The places of a tenant's outcomes among those of their event, in the order of all. */
function* outcomesOf(db: Database, tenant: number) {
  const columns = `id, segment, position, ifnull(after_segment, (SELECT outcomes_after FROM store)),
    (SELECT count(*) FROM outcomes p WHERE p.segment = outcomes.segment AND p.position = outcomes.position
       AND p.id < outcomes.id)`;
  const where =
    'EXISTS (SELECT 1 FROM segments s WHERE s.id = outcomes.segment AND s.tenant = ? AND s.sample = 0)';
  const of = { table: 'outcomes', key: ['id'], columns, size: 500, where, params: [tenant] };
  for (const rows of pages(db, of))
    for (const [id, segment, position, after, index] of rows)
      yield {
        id: Number(id),
        segment: Number(segment),
        position: Number(position),
        after: Number(after),
        index: Number(index),
      };
}

function* eventItems(db: Database, tenant: number): Generator<MovedExportItem> {
  const mark = markOf(db);
  const outcomes = outcomesOf(db, tenant);
  let next = outcomes.next();
  function* outcomesUpTo(segment: number): Generator<MovedExportItem> {
    for (; !next.done && next.value.after <= segment; next = outcomes.next()) {
      const { id, segment: of, position, index } = next.value;
      yield { outcome: { id, eventId: eventId(mark, of, position), index } };
    }
  }
  const where = 'tenant = ? AND sample = 0';
  const of = { table: 'segments', key: ['id'], columns: 'id', size: 500, where, params: [tenant] };
  for (const rows of pages(db, of)) {
    for (const [id] of rows) {
      const segment = Number(id);
      yield* outcomesUpTo(segment - 1);
      const events = segmentEventsOf(db, segment).flatMap((event, position) =>
        event ? [eventId(mark, segment, position)] : [],
      );
      if (events.length > 0) yield { events };
    }
  }
  yield* outcomesUpTo(Number.MAX_SAFE_INTEGER);
}

function* approvalItems(db: Database, tenantId: string): Generator<MovedExportItem> {
  const of = { table: 'approval_lines', key: ['seq'], columns: 'id, change', size: 500 };
  for (const rows of pages(db, { ...of, where: 'tenant_id = ?', params: [tenantId] }))
    for (const [id, change] of rows) yield { approval: { id: String(id), change: change as ApprovalChange } };
}

function* linksOf(
  tenantId: string,
  kind: OrderedKind,
  items: Iterable<MovedExportItem>,
): Generator<readonly Link[]> {
  let seq = 0;
  let batch: MovedExportItem[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < itemsPerLink) continue;
    seq++;
    yield [{ tenantId, kind, seq, items: batch }];
    batch = [];
  }
  if (batch.length > 0) yield [{ tenantId, kind, seq: seq + 1, items: batch }];
}

export const exportReaders: Readers<ExportOrderKind> = {
  *exportLinks(db) {
    for (const [tenantId, tenant] of tenantsOf(db))
      yield* linksOf(tenantId, 'events', eventItems(db, tenant));
    const asking = db.all('SELECT DISTINCT tenant_id FROM approval_lines ORDER BY tenant_id');
    for (const [id] of asking) yield* linksOf(String(id), 'approvals', approvalItems(db, String(id)));
  },
  *exportRemovals(db) {
    const rows = db.all('SELECT tenant_id, kind, removed FROM export_removals');
    yield rows.map(([tenantId, kind, removed]) => ({
      tenantId: String(tenantId),
      kind: kind as OrderedKind,
      removed: Number(removed),
    }));
  },
};
