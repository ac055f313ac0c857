// Names for the hashes that agents report. Versions with the same document have the same hash, which gets the name of
// its newest deployment.
import { groupBy } from '../../shared/group-by.ts';
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

type Place = Pick<Deployment, 'env' | 'bundleName' | 'version' | 'sequence'>;

/**
 * The ids of those that are roll-backs: their version ran in the environment before, and another one right before them.
 * @param known all deployments of these bundles
 */
export function rollbacksAmong(
  deployments: readonly (Place & Pick<Deployment, 'id'>)[],
  readPlaces: readonly Place[],
): ReadonlySet<string> {
  const keyOf = ({ env, bundleName }: Place): string => JSON.stringify([env, bundleName]);
  const byPlace = groupBy(readPlaces, keyOf);
  const isRollback = (deployment: Place): boolean => {
    const earlier = (byPlace.get(keyOf(deployment)) ?? []).filter(
      (one) => one.sequence < deployment.sequence,
    );
    const before = earlier.reduce<Place | null>(
      (last, one) => (last === null || one.sequence > last.sequence ? one : last),
      null,
    );
    return (
      before !== null &&
      before.version !== deployment.version &&
      earlier.some(({ version }) => version === deployment.version)
    );
  };
  return new Set(deployments.filter(isRollback).map(({ id }) => id));
}
