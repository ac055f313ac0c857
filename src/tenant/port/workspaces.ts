// Store port of workspaces: which tenant an identity provider's workspace is. An operator of the installation says so.

/** A workspace as an identity provider names it. */
export interface Workspace {
  readonly issuer: string;
  readonly workspaceId: string;
}

/** Which tenant a workspace belongs to. */
export interface WorkspaceStore {
  /**
   * `created` when the workspace is this tenant's now, or was before; `taken` when it is another's. Of parallel calls
   * one tenant gets it.
   */
  link(workspace: Workspace, tenantId: string): Promise<'created' | 'taken'>;
  /** The tenant that it is; null when nobody said so. */
  tenantOf(workspace: Workspace): Promise<string | null>;
}
