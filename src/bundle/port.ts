// Store port of bundle versions. Every write is durable when its promise resolves.

import type { Env } from '../shared/ids.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { BundleSummary, BundleVersion } from './record.ts';

export type NewBundle = Omit<BundleVersion, 'version' | 'signature'> & { readonly yaml: Uint8Array };

/** Bundle versions. A version never changes. */
export interface BundleStore {
  /**
   * Saves the next version of the name; parallel calls get different versions. Safe to repeat: the same id returns the
   * same version.
   */
  upload(bundle: NewBundle): Promise<BundleVersion>;
  /**
   * The same, provided that the newest version that is there is `after` (0: that there is none); `changed` and nothing
   * saved otherwise. Of parallel calls with the same `after` one is saved.
   */
  uploadAfter(bundle: NewBundle, after: number): Promise<BundleVersion | 'changed'>;
  getVersion(tenantId: string, name: string, version: number): Promise<BundleVersion | null>;
  /** Newest first. */
  listVersions(tenantId: string, name: string, page: PageRequest): Promise<Page<BundleVersion>>;
  /** The bytes as uploaded. */
  getYaml(tenantId: string, name: string, version: number): Promise<Uint8Array | null>;
  /** The versions with these bytes, by any name; newest upload first, at most 100. */
  listByRevision(
    tenantId: string,
    revisionHash: string,
  ): Promise<readonly { readonly name: string; readonly version: number }[]>;
  /**
   * With `env`: only bundles deployed there, computed over the versions ever deployed there.
   * @param order newest upload first (default), or by name
   */
  list(
    tenantId: string,
    env: Env | null,
    page: PageRequest,
    order?: 'newest' | 'name',
  ): Promise<Page<BundleSummary>>;
  /**
   * Takes every version of the name away, unless one is deployed anywhere; atomic with deployments. Names, versions and
   * hashes are kept where nothing of the above finds them, so that the next upload goes on counting. A repeat is safe:
   * it finishes what was interrupted.
   * @param ifVersion removes only while this version is the newest; else answers `changed`
   */
  remove(
    tenantId: string,
    name: string,
    at: number,
    ifVersion?: number,
  ): Promise<'removed' | 'absent' | 'deployed' | 'changed'>;
}
