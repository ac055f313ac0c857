// Who may try a password: attempts are limited per client address and per e-mail. What anybody can see is the same for
// an e-mail that is known and one that is not. No attempt is held back in time: it is tried, or refused at once.
import { HubError } from '../domain/error.ts';
import { limitNames } from '../domain/limit-names.ts';
import { familiarMs, type User } from '../domain/tenant.ts';
import type { LimitAnswer } from '../ports/limits.ts';
import type { AppPorts } from './ports.ts';
import { requireRoom } from './rate-limit.ts';

/** Failures within the window from which on strangers are not tried. */
const maxFailures = 20;
const failuresMs = 15 * 60_000;

/** A browser that somebody signed in with. */
export interface Device {
  readonly id: string;
  /** Who signed in with it last. */
  readonly userId: string;
}

interface Attempt {
  /** Lower-cased. */
  readonly email: string;
  readonly network: string;
  readonly device: Device | null;
}

interface Admitted {
  /** Null when nobody has this e-mail. */
  readonly user: User | null;
  /** From a browser or a network of this account: need not wait behind strangers. */
  readonly known: boolean;
  /** To be called when the password was right. */
  succeeded(): Promise<void>;
  /** To be called when the password was not looked at. */
  untried(): Promise<void>;
}

/**
 * Counts the attempt and decides whether the password is looked at. After 20 failures in 15 minutes for one e-mail,
 * whether or not it is known, only addresses that signed in to it within 30 days and browsers with its device cookie
 * are tried: 20 attempts in 15 minutes each.
 * @throws HubError rate_limited; bad_request when the address is unknown
 */
export async function admitAttempt(
  {
    limits,
    settings,
    store,
    secrets,
    clock,
  }: Pick<AppPorts, 'limits' | 'settings' | 'store' | 'secrets' | 'clock'>,
  { email, network, device }: Attempt,
): Promise<Admitted> {
  if (network === '') throw new HubError('bad_request', 'The client address is unknown.');
  // Of an address every attempt counts, also one that succeeds.
  refuse(await limits.hit(limitNames.login(network), settings.loginAttempts, settings.loginWindowMs));
  // Counted before the password is looked at, so that attempts at the same moment count each other; taken back when it
  // was right.
  const ofEmail = limitNames.loginOfEmail(secrets.sha256(email));
  const counted = await limits.hit(ofEmail, maxFailures, failuresMs);
  const user = await store.tenants.userByEmail(email);
  // An unknown e-mail is looked up as well, so that the time does not tell.
  const since = clock.now() - familiarMs;
  const familiar = await store.logins.hasSignedInFrom(user?.id ?? '', network, since);
  const own = device !== null && device.userId === user?.id;
  if (!counted.ok) {
    if (own) refuse(await limits.hit(limitNames.loginOfDevice(device.id), maxFailures, failuresMs));
    else if (!familiar) refuse(counted);
  }
  const takeBack = async (): Promise<void> => {
    if (counted.ok) await limits.takeBack(ofEmail);
  };
  return {
    user,
    known: own || familiar,
    untried: takeBack,
    async succeeded() {
      await takeBack();
      if (user) await store.logins.signedInFrom(user.id, network, clock.now());
    },
  };
}

const refuse = (answer: LimitAnswer): void =>
  requireRoom(answer, 'Too many login attempts. Please try again later.');
