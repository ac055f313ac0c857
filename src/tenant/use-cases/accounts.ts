// Tenants and their first users: the set-up of a hub, tenants and users that the operator of the installation adds, and
// missing signing keys. people.ts manages a tenant's users.

import type { Admission } from '../../admission/admission.ts';
import { limits, type OwnLimits } from '../../admission/limit.ts';
import { noted } from '../../audit/note.ts';
import { contentId } from '../../event/rules/decision.ts';
import { adminRoles, type EnvRole, isAdmin, rolesText } from '../../shared/env-roles.ts';
import { HubError, notFound } from '../../shared/error.ts';
import { systemPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { SigningKey } from '../../signing/record.ts';
import type { User } from '../../user/record.ts';
import type { Workspace } from '../port/workspaces.ts';
import type { Tenant } from '../record.ts';

export interface Credentials {
  /** Lower-cased. */
  readonly email: string;
  readonly password: string;
}

export interface SetUp extends Credentials {
  readonly tenantName: string;
  /** The caller's set-up token; empty without one. */
  readonly token: string;
  /** The caller is on this machine, and no proxy stands between. */
  readonly local: boolean;
}

export interface Accounts {
  /** True if a user exists. The answer is cached once it is true. */
  isSetUp(): Promise<boolean>;
  /**
   * Makes the first tenant and its admin. Of many calls at once one succeeds.
   * @throws HubError conflict (set up already), forbidden (the set-up token is missing or wrong), rate_limited
   */
  setUp(request: SetUp, counters: OwnLimits): Promise<{ readonly userId: string; readonly tenantId: string }>;
  /** The same from the hub's own settings. Safe on every start and on many nodes at once. */
  setUpFromSettings(credentials: Credentials): Promise<'created' | 'taken'>;
  /** @throws HubError conflict (the e-mail is taken) */
  createTenant(
    name: string,
    admin: Credentials,
  ): Promise<{ readonly userId: string; readonly tenantId: string }>;
  /**
   * The tenant of an identity provider's workspace, made if nobody linked the workspace before: it has no people of its
   * own. Of calls at once one makes it. Safe to repeat.
   */
  provision(workspace: Workspace): Promise<string>;
  /** @throws HubError conflict (the e-mail is taken), not_found (no such tenant) */
  createUser(tenantId: string, credentials: Credentials, roles: readonly EnvRole[]): Promise<string>;
  /**
   * Says which tenant a workspace of an identity provider is. Safe to repeat.
   * @throws HubError not_found (no such tenant), conflict (the workspace is another tenant)
   */
  linkWorkspace(workspace: Workspace, tenantId: string): Promise<void>;
  /** Gives every tenant without an active signing key one; returns how many. Safe to repeat. */
  ensureSigningKeys(): Promise<number>;
}

const alreadySetUp = () => new HubError('conflict', 'Server is already set up.');
const emailTaken = () =>
  new HubError('conflict', 'A user with this e-mail address already exists. Use another address.');

/** Characters of a tenant's name that a workspace's id becomes. */
const maxName = 200;

type Ports = Pick<AppPorts, 'admission' | 'store' | 'secrets' | 'clock' | 'settings' | 'log' | 'meters'>;

class TenantAccounts implements Accounts {
  readonly #ports: Ports;
  readonly #admission: Admission;
  #complete = false;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#admission = ports.admission;
  }

  async isSetUp(): Promise<boolean> {
    this.#complete ||= await this.#ports.store.tenants.anyUser();
    return this.#complete;
  }

  async setUp(
    request: SetUp,
    counters: OwnLimits,
  ): Promise<{ readonly userId: string; readonly tenantId: string }> {
    if (await this.#ports.store.tenants.anyUser()) throw alreadySetUp();
    await this.#checkToken(request, counters);
    return this.#admission.run({}, 'setUps', async () => {
      // Asked again in turn; between nodes the store's lock decides.
      if (await this.#ports.store.tenants.anyUser()) throw alreadySetUp();
      const account = await this.#bootstrap(request.tenantName, request, 'setup');
      if (!account) throw alreadySetUp();
      return { userId: account.admin.id, tenantId: account.tenant.id };
    });
  }

  async setUpFromSettings(credentials: Credentials): Promise<'created' | 'taken'> {
    if (await this.#ports.store.tenants.anyUser()) return 'taken';
    return (await this.#bootstrap('default', credentials, 'settings')) ? 'created' : 'taken';
  }

  async createTenant(
    name: string,
    credentials: Credentials,
  ): Promise<{ readonly userId: string; readonly tenantId: string }> {
    const { tenant, admin, key } = await this.#newTenant(name, credentials);
    const outcome = await this.#noting(admin, 'operator').tenants.create(tenant, admin, key);
    if (outcome === 'email_taken') throw emailTaken();
    return { tenantId: tenant.id, userId: admin.id };
  }

  async provision(workspace: Workspace): Promise<string> {
    const { secrets, clock, store, log } = this.#ports;
    const { issuer, workspaceId } = workspace;
    // An id that follows from the workspace: two nodes that make it at once make the same one.
    const id = contentId(secrets.sha256(JSON.stringify(['workspace', issuer, workspaceId])));
    const tenant = { id, name: workspaceId.slice(0, maxName), createdAt: clock.now() };
    if ((await store.tenants.provision(tenant, this.#newSigningKey(id))) === 'created') {
      log.info({ tenantId: id, issuer, workspaceId }, 'created a tenant for an identity provider workspace');
    }
    await store.workspaces.create(workspace, id);
    // Somebody may have linked the workspace to another tenant in between.
    return (await store.workspaces.getTenantId(workspace)) ?? id;
  }

  async createUser(tenantId: string, credentials: Credentials, roles: readonly EnvRole[]): Promise<string> {
    const user = await this.#newUser(tenantId, credentials, roles);
    const outcome = await this.#noting(user, 'operator').tenants.createUser(user);
    if (outcome === 'no_tenant') throw notFound('Tenant not found.');
    if (outcome === 'email_taken') throw emailTaken();
    return user.id;
  }

  async linkWorkspace(workspace: Workspace, tenantId: string): Promise<void> {
    if (!(await this.#ports.store.tenants.listIds()).includes(tenantId)) throw notFound('Tenant not found.');
    const { issuer, workspaceId } = workspace;
    const noting = noted(this.#ports, systemPrincipal(tenantId, 'operator'), {
      action: 'setting.workspace_linked',
      subject: { id: workspaceId.slice(0, 128), name: workspaceId.slice(0, 128) },
      summary: 'A workspace of the identity provider was linked to this tenant.',
      details: { issuer: issuer.slice(0, 512) },
      onceFor: `${tenantId} ${issuer} ${workspaceId}`,
    });
    if ((await noting.workspaces.create(workspace, tenantId)) === 'taken') {
      throw new HubError(
        'conflict',
        'This workspace is already linked to another tenant. The link cannot be changed.',
      );
    }
  }

  async ensureSigningKeys(): Promise<number> {
    const { store } = this.#ports;
    let created = 0;
    for (const tenantId of await store.tenants.listIds()) {
      if (await store.signing.getActive(tenantId)) continue;
      if ((await store.signing.create(this.#newSigningKey(tenantId))) === 'created') created++;
    }
    return created;
  }

  /** A fresh active key; its seed is sealed. */
  #newSigningKey(tenantId: string): SigningKey {
    const { secrets, clock } = this.#ports;
    const { publicKey, seed } = secrets.newSigningKey();
    const sealedSeed = secrets.seal('signing-key', seed);
    return { id: secrets.uuid(), tenantId, publicKey, sealedSeed, active: true, createdAt: clock.now() };
  }

  /** Hashing the password takes a while. */
  async #newUser(
    tenantId: string,
    { email, password }: Credentials,
    roles: readonly EnvRole[],
  ): Promise<User> {
    const { secrets, clock } = this.#ports;
    const passwordHash = await secrets.hashPassword(password);
    return { id: secrets.uuid(), tenantId, email, passwordHash, roles, createdAt: clock.now() };
  }

  async #newTenant(
    name: string,
    credentials: Credentials,
  ): Promise<{ readonly tenant: Tenant; readonly admin: User; readonly key: SigningKey }> {
    const tenant = { id: this.#ports.secrets.uuid(), name, createdAt: this.#ports.clock.now() };
    const admin = await this.#newUser(tenant.id, credentials, adminRoles);
    return { tenant, admin, key: this.#newSigningKey(tenant.id) };
  }

  /** The stores for a write that makes a user. */
  #noting({ id, tenantId, email, roles }: User, by: string) {
    return noted(this.#ports, systemPrincipal(tenantId, by), {
      action: 'user.created',
      subject: { id, name: email },
      summary: `The ${isAdmin(roles) ? 'admin' : 'user'} ${email} was added.`,
      details: { roles: rolesText(roles) },
    });
  }

  /**
   * Wrong tokens count, and after too many of them from one address a right one is refused, too.
   * @throws HubError forbidden, rate_limited
   */
  async #checkToken({ token, local }: SetUp, counters: OwnLimits): Promise<void> {
    const { settings, secrets, meters } = this.#ports;
    const { setupToken } = settings;
    if (setupToken === null || (setupToken.isGenerated && local)) return;
    const right = secrets.equal(secrets.sha256(token), secrets.sha256(setupToken.value));
    // A right one only asks whether there is room for a wrong one.
    if (right) return counters.check(limits.setupTokens);
    meters.loginFailures.add(['setup_token']);
    await counters.count(limits.setupTokens);
    const which = setupToken.isGenerated
      ? 'the token that the hub printed at startup'
      : 'the value of SETUP_TOKEN';
    throw new HubError(
      'forbidden',
      `Setup needs ${which}, in the body field setup_token or the header X-Setup-Token.`,
    );
  }

  async #bootstrap(
    name: string,
    credentials: Credentials,
    by: string,
  ): Promise<{ readonly tenant: Tenant; readonly admin: User } | null> {
    const { tenant, admin, key } = await this.#newTenant(name, credentials);
    const outcome = await this.#noting(admin, by).tenants.bootstrap(tenant, admin, key);
    return outcome === 'taken' ? null : { tenant, admin };
  }
}

export const createAccounts = (ports: Ports): Accounts => new TenantAccounts(ports);
