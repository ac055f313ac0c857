// Service accounts in the console API's words.
import type { Handlers } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso, isoOrNull } from '../../http/contract/render.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { type ServiceAccount, serviceAccountRecord, serviceTokenRecord } from '../record.ts';
import type { serviceAccountRoutes } from './service-routes.ts';

const render = (account: ServiceAccount) => ({
  ...serviceAccountRecord.render('console', account),
  roles: [...account.roles],
});

export const serviceAccounts: Handlers<typeof serviceAccountRoutes> = {
  listServiceAccounts: async ({ app }, { query }, caller) =>
    listOf(await app.serviceAccounts.list(principalOf(caller), query), query, (account) => ({
      ...render(account),
      next_expiry_at: isoOrNull(account.nextExpiryAt),
    })),

  createServiceAccount: async ({ app }, { body }, caller) =>
    render(await app.serviceAccounts.create(principalOf(caller), body)),

  updateServiceAccount: async ({ app }, { params, body }, caller) =>
    render(
      await app.serviceAccounts.update(principalOf(caller), params.account_id, omitUndefined({ ...body })),
    ),

  async deleteServiceAccount({ app }, { params }, caller) {
    await app.serviceAccounts.remove(principalOf(caller), params.account_id);
    return null;
  },

  listServiceTokens: async ({ app }, { params }, caller) =>
    (await app.serviceAccounts.listTokens(principalOf(caller), params.account_id)).map((token) =>
      serviceTokenRecord.render('console', token),
    ),

  async createServiceToken({ app }, { params, body }, caller) {
    const request = { label: body.label, days: body.expires_in_days };
    const { record, token } = await app.serviceAccounts.createToken(
      principalOf(caller),
      params.account_id,
      request,
    );
    return { id: record.id, token, expires_at: iso(record.expiresAt) };
  },

  async revokeServiceToken({ app }, { params }, caller) {
    await app.serviceAccounts.revokeToken(principalOf(caller), params.account_id, params.token_id);
    return null;
  },
};
