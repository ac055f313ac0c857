// The state that a browser carries while it is at the identity provider: sealed, so that nobody can read or forge it.
import type { SignInRequest } from '../../shared/ports/sign-in-provider.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';

/** Time that somebody may take at the identity provider, in milliseconds. */
export const stateMs = 10 * 60_000;

export interface SignInState extends SignInRequest {
  /** A path below /dashboard/. */
  readonly returnTo: string;
  /** The person who links an account; null: somebody signs in. */
  readonly linkTo: string | null;
  readonly expiresAt: number;
}

/** True for a path below /dashboard/ of this hub. */
export function isSoundReturn(path: string): boolean {
  if (path.length > 2048 || !/^\/dashboard\/[\x21-\x5b\x5d-\x7e]*$/.test(path)) return false;
  const url = new URL(path, 'http://hub.invalid');
  return url.host === 'hub.invalid' && url.pathname.startsWith('/dashboard/');
}

export const sealState = ({ secrets }: Pick<AppPorts, 'secrets'>, state: SignInState): string =>
  Buffer.from(secrets.seal('sign-in-state', Buffer.from(JSON.stringify(state))), 'base64').toString(
    'base64url',
  );

/** Null for what is not ours, or too old. */
export function readState(
  { secrets, clock }: Pick<AppPorts, 'secrets' | 'clock'>,
  sealed: string | null,
): SignInState | null {
  if (sealed === null || sealed.length > 8_192) return null;
  try {
    const text = Buffer.from(secrets.unseal('sign-in-state', sealed)).toString('utf8');
    const state = JSON.parse(text) as SignInState;
    return state.expiresAt > clock.now() ? state : null;
  } catch {
    return null;
  }
}
