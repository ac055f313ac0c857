// API keys on the request path: hash, bounded cache, last use. Makes and revokes none.

import type { KeyStore } from '../key/port.ts';
import { type ApiKey, isExpired } from '../key/record.ts';
import { BoundedMap } from '../shared/concurrency/bounded-map.ts';
import type { Clock, Timer } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';

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

type Ports = {
  readonly keys: Pick<KeyStore, 'getByHash' | 'used'>;
  readonly secrets: Pick<Secrets, 'sha256' | 'equal'>;
  readonly clock: Clock;
  readonly log: Log;
};

class CachedKeyRing implements KeyRing {
  readonly #ports: Ports;
  readonly #cache = new BoundedMap<ApiKey>(cacheSize);
  /** With whether they were revoked. */
  readonly #unknown = new BoundedMap<boolean>(cacheSize);
  /** Requests side by side share one reading: a whole fleet may come back with one key at once. */
  readonly #reading = new Map<string, Promise<ApiKey | null>>();
  #uses = new Map<string, number>();
  #revocations = 0;
  readonly #timer: Timer;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#timer = ports.clock.every(flushMs, () => void this.flush());
  }

  async find(text: string): Promise<ApiKey | null> {
    const hash = this.#ports.secrets.sha256(text);
    const now = this.#ports.clock.now();
    const key = this.#cache.get(hash, now);
    if (key) return this.#used(key, now);
    if (this.#unknown.get(hash, now) !== undefined) return null;
    let promise = this.#reading.get(hash);
    if (!promise) {
      promise = this.#read(hash).finally(() => this.#reading.delete(hash));
      this.#reading.set(hash, promise);
    }
    const stored = await promise;
    return stored && this.#used(stored, now);
  }

  remembered(text: string): ApiKey | null {
    const now = this.#ports.clock.now();
    const key = this.#cache.get(this.#ports.secrets.sha256(text), now);
    return key ? this.#used(key, now) : null;
  }

  wasRevoked(text: string): boolean {
    return this.#unknown.get(this.#ports.secrets.sha256(text), this.#ports.clock.now()) === true;
  }

  revoked(keyHash: string): void {
    this.#revocations++;
    this.#cache.delete(keyHash);
  }

  forget(): void {
    this.#revocations++;
    this.#cache.clear();
  }

  async close(): Promise<void> {
    this.#timer.cancel();
    await this.flush();
  }

  /** Reads again when a revocation came in during the read: the answer may be older than it. */
  async #read(hash: string): Promise<ApiKey | null> {
    const { keys, secrets, clock } = this.#ports;
    for (;;) {
      const before = this.#revocations;
      const key = await keys.getByHash(hash);
      if (before !== this.#revocations) continue;
      if (key && key.revokedAt === null && secrets.equal(key.hash, hash)) {
        this.#cache.set(hash, key, clock.now() + knownMs);
        return key;
      }
      this.#unknown.set(hash, key !== null && key.revokedAt !== null, clock.now() + unknownMs);
      return null;
    }
  }

  async flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const batch = this.#uses;
    this.#uses = new Map();
    try {
      await this.#ports.keys.used([...batch].map(([id, at]) => ({ id, at })));
    } catch (error) {
      for (const [id, at] of batch) this.#use(id, Math.max(at, this.#uses.get(id) ?? 0));
      this.#ports.log.warn(
        { err: error, keys: batch.size },
        'cannot store the last use of API keys; the next attempt includes them',
      );
    }
  }

  #use(id: string, at: number): void {
    if (this.#uses.size < maxUses || this.#uses.has(id)) this.#uses.set(id, at);
  }

  #used(key: ApiKey, now: number): ApiKey {
    if (!isExpired(key, now)) this.#use(key.id, now);
    return key;
  }
}

/** Keys by hash: cached for a minute (5 s when unknown), at most 20,000; uses are written every 5 s. */
export const createKeyRing = (ports: Ports): KeyRing => new CachedKeyRing(ports);
