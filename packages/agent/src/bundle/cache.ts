// The last good bundle on disk, for a start while the hub is away. Written whole or not at all; read back with
// suspicion.
import { lstat, opendir, readFile, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { writeWhole } from '../files.ts';
import { type FetchedBundle, noProvenance } from '../hub.ts';
import { type IsolationMode, readIsolationMode } from '../rules/isolation.ts';

/** Hub, environment and bundle of a cache file. A file with another scope is not used. */
export interface CacheScope {
  readonly url: string;
  readonly env: string;
  /** The configured bundle name; null when the hub assigns. */
  readonly configured: string | null;
}

/** A temporary file of this age was left by a process that was killed; milliseconds. */
const leftAge = 24 * 60 * 60 * 1000;
/** Files that one write looks at for such leftovers. */
const maxEntries = 10_000;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export class BundleCache {
  readonly path: string;
  readonly #scope: CacheScope;
  /** Leftovers are looked for once. */
  #isSwept = false;

  constructor(path: string, scope: CacheScope) {
    this.path = path;
    this.#scope = scope;
  }

  /** Leaves out the provenance, which pins keep. */
  async save(bundle: FetchedBundle): Promise<void> {
    const { bytes, provenance: _provenance, ...rest } = bundle;
    await this.#write({ format: 1, ...this.#scope, ...rest, yaml_bytes: bytes.toString('base64') });
  }

  /** Replaces another mode beside the bundle. Without a file of this scope, nothing is written. */
  async saveIsolation(isolation: IsolationMode): Promise<void> {
    const record = await this.#read();
    if (record !== null && record.isolation !== isolation) await this.#write({ ...record, isolation });
  }

  async #write(record: object): Promise<void> {
    await writeWhole(this.path, JSON.stringify(record));
    if (this.#isSwept) return;
    this.#isSwept = true;
    // The write has succeeded, whatever becomes of leftovers.
    await this.#sweep().catch(() => {});
  }

  /** Removes the temporary files of writes that were cut off long ago. */
  async #sweep(): Promise<void> {
    const prefix = `${basename(this.path)}.`;
    const folder = dirname(this.path);
    // The clock of the file system dates them all.
    const { mtimeMs } = await lstat(this.path);
    let entries = 0;
    for await (const { name } of await opendir(folder)) {
      entries += 1;
      if (entries > maxEntries) return;
      if (!name.startsWith(prefix) || !uuid.test(name.slice(prefix.length))) continue;
      const path = join(folder, name);
      try {
        if (mtimeMs - (await lstat(path)).mtimeMs > leftAge) await unlink(path);
      } catch {
        // Another process removed it, or it is not ours to remove.
      }
    }
  }

  /** Null when there is no file, or it is not ours to use. Does not check hash or signature. */
  async load(): Promise<FetchedBundle | null> {
    const record = await this.#read();
    if (record === null || typeof record.yaml_bytes !== 'string' || typeof record.bundleName !== 'string')
      return null;
    const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
    return {
      bundleName: record.bundleName,
      version: typeof record.version === 'number' ? record.version : null,
      bytes: Buffer.from(record.yaml_bytes, 'base64'),
      revisionHash: text(record.revisionHash),
      signature: text(record.signature),
      publicKey: text(record.publicKey),
      provenance: noProvenance,
      ...(record.isolation === undefined ? {} : { isolation: readIsolationMode(record.isolation) }),
    };
  }

  async #read(): Promise<{ readonly [name: string]: unknown } | null> {
    let record: { readonly [name: string]: unknown };
    try {
      record = JSON.parse(await readFile(this.path, 'utf8'));
    } catch (failure) {
      if (failure instanceof SyntaxError || (failure as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw failure;
    }
    const { url, env, configured } = this.#scope;
    const ours =
      record?.format === 1 && record.url === url && record.env === env && record.configured === configured;
    return ours ? record : null;
  }
}
