// Imports of tenant files in MongoDB. The tenant is a document with a time of removal in the future until it is opened.
import type { AnyBulkWriteOperation, Collection, Db, Document } from 'mongodb';
import { HubError } from '../../src/shared/error.ts';
import type { MovedRecords } from '../../src/shared/ports/moved-records.ts';
import type {
  ImportedPart,
  TenantFileStore,
  TenantImport,
  WrittenKind,
} from '../../src/tenant/port/files.ts';
import { takenAmong, unlessTaken } from './failure.ts';
import { fromRow, type Row, toRow } from './form.ts';
import { forms } from './move/all-forms.ts';
import type { Form } from './move/forms.ts';
import { type RunRow, runId, runRowOf } from './run-projection.ts';

type ImportRow = Row<TenantImport>;
type PartRow = ImportedPart & { readonly _id: string; readonly tenantId: string };

/** Documents of approvals with the changes that exports lack. */
function withLines(document: Document): Document {
  const { status } = document;
  const after = status === 'pending' ? [] : [status === 'timeout' ? 'expired' : 'decided'];
  const { unannouncedAt: _unannouncedAt, ...rest } = document;
  return { ...rest, unlined: ['requested', ...after] };
}

const partsOf = (id: string) => ({ _id: { $gte: `${id}/`, $lt: `${id}0` } });

const storedImport = async (imports: Collection<ImportRow>, id: string): Promise<TenantImport | null> => {
  const row = await imports.findOne({ _id: id });
  return row && fromRow<TenantImport>(row);
};

async function beginImport(
  imports: Collection<ImportRow>,
  tenants: Collection<Document>,
  request: TenantImport,
  now: number,
  expiresAt: number,
): Promise<TenantImport | 'taken' | 'other'> {
  const { id, tenantId, name, createdAt } = request;
  const isRemoving = async (): Promise<boolean> =>
    (await tenants.findOne({ _id: tenantId as never, removedAt: { $lte: now } })) !== null;
  const existing = await imports.findOne({ tenantId });
  if (existing) {
    const other = fromRow<TenantImport>(existing);
    // A node that died between the two inserts left no tenant.
    if (other.id !== id) {
      if (other.isOpened) return 'taken';
      await tenants.updateOne({ _id: tenantId as never }, { $min: { removedAt: now } });
      return 'other';
    }
    await unlessTaken(
      tenants.insertOne({
        _id: tenantId as never,
        name,
        createdAt,
        suspendedAt: null,
        removedAt: expiresAt,
      }),
    );
    return (await isRemoving()) ? 'other' : other;
  }
  if (await isRemoving()) return 'other';
  if (await tenants.findOne({ _id: tenantId as never })) return 'taken';
  if (!(await unlessTaken(imports.insertOne(toRow(request))))) return 'other';
  const tenant = { _id: tenantId as never, name, createdAt, suspendedAt: null, removedAt: expiresAt };
  return (await unlessTaken(tenants.insertOne(tenant))) ? request : 'other';
}

async function openTenant(
  imports: Collection<ImportRow>,
  parts: Collection<PartRow>,
  tenants: Collection<Document>,
  id: string,
  now: number,
): Promise<'created' | 'exists' | 'absent'> {
  const stored = await storedImport(imports, id);
  if (!stored) return 'absent';
  if (stored.isOpened) return 'exists';
  const { tenantId, suspendedAt } = stored;
  const { matchedCount } = await tenants.updateOne(
    // Null: a node that died after this write opened the tenant, but did not note it in the import.
    { _id: tenantId as never, $or: [{ removedAt: { $gt: now } }, { removedAt: null }] },
    { $set: { removedAt: null, suspendedAt } },
  );
  if (matchedCount === 0) return 'absent';
  await imports.updateOne({ _id: id }, { $set: { isOpened: true, sealedKey: '' } });
  await parts.deleteMany(partsOf(id));
  return 'created';
}

/** Marks runs as trimmed. A run without times is marked if it is there: none of its events was counted. */
async function markRuns(runs: Collection<RunRow>, records: readonly MovedRecords['runs'][]): Promise<void> {
  const $set = { trimmed: true as const };
  const writes = records.flatMap((run): AnyBulkWriteOperation<RunRow>[] => {
    const _id = runId(run.tenantId, run.agentId, run.sessionId);
    if (run.lastAt === undefined) return [{ updateOne: { filter: { _id }, update: { $set } } }];
    const { _id: _own, trimmed: _mark, ...row } = runRowOf(run);
    const { startedAt, lastAt, receivedAt, standing, env, ...names } = row;
    const update = { $set, $min: { startedAt }, $max: { lastAt, receivedAt }, $setOnInsert: names };
    // Also where a batch left its token, and has counted nothing yet.
    const uncounted = { _id, standing: { $exists: false } };
    return [
      { updateOne: { filter: { _id }, update, upsert: true } },
      { updateOne: { filter: uncounted, update: { $set: { standing, env } } } },
    ];
  });
  await runs.bulkWrite(writes);
}

export function mongoTenantFiles(db: Db): TenantFileStore {
  const imports = db.collection<ImportRow>('tenantImports');
  const parts = db.collection<PartRow>('tenantImportParts');
  const tenants: Collection<Document> = db.collection('tenants');
  const runs = db.collection<RunRow>('runs');

  return {
    begin: (request, now, expiresAt) => beginImport(imports, tenants, request, now, expiresAt),
    get: (id) => storedImport(imports, id),
    async write<K extends WrittenKind>(tenantId: string, kind: K, records: readonly MovedRecords[K][]) {
      if (records.length === 0) return;
      if (kind === 'runs') return markRuns(runs, records as readonly MovedRecords['runs'][]);
      const { collection, toDocument } = forms[kind] as Form<K>;
      const documents = records.map(toDocument).map((one) => (kind === 'approvals' ? withLines(one) : one));
      const target: Collection<Document> = db.collection(collection);
      const refused = await takenAmong(target.insertMany(documents, { ordered: false }));
      if (refused.length === 0) return;
      // An earlier try wrote these documents. No other tenant can have an id that is, or begins with, the tenant's id.
      const ids = refused.map((i) => documents[i]?._id);
      const own = { _id: { $in: ids.filter((id) => !String(id).includes(tenantId)) }, tenantId };
      const ours = ids.filter((id) => String(id).includes(tenantId));
      const stored =
        (await target.countDocuments(own)) +
        (await target.countDocuments({ _id: { $in: ours } } as Document));
      if (stored === new Set(ids).size) return;
      throw new HubError(
        'conflict',
        `Another tenant has an id, an e-mail address or another name of the file's ${kind}. Remove it there first.`,
      );
    },
    async createPart(id, tenantId, part) {
      const _id = `${id}/${String(part.number).padStart(9, '0')}`;
      await unlessTaken(parts.insertOne({ _id, tenantId, ...part }));
    },
    async listParts(id) {
      const rows = await parts.find(partsOf(id)).sort({ _id: 1 }).toArray();
      return rows.map(({ _id, tenantId: _tenantId, ...part }) => part);
    },
    open: (id, now) => openTenant(imports, parts, tenants, id, now),
  };
}
