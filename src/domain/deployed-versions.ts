// What agents run is a hash. Several versions may have one document, and so one hash: its name is that of the newest
// deployment.
import type { Deployment } from './deployment.ts';

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
