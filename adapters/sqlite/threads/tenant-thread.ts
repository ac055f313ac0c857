// Entry of the thread that reads a tenant's records: a page for each message, with the kind of its records.
import { parentPort, workerData } from 'node:worker_threads';
import type { TenantFileKind } from '../../../src/tenant/rules/file-kinds.ts';
import { Database } from '../database.ts';
import { failureOf } from '../failure.ts';
import { narrowTo, tenantPages } from '../move/tenant-source.ts';

const { path, tenantId } = workerData as { readonly path: string; readonly tenantId: string };
const db = new Database(path);
let reading: { readonly kind: string; readonly pages: Iterator<readonly object[]> } | null = null;

function attempt(task: () => unknown): void {
  try {
    parentPort?.postMessage({ page: task() });
  } catch (error) {
    parentPort?.postMessage({ failure: failureOf(error) });
  }
}

attempt(() => narrowTo(db, tenantId));

parentPort?.on('message', (kind: TenantFileKind | null) => {
  if (kind === null) {
    db.close();
    parentPort?.close();
    return;
  }
  attempt(() => {
    if (reading?.kind !== kind) reading = { kind, pages: tenantPages(db, kind)[Symbol.iterator]() };
    const next = reading.pages.next();
    return next.done ? null : next.value;
  });
});
