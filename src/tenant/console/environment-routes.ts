// Routes of a tenant's environments: which there are for the caller, and which are protected.
import { z } from 'zod';
import { env, uuid } from '../../http/contract/fields.ts';
import { routes, smallBody } from '../../http/contract/route.ts';
import { operatorRole } from '../../user/record/credentials.ts';

const environment = z.object({
  env,
  protected: z.boolean(),
  role: operatorRole,
  /** You may deploy there, and change assignments, rules and pins. */
  can_change: z.boolean(),
});

export const environmentRoutes = routes({
  listEnvironments: {
    method: 'GET',
    path: '/api/v1/environments',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'environments',
    summary: 'The environments in which you have a role, with your strongest role there',
    status: 200,
    reply: z.object({ tenant_id: uuid, environments: z.array(environment) }),
    errors: [],
  },
  putEnvironmentPolicy: {
    method: 'PUT',
    path: '/api/v1/environments/{env}/policy',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'environments',
    summary:
      'Protect an environment: deployments, assignments, rules and pins there need an admin, or an operator whose role names it',
    params: z.object({ env }),
    body: z.object({ protected: z.boolean() }),
    status: 200,
    reply: environment,
    audit: ['setting.protected', 'setting.unprotected'],
    errors: ['validation_failed'],
    bodyLimit: smallBody,
  },
});
