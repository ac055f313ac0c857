// Tenants and the log level, changed by the operator of the installation. The pipeline has checked the operator token.

import { Streamed } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { iso } from '../../http/contract/render.ts';
import { HubError } from '../../shared/error.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { TenantPlace, TenantRecord, TenantView } from '../use-cases/tenants.ts';
import type { operatorRoutes } from './operator-routes.ts';

const stateOf = ({ suspendedAt, removedAt }: TenantRecord): 'active' | 'suspended' | 'removing' => {
  if (removedAt !== null) return 'removing';
  return suspendedAt === null ? 'active' : 'suspended';
};

const cursorScope = { tenantId: 'installation', list: 'tenants' } as const;

function placeOf(text: string): TenantPlace {
  const [createdAt, id = ''] = text.split(' ');
  return { createdAt: Number(createdAt), id };
}

const render = ({ tenant, agents, events, bytes }: TenantView) => ({
  id: tenant.id,
  name: tenant.name,
  created_at: iso(tenant.createdAt),
  state: stateOf(tenant),
  agents,
  events,
  bytes,
});

export const operator: Handlers<typeof operatorRoutes> = {
  async listTenants(hub, { query }) {
    const after = query.cursor === undefined ? null : placeOf(openCursor(hub, cursorScope, query.cursor));
    const { items, next } = await hub.app.tenants.list(query.limit, after);
    const cursor = next && sealCursor(hub, cursorScope, `${next.createdAt} ${next.id}`);
    return { tenants: items.map(render), next_cursor: cursor };
  },

  getTenant: async ({ app }, { params }) => render(await app.tenants.get(params.tenant_id)),

  updateTenant: async ({ app }, { params, body: { name, suspended } }) =>
    render(await app.tenants.update(params.tenant_id, omitUndefined({ name, isSuspended: suspended }))),

  async removeTenant({ app }, { params, query }) {
    await app.tenants.remove(params.tenant_id, query.name);
    return { id: params.tenant_id, state: 'removing' as const };
  },

  async exportTenant({ app }, { params }, _caller, request) {
    const encoded = request.header('x-file-passphrase') ?? '';
    const passphrase = Buffer.from(encoded, 'base64').toString();
    if (passphrase.length < 12) {
      throw new HubError(
        'bad_request',
        'The header X-File-Passphrase must be the base64 of a passphrase of 12 characters or more.',
      );
    }
    const { tenant_id: tenantId } = params;
    return new Streamed(await app.tenantExports.start(tenantId, passphrase), {
      headers: {
        'Content-Type': 'application/gzip',
        'Content-Disposition': `attachment; filename="tenant-${tenantId}.ndjson.gz"`,
      },
    });
  },

  async beginTenantImport({ app }, { body }) {
    const { id, tenantId, name } = await app.tenantImports.begin(
      Buffer.from(body.head, 'base64'),
      body.passphrase,
    );
    return { id, tenant_id: tenantId, name };
  },

  async putTenantImportPart({ app }, { params, body }) {
    await app.tenantImports.createPart(params.import_id, params.number, body);
    return null;
  },

  async commitTenantImport({ app }, { params }) {
    const { tenantId, name, records } = await app.tenantImports.commit(params.import_id);
    return { tenant_id: tenantId, name, records };
  },

  async createTenant({ app }, { body }) {
    const { tenantId, userId } = await app.accounts.createTenant(body.name, body);
    return { tenant_id: tenantId, user_id: userId };
  },

  async setLogLevel({ app }, { body: { level, minutes } }) {
    return { level, until: iso(await app.installation.updateLogLevel(level, minutes)) };
  },

  async linkWorkspace({ app }, { params, body }) {
    const { tenant_id: tenantId } = params;
    const { issuer, workspace_id: workspaceId } = body;
    await app.accounts.linkWorkspace({ issuer, workspaceId }, tenantId);
    return { tenant_id: tenantId, issuer, workspace_id: workspaceId };
  },
};
