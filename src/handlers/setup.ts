// The first start: first tenant and admin, by request or from the environment; signing keys that are missing.
import type { Request } from '../api/call.ts';
import { email as emailField, newPassword, type setupRoutes } from '../api/setup.ts';
import { HubError } from '../domain/error.ts';
import type { Handlers, Hub } from './hub.ts';
import { type Credentials, newSigningKey, newTenant } from './tenant.ts';

const taken = () => new HubError('conflict', 'Server is already set up.');

export const setup: Handlers<typeof setupRoutes> = {
  async setup(hub, { body }, _caller, request) {
    if (await hub.store.tenants.anyUser()) throw taken();
    await checkSetupToken(hub, body.setup_token, request);
    return inTurn(hub, async () => {
      // Asked again so that of many calls at once one hashes its password; between nodes the store's lock decides.
      if (await hub.store.tenants.anyUser()) throw taken();
      const { tenant, admin, key } = await newTenant(hub, body.tenant_name ?? 'Default', body);
      if ((await hub.store.tenants.bootstrap(tenant, admin, key)) === 'taken') throw taken();
      return { message: 'Admin created', user_id: admin.id, tenant_id: tenant.id };
    });
  },
};

const turns = new WeakMap<Hub, Promise<unknown>>();

/** Runs the task when those before it have ended. */
function inTurn<T>(hub: Hub, task: () => Promise<T>): Promise<T> {
  const turn = (turns.get(hub) ?? Promise.resolve()).then(task);
  turns.set(
    hub,
    turn.catch(() => {}),
  );
  return turn;
}

/** @throws HubError forbidden; rate_limited after too many wrong tokens from one address */
async function checkSetupToken(hub: Hub, fromBody: string | undefined, request: Request): Promise<void> {
  const { setupToken, loginAttempts, loginWindowMs } = hub.settings;
  if (setupToken === null) return;
  const given = fromBody ?? request.header('x-setup-token') ?? '';
  if (hub.secrets.equal(hub.secrets.sha256(given), hub.secrets.sha256(setupToken))) return;
  const answer = await hub.limits.hit(`setup:${request.address}`, loginAttempts, loginWindowMs);
  if (!answer.ok) {
    throw new HubError('rate_limited', 'Too many attempts. Please try again later.', {
      retryAfter: answer.retryAfter,
    });
  }
  throw new HubError(
    'forbidden',
    'Setup needs the value of SETUP_TOKEN, in the body field setup_token or the header X-Setup-Token.',
  );
}

/**
 * Creates the tenant `default` and its admin from ADMIN_EMAIL and ADMIN_PASSWORD, unless any user exists. Safe on every start and on
 * many nodes at once.
 * @returns `refused` (logged) when the e-mail is not one or the password is shorter than 12 characters
 */
export async function bootstrapFromEnvironment(
  hub: Hub,
  { email, password }: Credentials,
): Promise<'created' | 'taken' | 'refused'> {
  if (await hub.store.tenants.anyUser()) return 'taken';
  const address = emailField.safeParse(email);
  const secret = newPassword.safeParse(password);
  if (!address.success || !secret.success) {
    const what = address.success
      ? 'ADMIN_PASSWORD needs 12 to 1024 characters'
      : 'ADMIN_EMAIL is not an e-mail';
    hub.log.error({}, `No admin was created: ${what}.`);
    return 'refused';
  }
  const { tenant, admin, key } = await newTenant(hub, 'default', {
    email: address.data,
    password: secret.data,
  });
  return hub.store.tenants.bootstrap(tenant, admin, key);
}

/** Gives every tenant without an active signing key one; returns how many. Safe to repeat. */
export async function ensureSigningKeys(hub: Hub): Promise<number> {
  let made = 0;
  for (const tenantId of await hub.store.tenants.tenantIds()) {
    if (await hub.store.signing.active(tenantId)) continue;
    if ((await hub.store.signing.add(newSigningKey(hub, tenantId))) === 'created') made++;
  }
  return made;
}
