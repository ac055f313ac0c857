// The numbers by which a node decides whether it may join a cluster: the protocol that nodes use with each other, and
// the schema of the database. docs/cluster.md describes upgrades by these numbers. Schema n has the number 1000 + n.

export interface ClusterFormat {
  /** Rises with each change of messages, frames or jobs. Neighbouring protocols work together. */
  readonly protocol: number;
  /** Rises with each change of stored documents that other versions cannot read. All nodes have the same. */
  readonly schema: number;
}

export const currentFormat: ClusterFormat = { protocol: 1, schema: 1001 };

/** The way out for a store of a schema from before schema 1. */
export const lastCommitBefore =
  'The last commit that opens it is 3cbbe45e. Start that build on it once, stop it, then start this version.';

/** The lowest and the highest protocol that work with `protocol`. */
export const neighbouringProtocols = (protocol: number): readonly [number, number] => [
  protocol - 1,
  protocol + 1,
];

/**
 * Why a version of the format `own` cannot work with `other`, and what to do; null if both work together.
 * @param owner the noun of what has the format `other`: a node or the database
 */
export function formatConflict(own: ClusterFormat, other: ClusterFormat, owner: string): string | null {
  if (other.schema > own.schema) {
    return `${owner} has schema ${other.schema}, and this version supports schema ${own.schema}. Start the version that the cluster ran before.`;
  }
  if (other.schema !== own.schema) {
    return `${owner} has schema ${other.schema}, and this version needs schema ${own.schema}. Stop all nodes, then start this version.`;
  }
  const [lowest, highest] = neighbouringProtocols(other.protocol);
  if (own.protocol >= lowest && own.protocol <= highest) return null;
  return `${owner} has protocol ${other.protocol}, and this version has protocol ${own.protocol}. Start a version with a protocol from ${Math.max(1, lowest)} to ${highest}.`;
}
