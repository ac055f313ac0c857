// API keys on the request path: hash, bounded cache, last use. Makes and revokes none.

import { type ApiKey, isExpired } from '../key/record.ts';
import { BoundedMap } from '../shared/concurrency/bounded-map.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { KeyStore } from '../tenant/port/identity.ts';

const knownMs = 60_000;
const unknownMs = 5_000;
const flushMs = 5_000;
const cacheSize = 20_000;
const maxUses = 50_000;

export interface KeyRing {
  /** The key, when it exists and is not revoked; it may have expired. */
  find(key: string): Promise<ApiKey | null>;
  /** The same from memory: one hash and one map look-up. Null: `find` may know it. */
  remembered(key: string): ApiKey | null;
  /** True if a missing key was revoked; false also if that is no longer known. */
  wasRevoked(key: string): boolean;
  /** A revocation became known: forget the key, and whatever is being read about it. */
  revoked(keyHash: string): void;
  /** Revocations may have been missed: forgets every key. */
  forget(): void;
  /** Writes the uses gathered so far; on failure they are kept for the next time. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Keys by hash: cached for a minute (5 s when unknown), at most 20,000; uses are written every 5 s. */
export function createKeyRing(ports: {
  readonly keys: Pick<KeyStore, 'byHash' | 'used'>;
  readonly secrets: Pick<Secrets, 'sha256' | 'equal'>;
  readonly clock: Clock;
  readonly log: Log;
}): KeyRing {
  const { keys, secrets, clock, log } = ports;
  const cache = new BoundedMap<ApiKey>(cacheSize);
  /** With whether they were revoked. */
  const unknown = new BoundedMap<boolean>(cacheSize);
  /** Requests side by side share one reading: a whole fleet may come back with one key at once. */
  const reading = new Map<string, Promise<ApiKey | null>>();
  let uses = new Map<string, number>();
  let revocations = 0;

  /** Reads again when a revocation came in meanwhile: the answer may be older than it. */
  async function read(hash: string): Promise<ApiKey | null> {
    for (;;) {
      const before = revocations;
      const key = await keys.byHash(hash);
      if (before !== revocations) continue;
      if (key && key.revokedAt === null && secrets.equal(key.hash, hash)) {
        cache.set(hash, key, clock.now() + knownMs);
        return key;
      }
      unknown.set(hash, key !== null && key.revokedAt !== null, clock.now() + unknownMs);
      return null;
    }
  }

  async function flush(): Promise<void> {
    if (uses.size === 0) return;
    const batch = uses;
    uses = new Map();
    try {
      await keys.used([...batch].map(([id, at]) => ({ id, at })));
    } catch (error) {
      for (const [id, at] of batch) use(id, Math.max(at, uses.get(id) ?? 0));
      log.warn(
        { err: error, keys: batch.size },
        'cannot store the last use of API keys; the next attempt includes them',
      );
    }
  }

  function use(id: string, at: number): void {
    if (uses.size < maxUses || uses.has(id)) uses.set(id, at);
  }

  const timer = clock.every(flushMs, () => void flush());

  function used(key: ApiKey, now: number): ApiKey {
    if (!isExpired(key, now)) use(key.id, now);
    return key;
  }

  return {
    async find(text) {
      const hash = secrets.sha256(text);
      const now = clock.now();
      const key = cache.get(hash, now);
      if (key) return used(key, now);
      if (unknown.get(hash, now) !== undefined) return null;
      let promise = reading.get(hash);
      if (!promise) {
        promise = read(hash).finally(() => reading.delete(hash));
        reading.set(hash, promise);
      }
      const stored = await promise;
      return stored && used(stored, now);
    },
    remembered(text) {
      const now = clock.now();
      const key = cache.get(secrets.sha256(text), now);
      return key ? used(key, now) : null;
    },
    wasRevoked: (text) => unknown.get(secrets.sha256(text), clock.now()) === true,
    revoked(keyHash) {
      revocations++;
      cache.delete(keyHash);
    },
    forget() {
      revocations++;
      cache.clear();
    },
    flush,
    async close() {
      timer.cancel();
      await flush();
    },
  };
}
