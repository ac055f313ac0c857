// Store port of workspaces: the tenant of each identity provider's workspace. An operator of the installation sets it.

/** A workspace as an identity provider names it. */
export interface Workspace {
  readonly issuer: string;
  readonly workspaceId: string;
}

/** Tenants of workspaces. */
export interface WorkspaceStore {
  /**
   * `created` when the workspace is this tenant's now, or was before; `taken` when it is another's. Of parallel calls
   * one tenant gets it.
   */
  create(workspace: Workspace, tenantId: string): Promise<'created' | 'taken'>;
  /** The tenant of the workspace; null when nobody linked one. */
  getTenantId(workspace: Workspace): Promise<string | null>;
  /** True if a workspace of this issuer is linked. */
  hasAny(issuer: string): Promise<boolean>;
}
