// Further tenants and users, made by the operator of the installation. The pipeline has checked the operator token.
import type { operatorRoutes } from '../../api/operator.ts';
import { HubError, notFound } from '../../domain/error.ts';
import type { Handlers } from './hub.ts';
import { newTenant, newUser } from './tenant.ts';

const emailTaken = () => new HubError('conflict', 'A user with this e-mail exists already.');

export const operator: Handlers<typeof operatorRoutes> = {
  async createTenant(hub, { body }) {
    const { tenant, admin, key } = await newTenant(hub, body.name, body);
    if ((await hub.store.tenants.create(tenant, admin, key)) === 'email_taken') throw emailTaken();
    return { tenant_id: tenant.id, user_id: admin.id };
  },

  async createUser(hub, { body }) {
    const user = await newUser(hub, body.tenant_id, body, body.is_admin);
    const result = await hub.store.tenants.addUser(user);
    if (result === 'no_tenant') throw notFound('Tenant not found.');
    if (result === 'email_taken') throw emailTaken();
    return { user_id: user.id };
  },
};
