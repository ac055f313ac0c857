// Names for the hashes that agents report. Versions with the same document have the same hash, which gets the name of
// its newest deployment.
import type { Deployment } from '../record.ts';

/** Versions by revision hash. @param newestFirst deployments of one bundle in one environment */
export function versionsByHash(
  newestFirst: readonly Pick<Deployment, 'revisionHash' | 'version'>[],
): Map<string, number> {
  const versions = new Map<string, number>();
  for (const { revisionHash, version } of newestFirst) {
    if (!versions.has(revisionHash)) versions.set(revisionHash, version);
  }
  return versions;
}
