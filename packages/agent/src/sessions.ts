// Session values: counters and texts of a run, in this process or in the hub's store.
import { HubResponseError } from './failure.ts';
import type { HttpConnection } from './http.ts';
import { sessionKeyPattern } from './rules/names.ts';

/**
 * Counters and texts of a run, by key. The hub takes keys of up to 256 characters. A method rejects when the store does
 * not answer, and a call whose counters cannot be read is not run.
 */
export interface SessionStore {
  /** Null when there is no such key. */
  get(key: string): Promise<string | null>;
  /** Replaces what is there; repeating it is safe. */
  set(key: string, value: string): Promise<void>;
  /** A missing key is no error. */
  delete(key: string): Promise<void>;
  /** Adds, from 0, in one step that no other adds between; gives the new value. */
  increment(key: string, amount?: number): Promise<number>;
  /** Up to 100 keys at once. */
  batch(keys: readonly string[]): Promise<ReadonlyMap<string, string | null>>;
}

const maxKeys = 100_000;

/** Values of this process alone. Holds 100,000 keys; the one changed longest ago makes room. */
export class MemorySessionStore implements SessionStore {
  readonly #values = new Map<string, string>();

  async get(key: string): Promise<string | null> {
    return this.#values.get(key) ?? null;
  }

  async set(key: string, value: string): Promise<void> {
    this.#put(key, value);
  }

  async delete(key: string): Promise<void> {
    this.#values.delete(key);
  }

  /** @throws TypeError when the value is no number */
  async increment(key: string, amount = 1): Promise<number> {
    const value = Number(this.#values.get(key) ?? 0) + amount;
    if (!Number.isFinite(value)) throw new TypeError(`session value ${key} is not a number`);
    this.#put(key, String(value));
    return value;
  }

  async batch(keys: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
    return new Map(keys.map((key) => [key, this.#values.get(key) ?? null]));
  }

  #put(key: string, value: string): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const oldest = this.#values.keys().next();
    if (this.#values.size > maxKeys && !oldest.done) this.#values.delete(oldest.value);
  }
}

const pathOf = (key: string): string => {
  if (key.length > 256 || !sessionKeyPattern.test(key)) throw new TypeError('not a valid session key');
  return `/sessions/${encodeURIComponent(key)}`;
};

const valueIn = (body: unknown): unknown => (body as { readonly value?: unknown } | null)?.value;

/**
 * The hub's store: shared by all agents of a tenant, values survive the agent. An increment whose answer was lost may
 * count twice.
 */
export class HubSessionStore implements SessionStore {
  readonly #http: HttpConnection;
  #hasBatch = true;

  constructor(http: HttpConnection) {
    this.#http = http;
  }

  async get(key: string): Promise<string | null> {
    try {
      const value = valueIn(await this.#http.request('GET', pathOf(key)));
      return value === null || value === undefined ? null : String(value);
    } catch (failure) {
      if (failure instanceof HubResponseError && failure.status === 404) return null;
      throw failure;
    }
  }

  async set(key: string, value: string): Promise<void> {
    await this.#http.request('PUT', pathOf(key), { body: { value }, parse: false });
  }

  async delete(key: string): Promise<void> {
    try {
      await this.#http.request('DELETE', pathOf(key), { parse: false });
    } catch (failure) {
      if (!(failure instanceof HubResponseError && failure.status === 404)) throw failure;
    }
  }

  async increment(key: string, amount = 1): Promise<number> {
    const body = await this.#http.request('POST', `${pathOf(key)}/increment`, { body: { amount } });
    const value = Number(valueIn(body) ?? Number.NaN);
    if (!Number.isFinite(value))
      throw new HubResponseError(200, JSON.stringify(body), 'an increment without value');
    return value;
  }

  async batch(keys: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
    if (this.#hasBatch) {
      try {
        const body = await this.#http.request('POST', '/sessions/batch', { body: { keys } });
        const values = ((body as { readonly values?: unknown } | null)?.values ?? {}) as {
          readonly [key: string]: unknown;
        };
        return new Map(
          keys.map((key) => {
            const value = Object.hasOwn(values, key) ? values[key] : null;
            return [key, value === null || value === undefined ? null : String(value)];
          }),
        );
      } catch (failure) {
        if (!(failure instanceof HubResponseError)) throw failure;
        // Together they are more than one answer holds.
        if (failure.status === 413 && keys.length > 1) return this.#halves(keys);
        // An older hub has no batch route.
        if (failure.status !== 404 && failure.status !== 405) throw failure;
        this.#hasBatch = false;
      }
    }
    return new Map(await Promise.all(keys.map(async (key) => [key, await this.get(key)] as const)));
  }

  async #halves(keys: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
    const half = keys.length >> 1;
    const first = await this.batch(keys.slice(0, half));
    return new Map([...first, ...(await this.batch(keys.slice(half)))]);
  }
}
