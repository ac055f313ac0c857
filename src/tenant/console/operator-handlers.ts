// Further tenants and users, made by the operator of the installation. The pipeline has checked the operator token.

import type { Handlers } from '../../http/contract/handler.ts';
import { iso } from '../../http/contract/render.ts';
import { adminRoles, memberRoles } from '../../shared/env-roles.ts';
import type { operatorRoutes } from './operator-routes.ts';

export const operator: Handlers<typeof operatorRoutes> = {
  async createTenant({ app }, { body }) {
    const { tenantId, userId } = await app.accounts.createTenant(body.name, body);
    return { tenant_id: tenantId, user_id: userId };
  },

  createUser: async ({ app }, { body }) => ({
    user_id: await app.accounts.createUser(body.tenant_id, body, body.is_admin ? adminRoles : memberRoles),
  }),

  async listDeadJobs({ app }, { query }) {
    const jobs = await app.deadJobs.list(query.queue, query.limit);
    return {
      jobs: jobs.map(({ id, failures, error, diedAt }) => ({ id, failures, error, died_at: iso(diedAt) })),
    };
  },

  async retryDeadJob({ app }, { body }) {
    await app.deadJobs.retry(body.queue, body.id);
    return { queue: body.queue, id: body.id };
  },

  async linkWorkspace({ app }, { params, body }) {
    const { tenant_id: tenantId } = params;
    const { issuer, workspace_id: workspaceId } = body;
    await app.accounts.linkWorkspace({ issuer, workspaceId }, tenantId);
    return { tenant_id: tenantId, issuer, workspace_id: workspaceId };
  },
};
