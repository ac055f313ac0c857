// Record of the documents and keys that an agent has trusted, so that a hub that lies later is found out: one pin per
// hub, tenant, environment and bundle. Pins lie in the folder of the cache file, else in memory. Decides nothing
// (verifier.ts).
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { BundleRejectedError, isPublicKey } from './signature.ts';

/** Scope of a pin. `tenant` is the hub's id for the tenant; if the hub sends none, a name of the API key. */
export interface PinPlace {
  readonly tenant: string;
  readonly env: string;
  readonly bundleName: string;
}

export interface Pin {
  /** Keys that were trusted one after the other, oldest first; the last one is trusted now. */
  readonly keys: readonly string[];
  /** The keys that the agent was given when these were trusted; null: the first one seen. */
  readonly configured: readonly string[] | null;
  /** Of the newest document that was in use; null when the hub sent none. */
  readonly sequence: number | null;
  /** Hex SHA-256 of that document's bytes. */
  readonly revisionHash: string;
  /** True if that document was attested: then every later one has to be. */
  readonly attested: boolean;
}

interface PinScope {
  /** The hub's address with its prefix. */
  readonly url: string;
  /** Names the API key without telling it. */
  readonly account: string;
}

type Json = { readonly [name: string]: unknown };

/** Pins without a folder. The one written longest ago makes room. */
const ofThisProcess = new Map<string, Json>();
const maxInProcess = 10_000;

const shortHash = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);

export class Pins {
  readonly #scope: PinScope;
  readonly #folder: string | null;

  /** @param folder made by the first pin; null: pins live as long as the process */
  constructor(scope: PinScope, folder: string | null) {
    this.#scope = scope;
    this.#folder = folder;
  }

  /** The tenant that the API key has belonged to so far; null when the hub never sent one. */
  async tenant(): Promise<string | null> {
    const record = await this.#read(this.#tenantId);
    return typeof record?.tenant === 'string' ? record.tenant : null;
  }

  bindTenant(tenant: string): Promise<void> {
    return this.#write(this.#tenantId, { hub: this.#scope.url, tenant });
  }

  /** Advice, as a sentence, for a change that a pin contradicts, and the file of that pin (null in memory). */
  undo(place: PinPlace | 'tenant'): { readonly advice: string; readonly file: string | null } {
    const file = this.#fileOf(place === 'tenant' ? this.#tenantId : this.#idOf(place));
    return {
      file,
      advice:
        file === null
          ? "If this change is intended, restart the agent's process: it keeps its pins in memory."
          : `If this change is intended, delete ${file} and restart the agent.`,
    };
  }

  /**
   * @throws BundleRejectedError when there is a file that cannot be read: what it stands against must not pass for that
   */
  async load(place: PinPlace): Promise<Pin | null> {
    const id = this.#idOf(place);
    const record = await this.#read(id);
    if (record === null) return null;
    const pin = pinOf(record);
    if (!pin) throw this.#unreadable(id, 'it contains no pin');
    return pin;
  }

  /** Replaces the pin, unless another process has pinned a newer document. */
  async save(place: PinPlace, pin: Pin): Promise<void> {
    const there = await this.load(place);
    if (there && (there.sequence ?? -1) > (pin.sequence ?? -1)) return;
    if (JSON.stringify(there) === JSON.stringify(pin)) return;
    await this.#write(this.#idOf(place), { hub: this.#scope.url, ...place, ...pin });
  }

  get #tenantId(): string {
    return `tenant-${shortHash(this.#scope.url, this.#scope.account)}`;
  }

  #idOf({ tenant, env, bundleName }: PinPlace): string {
    const words = `${env}-${bundleName}`.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 64);
    return `${words}-${shortHash(this.#scope.url, tenant, env, bundleName)}`;
  }

  #fileOf(id: string): string | null {
    return this.#folder === null ? null : join(this.#folder, `${id}.json`);
  }

  async #read(id: string): Promise<Json | null> {
    const file = this.#fileOf(id);
    if (file === null) return ofThisProcess.get(id) ?? null;
    try {
      const record: unknown = JSON.parse(await readFile(file, 'utf8'));
      if (typeof record === 'object' && record !== null) return record as Json;
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw this.#unreadable(id, failure instanceof Error ? failure.message : String(failure));
    }
    throw this.#unreadable(id, 'it contains no pin');
  }

  #unreadable(id: string, why: string): BundleRejectedError {
    const file = this.#fileOf(id);
    return new BundleRejectedError(
      `the pin in ${file} cannot be read (${why}): repair or delete the file`,
      file,
    );
  }

  async #write(id: string, record: Json): Promise<void> {
    const file = this.#fileOf(id);
    if (file === null || this.#folder === null) {
      ofThisProcess.delete(id);
      ofThisProcess.set(id, record);
      const oldest = ofThisProcess.keys().next();
      if (ofThisProcess.size > maxInProcess && !oldest.done) ofThisProcess.delete(oldest.value);
      return;
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // Several processes may share the folder: each writes a file of its own, and the last one renamed is there whole.
    const temporary = `${file}.${randomUUID()}`;
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(record, null, 2)}\n`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  }
}

function pinOf(record: Json): Pin | null {
  const { keys, configured, sequence, revisionHash, attested } = record;
  const areKeys = (value: unknown): value is readonly string[] =>
    Array.isArray(value) && value.every((key) => typeof key === 'string' && isPublicKey(key));
  if (!areKeys(keys) || keys.length === 0 || (configured !== null && !areKeys(configured))) return null;
  if (sequence !== null && !Number.isSafeInteger(sequence)) return null;
  if (typeof revisionHash !== 'string' || typeof attested !== 'boolean') return null;
  return { keys, configured, sequence: sequence as number | null, revisionHash, attested };
}
