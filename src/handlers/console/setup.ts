// The first start: first tenant and admin, by request or from the environment; signing keys that are missing.
import type { Request } from '../../api/call.ts';
import { email as emailField, newPassword, type setupRoutes } from '../../api/setup.ts';
import { enforceLimit } from '../../app/rate-limit.ts';
import { HubError } from '../../domain/error.ts';
import { limitNames } from '../../domain/limit-names.ts';
import type { KeyCheckStore } from '../../ports/key-check.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Handlers, Hub, SetupToken } from './hub.ts';
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

/**
 * Wrong tokens count, and after too many of them from one address a right one is refused, too.
 * @throws HubError forbidden, rate_limited
 */
async function checkSetupToken(hub: Hub, fromBody: string | undefined, request: Request): Promise<void> {
  const { setupToken, loginAttempts: max, loginWindowMs } = hub.settings;
  if (setupToken === null || (setupToken.made && request.local)) return;
  const given = fromBody ?? request.header('x-setup-token') ?? '';
  const right = hub.secrets.equal(hub.secrets.sha256(given), hub.secrets.sha256(setupToken.value));
  const name = limitNames.setup(request.network);
  // A right one only asks whether there is room for a wrong one.
  const counted = right ? { max: max - 1, cost: 0 } : { max };
  const message = 'Too many attempts. Please try again later.';
  await enforceLimit(hub.limits, { name, ...counted, windowMs: loginWindowMs, message });
  if (right) return;
  const which = setupToken.made ? 'the token that the hub printed at its start' : 'the value of SETUP_TOKEN';
  throw new HubError(
    'forbidden',
    `Setup needs ${which}, in the body field setup_token or the header X-Setup-Token.`,
  );
}

/**
 * The token that strangers must present to set up a hub that listens to them and has no SETUP_TOKEN. The first start makes it; every node, and
 * every start until the hub is set up, has the same.
 */
export async function printedSetupToken(
  keyCheck: Pick<KeyCheckStore, 'first'>,
  secrets: Pick<Secrets, 'token' | 'seal' | 'unseal'>,
): Promise<SetupToken> {
  const sealed = secrets.seal('setup-token', Buffer.from(secrets.token(18)));
  const kept = await keyCheck.first('setup-token', sealed);
  return { value: Buffer.from(secrets.unseal('setup-token', kept)).toString(), made: true };
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
