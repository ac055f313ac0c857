// The numbers of the cluster's format in MongoDB: one document. Its protocol is that of the node that joined last,
// because messages and jobs in Redis outlive the node that wrote them.
import type { Collection } from 'mongodb';
import {
  type ClusterFormat,
  currentFormat,
  formatConflict,
  formatOf,
  neighbouringProtocols,
  unnumberedFormat,
} from '../../src/shared/cluster-format.ts';
import { HubError } from '../../src/shared/error.ts';
import { unlessTaken } from './failure.ts';

export interface FormatRow extends ClusterFormat {
  readonly _id: string;
}

const _id = 'cluster';

/**
 * Records the node's format, by one compare-and-set: of two nodes that start at once and do not fit, one is refused.
 * @param isEmpty true for a database without data, whose format is the first node's
 * @throws HubError conflict when the database does not fit
 */
export async function claimFormat(
  formats: Collection<FormatRow>,
  isEmpty: () => Promise<boolean>,
  own: ClusterFormat = currentFormat,
): Promise<void> {
  if ((await formats.findOne({ _id })) === null) {
    const first = (await isEmpty()) ? own : unnumberedFormat;
    await unlessTaken(formats.insertOne({ _id, ...first }));
  }
  const [lowest, highest] = neighbouringProtocols(own.protocol);
  const fitting = { _id, schema: own.schema, protocol: { $gte: lowest, $lte: highest } };
  const { matchedCount } = await formats.updateOne(fitting, { $set: { protocol: own.protocol } });
  if (matchedCount === 1) return;
  const stored = formatOf((await formats.findOne({ _id })) ?? {});
  const conflict = formatConflict(own, stored, 'the database');
  throw new HubError('conflict', `This node cannot join the cluster: ${conflict ?? 'its format changed.'}`);
}
