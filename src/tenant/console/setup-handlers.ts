// The first start, in the console API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import type { setupRoutes } from './setup-routes.ts';

export const setup: Handlers<typeof setupRoutes> = {
  async setup({ app }, { body }, _caller, request) {
    const { userId, tenantId } = await app.accounts.setUp(
      {
        tenantName: body.tenant_name ?? 'Default',
        email: body.email,
        password: body.password,
        token: body.setup_token ?? request.header('x-setup-token') ?? '',
        local: request.local,
      },
      request.limits,
    );
    return { message: 'Admin created', user_id: userId, tenant_id: tenantId };
  },
};
