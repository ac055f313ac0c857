// The first admin from the settings, and the token that strangers must present where there is none.
import { isLoopback } from '../http/address.ts';
import type { KeyCheckStore } from '../shared/ports/key-check.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { Store } from '../shared/ports/store.ts';
import type { SetupToken } from '../shared/use-case-ports.ts';
import type { Accounts, Credentials } from '../tenant/use-cases/accounts.ts';
import { email as emailField, newPassword } from '../user/record/credentials.ts';
import type { Config } from './config.ts';

/**
 * Creates the tenant `default` and its admin from ADMIN_EMAIL and ADMIN_PASSWORD, unless any user exists. Safe on every
 * start and on many nodes at once.
 * @returns `refused` (logged) when the e-mail is not one or the password is shorter than 12 characters
 */
export async function bootstrapFromEnvironment(
  accounts: Pick<Accounts, 'setUpFromSettings'>,
  log: Log,
  { email, password }: Credentials,
): Promise<'created' | 'taken' | 'refused'> {
  const address = emailField.safeParse(email);
  const secret = newPassword.safeParse(password);
  if (address.success && secret.success) {
    return accounts.setUpFromSettings({ email: address.data, password: secret.data });
  }
  const what = address.success
    ? 'ADMIN_PASSWORD must have 12 to 1024 characters'
    : 'ADMIN_EMAIL must be an e-mail address';
  log.error({}, `No admin was created: ${what}. Correct the setting, then restart.`);
  return 'refused';
}

/**
 * The token that strangers must present to set up a hub that listens to them and has no SETUP_TOKEN. The first start
 * makes it; every node, and every start until the hub is set up, has the same.
 */
export async function printedSetupToken(
  keyCheck: Pick<KeyCheckStore, 'first'>,
  secrets: Pick<Secrets, 'token' | 'seal' | 'unseal'>,
): Promise<SetupToken> {
  const sealed = secrets.seal('setup-token', Buffer.from(secrets.token(18)));
  const kept = await keyCheck.first('setup-token', sealed);
  return { value: Buffer.from(secrets.unseal('setup-token', kept)).toString(), isGenerated: true };
}

/**
 * The token of the first set-up: SETUP_TOKEN, or one of the hub's own while it is not set up and listens to other
 * machines.
 */
export async function setupTokenOf(
  { setupToken, host }: Config,
  { tenants, keyCheck }: Store,
  secrets: Secrets,
): Promise<SetupToken | null> {
  if (setupToken !== null) return { value: setupToken, isGenerated: false };
  const onlyLocal = host === 'localhost' || isLoopback(host);
  return onlyLocal || (await tenants.anyUser()) ? null : printedSetupToken(keyCheck, secrets);
}
