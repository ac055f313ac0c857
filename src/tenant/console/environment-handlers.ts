// A tenant's environments in the console API's words.
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import type { EnvironmentView } from '../use-cases/environments.ts';
import type { environmentRoutes } from './environment-routes.ts';

const render = ({ env, isProtected, role, canChange }: EnvironmentView) => ({
  env,
  protected: isProtected,
  role,
  can_change: canChange,
});

export const environments: Handlers<typeof environmentRoutes> = {
  listEnvironments: async ({ app }, _input, caller) => ({
    tenant_id: caller.tenantId,
    environments: (await app.environments.list(principalOf(caller))).map(render),
  }),

  putEnvironmentPolicy: async ({ app }, { params, body }, caller) =>
    render(
      await app.environments.updatePolicy(principalOf(caller), params.env, { isProtected: body.protected }),
    ),
};
