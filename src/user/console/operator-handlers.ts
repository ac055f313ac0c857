// Users, and links that sign them in, made by the operator of an installation. The pipeline has checked the token.

import type { Handlers } from '../../http/contract/handler.ts';
import { iso } from '../../http/contract/render.ts';
import { adminRoles, memberRoles } from '../../shared/env-roles.ts';
import type { operatorUserRoutes } from './operator-routes.ts';

export const operatorUsers: Handlers<typeof operatorUserRoutes> = {
  createUser: async ({ app }, { body }) => ({
    user_id: await app.accounts.createUser(body.tenant_id, body, body.is_admin ? adminRoles : memberRoles),
  }),

  async createLoginLink({ app }, { body }) {
    const { url, expiresAt } = await app.logins.createLink(body.email.toLowerCase());
    return { url, expires_at: iso(expiresAt) };
  },
};
