// The versions of a document, from the API of its kind.
import { useHosted } from '../../lib/hosted-query.ts';
import { useCall } from '../../lib/query.ts';
import type { QueryState } from '../../ui/query-result.tsx';

export interface DocumentVersion {
  readonly version: number;
  /** Hex SHA-256 of the document's bytes. */
  readonly revision_hash: string;
  readonly created_at: string;
  readonly uploaded_by: string;
  readonly deployed_envs: readonly string[];
  /** Absent for bundles. */
  readonly size_bytes?: number;
  /** The key that signed the newest deployment; null without one. Absent for bundles. */
  readonly key_id?: string | null;
}

/** Newest first, at most `maxVersions`. */
export type UseVersions = (name: string) => QueryState<readonly DocumentVersion[]>;

export const maxVersions = 200;
const query = { limit: maxVersions };

export const useBundleVersions: UseVersions = (name) =>
  useCall('listBundleVersions', { params: { name }, query });

export const useRulesetVersions: UseVersions = (name) => {
  const versions = useHosted('hostedRulesetVersions', { params: { name }, query });
  return { ...versions, data: versions.data?.versions };
};
