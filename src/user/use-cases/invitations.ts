// Invitations of new people, and links for forgotten passwords: the same thing. The token is in the link's fragment,
// which browsers send to nobody; the page hands it over.
import { HubError } from '../../shared/error.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { User } from '../record.ts';
import { inviteHash, inviteMs, inviteOf, inviteToken, inviteUrl, readInviteToken } from '../rules/invite.ts';

export interface Invitation {
  readonly url: string;
  readonly expiresAt: number;
  /** Value in the place of the user's password hash. */
  readonly passwordHash: string;
}

type Ports = Pick<AppPorts, 'secrets' | 'clock' | 'settings'>;

/** A new invitation of a user, not stored yet. */
export function newInvitation({ secrets, clock, settings }: Ports, userId: string): Invitation {
  const secret = secrets.token(32);
  const expiresAt = clock.now() + inviteMs;
  return {
    url: inviteUrl(settings.baseUrl, inviteToken(userId, secret)),
    expiresAt,
    passwordHash: inviteHash({ secretHash: secrets.sha256(secret), expiresAt }),
  };
}

/** One text for every reason: guesses learn nothing. */
export const unusable = (): HubError =>
  new HubError(
    'unauthenticated',
    'This invitation is not valid. It was used, replaced, or has expired after 7 days. Ask an admin for a new one.',
  );

/** The user whom a token invites; it counts until a password is set by it. @throws HubError unauthenticated */
export async function userOfInvite(
  { store, secrets, clock }: Pick<AppPorts, 'store' | 'secrets' | 'clock'>,
  token: string,
): Promise<User> {
  const read = readInviteToken(token);
  const user = read && (await store.tenants.getUser(read.userId));
  const invite = user && inviteOf(user);
  if (!read || !user || !invite || invite.expiresAt <= clock.now()) throw unusable();
  if (!secrets.equal(secrets.sha256(read.secret), invite.secretHash)) throw unusable();
  return user;
}
