// Signing in by a link that somebody made who can write to the hub's data folder. The token is in the link's fragment,
// which browsers send to nobody; the page hands it over.

import { isAdmin } from '../../shared/env-roles.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { LoginLink } from '../port/login-links.ts';
import type { User } from '../record.ts';

/** Life of a link, in milliseconds. */
export const loginLinkMs = 5 * 60_000;

export const loginLinkUrl = (baseUrl: string, token: string): string =>
  `${baseUrl.replace(/\/$/, '')}/dashboard/#login=${token}`;

const usersAtOnce = 1_000;

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'loginLinks'>;

/** The user whom a token signs in; a token counts once. @throws HubError unauthenticated, the same for every reason */
export async function userOfLink(ports: Ports, token: string): Promise<User> {
  const { secrets, clock, loginLinks, store } = ports;
  const link = (await loginLinks.take(secrets.sha256(token))) ?? (await sealedLink(ports, token));
  const user =
    link && link.expiresAt > clock.now()
      ? await (link.email === null ? firstAdmin(store) : store.tenants.getUserByEmail(link.email))
      : null;
  if (user) return user;
  throw new HubError(
    'unauthenticated',
    'This sign-in link is not valid. It was used, has expired after 5 minutes, or its user no longer exists. Create a new link.',
  );
}

async function firstAdmin({ tenants }: AppPorts['store']): Promise<User | null> {
  const [tenantId] = await tenants.listIds();
  if (tenantId === undefined) return null;
  const { items } = await tenants.listUsers(tenantId, { limit: usersAtOnce, offset: 0 });
  return items.find(({ roles }) => isAdmin(roles)) ?? null;
}

/** @throws HubError not_found */
export async function newSealedLink(
  { store, secrets, clock, settings }: Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'settings'>,
  email: string,
): Promise<{ readonly url: string; readonly expiresAt: number }> {
  if (!(await store.tenants.getUserByEmail(email))) throw notFound('User not found.');
  const expiresAt = clock.now() + loginLinkMs;
  const sealed = secrets.seal('login-link', Buffer.from(JSON.stringify({ email, expiresAt })));
  return {
    url: loginLinkUrl(settings.baseUrl, Buffer.from(sealed, 'base64').toString('base64url')),
    expiresAt,
  };
}

/** Content of a sealed link, for one caller once, also after a restart; null for a text that is none. */
async function sealedLink({ secrets, store, clock }: Ports, token: string): Promise<LoginLink | null> {
  // One link in several spellings is one link.
  const sealed = Buffer.from(token, 'base64').toString('base64');
  let link: LoginLink;
  try {
    link = JSON.parse(Buffer.from(secrets.unseal('login-link', sealed)).toString('utf8')) as LoginLink;
  } catch {
    return null;
  }
  const { email, expiresAt } = link;
  const now = clock.now();
  const user = email === null || expiresAt <= now ? null : await store.tenants.getUserByEmail(email);
  if (!user) return null;
  const use = { tenantId: user.tenantId, id: secrets.sha256(`loginLink:${sealed}`), bodyHash: '' };
  const claim = await store.idempotency.claim(use, secrets.uuid(), { now, runsUntil: expiresAt, expiresAt });
  return claim.kind === 'claimed' ? link : null;
}
