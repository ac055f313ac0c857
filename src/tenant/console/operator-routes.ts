// Routes of the operator of an installation: tenants and the log level. Served only when OPERATOR_TOKEN is set.
import { z } from 'zod';
import { instant, intQuery, line, pathId, uuid } from '../../http/contract/fields.ts';
import { operatorRoute } from '../../http/contract/operator-route.ts';
import { routes } from '../../http/contract/route.ts';
import { logLevels } from '../../shared/ports/log.ts';
import { email, newPassword } from '../../user/record/credentials.ts';
import { maxMemberBytes } from '../rules/file-kinds.ts';

export const logLevel = z.enum(logLevels);

export const tenant = z.object({
  id: uuid,
  name: z.string(),
  created_at: instant,
  state: z.enum(['active', 'suspended', 'removing']),
  /** Registered agents that live. */
  agents: z.number().int(),
  events: z.number().int(),
  /** Of the stored events. */
  bytes: z.number().int(),
});
const params = z.object({ tenant_id: pathId });

/** Characters of a passphrase. */
const passphrase = z.string().min(12).max(1024);

export const operatorRoutes = routes({
  listTenants: {
    ...operatorRoute,
    method: 'GET',
    path: '/api/v1/operator/tenants',
    summary: 'Tenants and what they hold, oldest first',
    query: z.object({ limit: intQuery(1, 200).default(50), cursor: z.string().max(500).optional() }),
    status: 200,
    reply: z.object({ tenants: z.array(tenant), next_cursor: z.string().nullable() }),
    errors: ['bad_request', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  getTenant: {
    ...operatorRoute,
    method: 'GET',
    path: '/api/v1/operator/tenants/{tenant_id}',
    summary: 'A tenant and what it holds',
    params,
    status: 200,
    reply: tenant,
    errors: ['not_found', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  updateTenant: {
    ...operatorRoute,
    method: 'PATCH',
    path: '/api/v1/operator/tenants/{tenant_id}',
    summary: 'Rename a tenant, suspend it, or resume it',
    params,
    body: z.object({ name: line(255).optional(), suspended: z.boolean().optional() }),
    status: 200,
    reply: tenant,
    audit: ['tenant.renamed', 'tenant.suspended', 'tenant.resumed'],
    errors: ['not_found', 'conflict', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  removeTenant: {
    ...operatorRoute,
    method: 'DELETE',
    path: '/api/v1/operator/tenants/{tenant_id}',
    summary: 'Remove a tenant with everything that it holds; name must be its name',
    params,
    query: z.object({ name: line(255) }),
    status: 202,
    reply: z.object({ id: uuid, state: z.literal('removing') }),
    audit: 'The audit chain goes with the tenant; the log has a line.',
    errors: ['not_found', 'unprocessable', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  exportTenant: {
    ...operatorRoute,
    method: 'GET',
    path: '/api/v1/operator/tenants/{tenant_id}/export',
    summary:
      'A tenant as a file of gzip; its secrets are sealed by the passphrase in the header X-File-Passphrase (base64 of UTF-8)',
    params,
    status: 200,
    media: 'application/gzip',
    download: true,
    reply: z.string(),
    errors: ['bad_request', 'not_found', 'conflict', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  beginTenantImport: {
    ...operatorRoute,
    method: 'POST',
    path: '/api/v1/operator/tenants/import',
    summary: 'Begin to import a tenant from the first part of its file; a repeat goes on with the import',
    body: z.object({
      passphrase,
      /** The first part of the file, base64. */
      head: z.string().max(64 * 1024),
    }),
    status: 202,
    reply: z.object({ id: uuid, tenant_id: uuid, name: z.string() }),
    audit: 'The commit is recorded.',
    errors: ['conflict', 'unprocessable', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  putTenantImportPart: {
    ...operatorRoute,
    method: 'PUT',
    path: '/api/v1/operator/tenants/import/{import_id}/{number}',
    summary: 'Store a part of the file, from 1; safe to repeat. Nothing can be seen before the commit',
    params: z.object({ import_id: pathId, number: intQuery(1, 1_000_000) }),
    parse: 'bytes',
    bodyMedia: 'application/gzip',
    bodyLimit: maxMemberBytes,
    status: 204,
    audit: 'The commit is recorded.',
    errors: [
      'not_found',
      'conflict',
      'payload_too_large',
      'unsupported_media_type',
      'unprocessable',
      'validation_failed',
      'rate_limited',
      'overloaded',
      'disk_full',
      'unavailable',
    ],
  },
  commitTenantImport: {
    ...operatorRoute,
    method: 'POST',
    path: '/api/v1/operator/tenants/import/{import_id}/commit',
    summary: 'Check that the file is whole, and open the tenant to callers; safe to repeat',
    params: z.object({ import_id: pathId }),
    status: 200,
    reply: z.object({
      tenant_id: uuid,
      name: z.string(),
      /** Records by kind; null for an import that was committed before. */
      records: z.record(z.string(), z.number().int()).nullable(),
    }),
    audit: ['tenant.imported'],
    errors: ['not_found', 'conflict', 'unprocessable', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  createTenant: {
    method: 'POST',
    path: '/api/v1/operator/tenants',
    auth: ['operatorToken'],
    role: 'installation',
    envs: 'none',
    tag: 'operator',
    summary: 'Create a tenant with its first admin and its signing key',
    body: z.object({ name: line(255), email, password: newPassword }),
    status: 201,
    reply: z.object({ tenant_id: uuid, user_id: uuid }),
    audit: ['user.created'],
    errors: ['conflict', 'validation_failed', 'rate_limited'],
    limit: 'operator',
  },
  setLogLevel: {
    ...operatorRoute,
    method: 'PUT',
    path: '/api/v1/operator/log-level',
    audit: 'It belongs to the installation and to no tenant; the log has a line.',
    summary: 'Sets the log level of all nodes for some minutes; then that of their settings is back',
    body: z.object({ level: logLevel, minutes: z.number().int().min(1).max(60) }),
    status: 200,
    reply: z.object({ level: logLevel, until: instant }),
    errors: ['unavailable'],
  },
  linkWorkspace: {
    method: 'PUT',
    path: '/api/v1/operator/tenants/{tenant_id}/workspaces',
    auth: ['operatorToken'],
    role: 'installation',
    envs: 'none',
    tag: 'operator',
    summary: "Link an identity provider's workspace to a tenant; the link is permanent",
    params: z.object({ tenant_id: pathId }),
    body: z.object({ issuer: line(2048), workspace_id: line(255) }),
    status: 200,
    reply: z.object({ tenant_id: uuid, issuer: z.string(), workspace_id: z.string() }),
    audit: ['setting.workspace_linked'],
    errors: ['not_found', 'conflict', 'validation_failed', 'rate_limited'],
    limit: 'operator',
  },
});
