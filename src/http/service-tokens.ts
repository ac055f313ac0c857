// Tokens of service accounts on the request path: a short cache, and the time of the last use. Keeps promise P63.
import { BoundedMap } from '../shared/concurrency/bounded-map.ts';
import { HubError } from '../shared/error.ts';
import type { Control } from '../shared/frame.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { ServiceAccountStore } from '../user/port/service-accounts.ts';
import type { ServiceAccount, ServiceToken } from '../user/record.ts';
import { bearer, type Headers, maxCredential } from './credentials.ts';

/** A token that was looked up is taken so long without another look: a revocation holds within a second. */
const cacheMs = 500;
const cacheSize = 10_000;
const usedEveryMs = 60_000;
/** Reads of a token in a row, while other logins end all the time. */
const maxReads = 5;

/** Messages after which a token of a service account may have ended, or have other roles. */
const endings: ReadonlySet<Control['kind']> = new Set([
  'missed',
  'interruption',
  'login_ended',
  'user_logins_ended',
  'user_roles_changed',
]);

export interface Served {
  readonly account: ServiceAccount;
  readonly token: ServiceToken;
}

export interface ServiceTokens {
  /** True when the request carries something that looks like such a token. */
  presented(headers: Headers): boolean;
  /** @throws HubError unauthenticated, the same for every reason */
  find(headers: Headers): Promise<Served>;
  /** The good token with this hash; null: none. @throws HubError unavailable */
  byHash(hash: string): Promise<Served | null>;
  /** Looks every token up again after a message by which one may have ended. */
  control(message: Control): void;
}

/** Null for what cannot be such a token. */
function textOf(headers: Headers, prefix: string): string | null {
  const text = bearer(headers.get('authorization') ?? '');
  return text?.startsWith(prefix) && text.length > prefix.length && text.length <= maxCredential
    ? text
    : null;
}

export function createServiceTokens(ports: {
  readonly store: Pick<ServiceAccountStore, 'getByHash' | 'used'>;
  readonly secrets: Pick<Secrets, 'sha256'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly prefix: string;
}): ServiceTokens {
  const { store, secrets, clock, log, prefix } = ports;
  const recent = new BoundedMap<Served>(cacheSize);
  /** Counts the endings. */
  let generation = 0;
  const noted = new BoundedMap<true>(cacheSize);

  async function byHash(hash: string): Promise<Served | null> {
    let served = recent.get(hash, clock.now()) ?? null;
    for (let left = maxReads; served === null && left > 0; left--) {
      const readOf = generation;
      const stored = await store.getByHash(hash);
      if (!stored) return null;
      // The token may have ended after it was read.
      if (readOf !== generation && left > 1) continue;
      served = stored;
      if (readOf === generation) recent.set(hash, stored, clock.now() + cacheMs);
    }
    return served && served.token.expiresAt > clock.now() ? served : null;
  }

  function noteUse({ token }: Served): void {
    const now = clock.now();
    if (noted.get(token.id, now)) return;
    noted.set(token.id, true, now + usedEveryMs);
    store.used(token.id, now).catch((err: unknown) => log.debug({ err }, 'cannot record the use of a token'));
  }

  return {
    presented: (headers) => textOf(headers, prefix) !== null,
    byHash,
    control({ kind }) {
      if (!endings.has(kind)) return;
      generation++;
      recent.clear();
    },
    async find(headers) {
      const text = textOf(headers, prefix);
      const served = text === null ? null : await byHash(secrets.sha256(text));
      if (!served) {
        throw new HubError(
          'unauthenticated',
          'The token of the service account is not valid: it was revoked, has expired, or its account is gone.',
        );
      }
      noteUse(served);
      return served;
    },
  };
}
