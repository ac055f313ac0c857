// Invitations. An invitation stands in the place of the password's hash until somebody uses it. So an invitation sets a
// password once, and a newer invitation ends it. Pure.
import { dayMs } from '../../shared/duration.ts';

/** Life of a link, in milliseconds. */
export const inviteMs = 7 * dayMs;

export interface Invite {
  /** SHA-256 of the secret in the link, 64 hex characters. */
  readonly secretHash: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** How the value of an invitation begins, in the place of a password's hash. */
export const invitePrefix = 'invite$';

/** The value of an invitation. */
export const inviteForm = /^invite\$([0-9a-f]{64})\$(\d{1,16})$/;

/** Value in the place of a password's hash. No password fits. */
export const inviteHash = ({ secretHash, expiresAt }: Invite): string =>
  `${invitePrefix}${secretHash}$${expiresAt}`;

/** The invitation of a user; null when the user has a password. */
export function inviteOf({ passwordHash }: { readonly passwordHash: string }): Invite | null {
  const [, secretHash, expiresAt] = inviteForm.exec(passwordHash) ?? [];
  return secretHash === undefined ? null : { secretHash, expiresAt: Number(expiresAt) };
}

/** The link's text: user and secret, 256 bits of it. */
export const inviteToken = (userId: string, secret: string): string =>
  `${userId.replaceAll('-', '')}${secret}`;

/** Null for what is no token of an invitation. */
export function readInviteToken(token: string): { readonly userId: string; readonly secret: string } | null {
  const [, a, b, c, d, e, secret] =
    /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})([\w-]{43})$/.exec(token) ?? [];
  return secret === undefined ? null : { userId: [a, b, c, d, e].join('-'), secret };
}

export const inviteUrl = (baseUrl: string, token: string): string =>
  `${baseUrl.replace(/\/$/, '')}/dashboard/#invite=${token}`;
