// People in the console API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso, isoOrNull } from '../../http/contract/render.ts';
import { adminRoles, isAdmin, memberRoles } from '../../shared/env-roles.ts';
import type { User } from '../record.ts';
import { inviteOf } from '../rules/invite.ts';
import type { userRoutes } from './routes.ts';

const render = ({ id, email, roles, createdAt, passwordHash }: User) => ({
  user_id: id,
  email,
  is_admin: isAdmin(roles),
  roles: [...roles],
  created_at: iso(createdAt),
  invite_expires_at: isoOrNull(inviteOf({ passwordHash })?.expiresAt ?? null),
});

export const users: Handlers<typeof userRoutes> = {
  listUsers: async ({ app }, { query }, caller) =>
    listOf(await app.people.list(principalOf(caller), query), query, render),

  async addUser({ app }, { body }, caller) {
    const {
      email,
      password = null,
      is_admin: addsAdmin,
      roles = addsAdmin ? adminRoles : memberRoles,
    } = body;
    const { user, inviteUrl } = await app.people.create(principalOf(caller), { email, password, roles });
    return { ...render(user), ...(inviteUrl === null ? {} : { invite_url: inviteUrl }) };
  },

  async inviteUser({ app }, { params }, caller) {
    const { url, expiresAt } = await app.people.invite(principalOf(caller), params.user_id);
    return { invite_url: url, expires_at: iso(expiresAt) };
  },

  updateUser: async ({ app }, { params, body }, caller) =>
    render(
      await app.people.updateRoles(
        principalOf(caller),
        params.user_id,
        body.roles ?? (body.is_admin ? 'admin' : 'member'),
      ),
    ),

  async removeUser({ app }, { params }, caller) {
    await app.people.remove(principalOf(caller), params.user_id);
    return null;
  },

  async changePassword({ app }, { body }, caller, { limits }) {
    const { old_password: oldPassword, new_password: newPassword } = body;
    const change = { oldPassword, newPassword, tokenHash: caller.tokenHash };
    await app.people.updatePassword(principalOf(caller), change, limits);
    return { message: 'Password changed. All other logins have ended.' };
  },
};
