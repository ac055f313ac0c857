// The numbers by which a node decides whether it may join a cluster: the protocol that nodes use with each other, and
// the schema of the database. docs/cluster.md describes upgrades by these numbers.

export interface ClusterFormat {
  /** Rises with each change of messages, frames or jobs. Neighbouring protocols work together. */
  readonly protocol: number;
  /** Rises with each change of stored documents that other versions cannot read. All nodes have the same. */
  readonly schema: number;
}

export const currentFormat: ClusterFormat = { protocol: 1, schema: 1 };

/** The format of nodes and databases that have no numbers. */
export const unnumberedFormat: ClusterFormat = { protocol: 1, schema: 1 };

/** The lowest and the highest protocol that work with `protocol`. */
export const neighbouringProtocols = (protocol: number): readonly [number, number] => [
  protocol - 1,
  protocol + 1,
];

const integerOr = (value: unknown, fallback: number): number =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : fallback;

/** The numbers of a record; those that it lacks are of the unnumbered format. */
export const formatOf = (record: { readonly [N in keyof ClusterFormat]?: unknown }): ClusterFormat => ({
  protocol: integerOr(record.protocol, unnumberedFormat.protocol),
  schema: integerOr(record.schema, unnumberedFormat.schema),
});

/**
 * Why a version of the format `own` cannot work with `other`, and what to do; null if both work together.
 * @param owner the noun of what has the format `other`: a node or the database
 */
export function formatConflict(own: ClusterFormat, other: ClusterFormat, owner: string): string | null {
  if (other.schema > own.schema) {
    return `${owner} has schema ${other.schema}, and this version supports schema ${own.schema}. Start the version that the cluster ran before.`;
  }
  if (other.schema < own.schema) {
    return `${owner} has schema ${other.schema}, and this version needs schema ${own.schema}. Stop all nodes, then upgrade as CHANGELOG.md describes.`;
  }
  const [lowest, highest] = neighbouringProtocols(other.protocol);
  if (own.protocol >= lowest && own.protocol <= highest) return null;
  return `${owner} has protocol ${other.protocol}, and this version has protocol ${own.protocol}. Start a version with a protocol from ${Math.max(1, lowest)} to ${highest}.`;
}
