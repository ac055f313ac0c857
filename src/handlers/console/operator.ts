// Further tenants and users, made by the operator of the installation. The pipeline has checked the operator token.
import type { operatorRoutes } from '../../api/operator.ts';
import { HubError, notFound } from '../../domain/error.ts';
import type { Handlers } from './hub.ts';

export const operator: Handlers<typeof operatorRoutes> = {
  async createTenant({ app }, { body }) {
    const { tenantId, userId } = await app.accounts.createTenant(body.name, body);
    return { tenant_id: tenantId, user_id: userId };
  },

  createUser: async ({ app }, { body }) => ({
    user_id: await app.accounts.createUser(body.tenant_id, body, body.is_admin),
  }),

  async linkWorkspace(hub, { params, body }) {
    const { tenant_id: tenantId } = params;
    if (!(await hub.store.tenants.tenantIds()).includes(tenantId)) throw notFound('Tenant not found.');
    const { issuer, workspace_id: workspaceId } = body;
    if ((await hub.store.workspaces.link({ issuer, workspaceId }, tenantId)) === 'taken') {
      throw new HubError('conflict', 'This workspace is another tenant already.');
    }
    return { tenant_id: tenantId, issuer, workspace_id: workspaceId };
  },
};
