// The versions of a document, from the API of its kind.
import type { Reply } from '../../lib/api.ts';
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

export type Deployment = Reply<'listDeployments'>[number];

/**
 * The version that an environment runs; undefined for none.
 * @param versions the newest versions
 * @param deployment the newest deployment to the environment; undefined for none
 */
export function runningVersion(
  versions: readonly DocumentVersion[],
  env: string,
  deployment: Deployment | undefined,
): number | undefined {
  const version = versions.find((one) => one.deployed_envs.includes(env))?.version;
  // Of versions with the same document, the one that was deployed runs.
  if (version !== undefined) return deployment?.bundle_version ?? version;
  const isListed = versions.some((one) => one.version === deployment?.bundle_version);
  // A version that is older than those of the list has its deployment alone.
  return isListed || deployment?.undeployed_at !== null ? undefined : deployment.bundle_version;
}
