// Routes of the operator of an installation: further tenants and users. Served only when OPERATOR_TOKEN is set.
import { z } from 'zod';
import { line, uuid } from './fields.ts';
import { routes } from './route.ts';
import { email, newPassword } from './setup.ts';

export const operatorRoutes = routes({
  createTenant: {
    method: 'POST',
    path: '/api/v1/operator/tenants',
    auth: ['operatorToken'],
    tag: 'operator',
    summary: 'Create a tenant with its first admin and its signing key',
    body: z.object({ name: line(255), email, password: newPassword }),
    status: 201,
    reply: z.object({ tenant_id: uuid, user_id: uuid }),
    errors: ['conflict', 'validation_failed', 'rate_limited'],
    limit: 'operator',
  },
  createUser: {
    method: 'POST',
    path: '/api/v1/operator/users',
    auth: ['operatorToken'],
    tag: 'operator',
    summary: 'Add a user to a tenant',
    body: z.object({ tenant_id: uuid, email, password: newPassword, is_admin: z.boolean().default(false) }),
    status: 201,
    reply: z.object({ user_id: uuid }),
    errors: ['not_found', 'conflict', 'validation_failed', 'rate_limited'],
    limit: 'operator',
  },
  linkWorkspace: {
    method: 'PUT',
    path: '/api/v1/operator/tenants/{tenant_id}/workspaces',
    auth: ['operatorToken'],
    tag: 'operator',
    summary: 'Say which tenant a workspace of an identity provider is; it cannot become another later',
    params: z.object({ tenant_id: uuid }),
    body: z.object({ issuer: line(2048), workspace_id: line(255) }),
    status: 200,
    reply: z.object({ tenant_id: uuid, issuer: z.string(), workspace_id: z.string() }),
    errors: ['not_found', 'conflict', 'validation_failed', 'rate_limited'],
    limit: 'operator',
  },
});
