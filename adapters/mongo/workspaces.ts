// Workspaces of identity providers in MongoDB: one document each, which the first insert makes and nothing changes.
import type { Collection } from 'mongodb';
import type { Workspace, WorkspaceStore } from '../../src/tenant/port/workspaces.ts';
import { unlessTaken } from './failure.ts';
import { listIdsOf } from './form.ts';

export interface WorkspaceRow {
  /** Issuer and workspace, as a JSON list. */
  readonly _id: string;
  readonly tenantId: string;
}

const idOf = ({ issuer, workspaceId }: Workspace): string => JSON.stringify([issuer, workspaceId]);

export function mongoWorkspaces(workspaces: Collection<WorkspaceRow>): WorkspaceStore {
  const tenantOf = async (workspace: Workspace): Promise<string | null> =>
    (await workspaces.findOne({ _id: idOf(workspace) }))?.tenantId ?? null;
  return {
    async create(workspace, tenantId) {
      if (await unlessTaken(workspaces.insertOne({ _id: idOf(workspace), tenantId }))) return 'created';
      return (await tenantOf(workspace)) === tenantId ? 'created' : 'taken';
    },
    getTenantId: tenantOf,
    async hasAny(issuer) {
      return (await workspaces.findOne({ _id: listIdsOf(issuer) }, { projection: { _id: 1 } })) !== null;
    },
  };
}
