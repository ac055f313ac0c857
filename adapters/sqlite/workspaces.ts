// Workspaces of identity providers in SQLite.
import type { Workspace, WorkspaceStore } from '../../src/tenant/port/workspaces.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { table, text } from './table.ts';

export const workspaceTable = `
CREATE TABLE workspaces (
  issuer TEXT NOT NULL, workspace_id TEXT NOT NULL, tenant_id TEXT NOT NULL,
  PRIMARY KEY (issuer, workspace_id)) WITHOUT ROWID;
`;

export const workspaces = table<Workspace & { readonly tenantId: string }>('workspaces', {
  issuer: text('issuer'),
  workspaceId: text('workspace_id'),
  tenantId: text('tenant_id'),
});

export function workspaceStore(db: Database): Sync<WorkspaceStore> {
  const getTenantId = ({ issuer, workspaceId }: Workspace): string | null =>
    workspaces.maybe(
      db.get(`SELECT ${workspaces.columns} FROM workspaces WHERE issuer = ? AND workspace_id = ?`, [
        issuer,
        workspaceId,
      ]),
    )?.tenantId ?? null;
  return {
    create(workspace, tenantId) {
      db.run(`${workspaces.insert} ON CONFLICT DO NOTHING`, workspaces.values({ ...workspace, tenantId }));
      return getTenantId(workspace) === tenantId ? 'created' : 'taken';
    },
    getTenantId: getTenantId,
    hasAny: (issuer) => db.get('SELECT 1 FROM workspaces WHERE issuer = ? LIMIT 1', [issuer]) !== undefined,
  };
}
