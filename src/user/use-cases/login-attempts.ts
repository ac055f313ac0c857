// Limits password attempts per client address and per e-mail (promise P51). The visible behaviour is the same for known
// and unknown e-mails. No attempt is delayed: it is checked or refused at once.

import { limits, type OwnLimits } from '../../admission/limit.ts';
import { HubError } from '../../shared/error.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { familiarMs, type User } from '../record.ts';

/** A browser that somebody signed in with. */
export interface Device {
  readonly id: string;
  /** The user of the latest sign-in with it. */
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
  readonly isKnown: boolean;
  /** To be called when the password was right. */
  succeeded(): Promise<void>;
  /** To be called when the password was not looked at. */
  untried(): Promise<void>;
}

/**
 * Counts the attempt and decides whether the password is looked at. After 20 failures in 15 minutes for one e-mail, a
 * user's or not, only familiar clients are tried: 20 attempts in 15 minutes each. Familiar are addresses that signed in
 * to the account within 30 days, and browsers with its device cookie.
 * @throws HubError rate_limited; bad_request when the address is unknown
 */
export async function admitAttempt(
  { store, secrets, clock }: Pick<AppPorts, 'store' | 'secrets' | 'clock'>,
  { email, network, device }: Attempt,
  counters: OwnLimits,
): Promise<Admitted> {
  if (network === '')
    throw new HubError('bad_request', 'The hub cannot determine the client address. Check TRUSTED_PROXIES.');
  await counters.count(limits.logins, { network });
  // Counted before the password is looked at, so that attempts at the same moment count each other; taken back when it
  // was right.
  const ofEmail = { emailHash: secrets.sha256(email) };
  const refusal = await counters.tryCount(limits.loginsOfEmail, ofEmail);
  const user = await store.tenants.getUserByEmail(email);
  // An unknown e-mail is looked up as well, so that the time reveals nothing.
  const since = clock.now() - familiarMs;
  const familiar = await store.logins.hasSignedInFrom(user?.id ?? '', network, since);
  const own = device !== null && device.userId === user?.id;
  if (refusal) {
    if (own) await counters.count(limits.loginsOfDevice, { deviceId: device.id });
    else if (!familiar) throw refusal;
  }
  const takeBack = async (): Promise<void> => {
    if (!refusal) await counters.takeBack(limits.loginsOfEmail, ofEmail);
  };
  return {
    user,
    isKnown: own || familiar,
    untried: takeBack,
    async succeeded() {
      await takeBack();
      if (user) await store.logins.signedInFrom(user.id, network, clock.now());
    },
  };
}
