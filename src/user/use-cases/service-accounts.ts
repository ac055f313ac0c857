// Service accounts: programs with roles of their own, that call with tokens. Only the answer to a new token holds it.
import { noted, recorded } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { dayMs } from '../../shared/duration.ts';
import { type EnvRole, rolesText } from '../../shared/env-roles.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { maxServiceTokens } from '../port/service-accounts.ts';
import type { ServiceAccount, ServiceToken } from '../record.ts';

export type { ServiceAccount, ServiceToken };

export interface ListedServiceAccount extends ServiceAccount {
  /** Expiry of the first of its valid tokens; null: it has none. */
  readonly nextExpiryAt: number | null;
}

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'settings' | 'broadcast'>;

const absent = (): HubError => notFound('Service account not found.');
const taken = (): HubError =>
  new HubError('conflict', 'A service account with this name already exists. Use another name.');

export class ServiceAccounts {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** By name. @throws HubError forbidden */
  async list(principal: Principal, page: PageRequest): Promise<Page<ListedServiceAccount>> {
    const { store, clock } = this.#ports;
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const [{ items, more }, expiries] = await Promise.all([
      store.serviceAccounts.list(tenantId, page),
      store.serviceAccounts.getNextExpiries(tenantId, clock.now()),
    ]);
    const listed = items.map((account) => ({ ...account, nextExpiryAt: expiries.get(account.id) ?? null }));
    return { items: listed, more };
  }

  /** @throws HubError forbidden, conflict (the name is taken) */
  async create(
    principal: Principal,
    { name, roles }: { readonly name: string; readonly roles: readonly EnvRole[] },
  ): Promise<ServiceAccount> {
    requireRole(principal, 'admin');
    const { tenantId, actor } = principal;
    const id = this.#ports.secrets.uuid();
    const createdBy = actorName(actor);
    const account = { id, tenantId, name, roles, createdBy, createdAt: this.#ports.clock.now() };
    const outcome = await noted(this.#ports, principal, {
      action: 'service_account.created',
      subject: { id, name },
      summary: `The service account ${name} was created: ${rolesText(roles)}.`,
      details: { roles: rolesText(roles) },
    }).serviceAccounts.create(account);
    if (outcome === 'name_taken') throw taken();
    return account;
  }

  /** New roles hold at once, also for open streams. @throws HubError forbidden, not_found, conflict */
  async update(
    principal: Principal,
    id: string,
    patch: { readonly name?: string; readonly roles?: readonly EnvRole[] },
  ): Promise<ServiceAccount> {
    requireRole(principal, 'admin');
    const before = await this.#find(principal, id);
    const roles = patch.roles ?? before.roles;
    const updated = await noted(this.#ports, principal, {
      action: 'service_account.updated',
      subject: { id, name: patch.name ?? before.name },
      summary: `The service account ${before.name} was changed.`,
      details: {
        before: { name: before.name, roles: rolesText(before.roles) },
        after: { name: patch.name ?? before.name, roles: rolesText(roles) },
      },
    }).serviceAccounts.update(principal.tenantId, id, patch);
    if (updated === null) throw absent();
    if (updated === 'name_taken') throw taken();
    await this.#ports.broadcast.control({ kind: 'user_roles_changed', userId: id });
    return updated;
  }

  /** Its tokens are refused and its streams end within a second. @throws HubError forbidden, not_found */
  async remove(principal: Principal, id: string): Promise<void> {
    requireRole(principal, 'admin');
    const { name, roles } = await this.#find(principal, id);
    const noting = recorded(this.#ports, 'service_account', principal, 'deleted', id, {
      name,
      details: { before: { name, roles: rolesText(roles) } },
    });
    if (!(await noting.serviceAccounts.remove(principal.tenantId, id))) throw absent();
    await this.#ports.broadcast.control({ kind: 'user_logins_ended', userId: id });
  }

  /** Newest first. @throws HubError forbidden, not_found */
  async listTokens(principal: Principal, id: string): Promise<readonly ServiceToken[]> {
    requireRole(principal, 'admin');
    await this.#find(principal, id);
    return this.#ports.store.serviceAccounts.listTokens(principal.tenantId, id);
  }

  /** The record, and the token itself. @throws HubError forbidden, not_found, quota_exceeded */
  async createToken(
    principal: Principal,
    id: string,
    { label, days }: { readonly label: string; readonly days: number },
  ): Promise<{ readonly record: ServiceToken; readonly token: string }> {
    const { settings, secrets, clock } = this.#ports;
    requireRole(principal, 'admin');
    const { tenantId, actor } = principal;
    const { name } = await this.#find(principal, id);
    const token = `${settings.wire.tokenPrefix}${secrets.token(32)}`;
    const now = clock.now();
    const record: ServiceToken = {
      id: secrets.uuid(),
      tenantId,
      accountId: id,
      label,
      hash: secrets.sha256(token),
      createdBy: actorName(actor),
      createdAt: now,
      expiresAt: now + days * dayMs,
      lastUsedAt: null,
    };
    const outcome = await noted(this.#ports, principal, {
      action: 'service_account.token_created',
      subject: { id, name },
      summary: `A token of the service account ${name} was created.`,
      details: { tokenId: record.id, label, expiresAt: record.expiresAt },
    }).serviceAccounts.createToken(record);
    if (outcome === 'absent') throw absent();
    if (outcome === 'full') {
      throw new HubError(
        'quota_exceeded',
        `This service account has ${maxServiceTokens} tokens. Revoke those that are not used.`,
      );
    }
    return { record, token };
  }

  /** Refuses the token from now on, and ends its streams within a second. @throws HubError forbidden, not_found */
  async revokeToken(principal: Principal, id: string, tokenId: string): Promise<void> {
    requireRole(principal, 'admin');
    const { name } = await this.#find(principal, id);
    const revoked = await noted(this.#ports, principal, {
      action: 'service_account.token_revoked',
      subject: { id, name },
      summary: `A token of the service account ${name} was revoked.`,
      details: { tokenId },
    }).serviceAccounts.revokeToken(principal.tenantId, id, tokenId);
    if (!revoked) throw notFound('Token not found.');
    await this.#ports.broadcast.control({ kind: 'login_ended', tokenHash: revoked.hash });
  }

  async #find({ tenantId }: Principal, id: string): Promise<ServiceAccount> {
    const account = await this.#ports.store.serviceAccounts.get(tenantId, id);
    if (!account) throw absent();
    return account;
  }
}
