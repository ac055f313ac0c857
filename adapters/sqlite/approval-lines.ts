// Changes of approvals, numbered in the commits that make them, for exports.
import type { ApprovalChange } from '../../src/export/record.ts';
import type { Database } from './database.ts';
import { RemovedLines } from './events/removed-lines.ts';

/** Records the change in the same commit. */
export const noteApprovalLine = (
  db: Database,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
  change: ApprovalChange,
): number =>
  db.insert('INSERT INTO approval_lines (tenant_id, id, change) VALUES (?, ?, ?)', [tenantId, id, change]);

/** Removes an approval's lines. */
export function removeApprovalLines(db: Database, tenantId: string, id: string): void {
  const lines = new RemovedLines();
  for (const [seq] of db.all('SELECT seq FROM approval_lines WHERE tenant_id = ? AND id = ?', [tenantId, id]))
    lines.add(Number(seq));
  db.run('DELETE FROM approval_lines WHERE tenant_id = ? AND id = ?', [tenantId, id]);
  lines.write(db, tenantId, 'approvals');
}
