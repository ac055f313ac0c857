// The numbers of the cluster's format in MongoDB: one document. Its protocol is that of the node that joined last,
// because messages and jobs in Redis outlive the node that wrote them.
import type { Collection, Db } from 'mongodb';
import {
  type ClusterFormat,
  currentFormat,
  formatConflict,
  lastCommitBefore,
  neighbouringProtocols,
} from '../../src/shared/cluster-format.ts';
import { HubError } from '../../src/shared/error.ts';
import { unlessTaken } from './failure.ts';
import { type DatabaseStep, schemaSteps } from './schema.ts';

export interface FormatRow extends ClusterFormat {
  readonly _id: string;
}

const _id = 'cluster';

/** A version's numbers, and the steps to its schema. */
export interface OwnFormat extends ClusterFormat {
  readonly steps: readonly DatabaseStep[];
}

const ownFormat: OwnFormat = { ...currentFormat, steps: schemaSteps };

const stepFrom = ({ steps, schema }: OwnFormat, stored: number): DatabaseStep | undefined =>
  stored < schema ? steps.find(({ from }) => from === stored) : undefined;

/**
 * Reason why this version cannot use a database, with the remedy; null if it can, after its steps.
 * @param stored null for a database with data and without numbers
 */
export function databaseConflict(stored: ClusterFormat | null, own = ownFormat): string | null {
  const isReachable = stored !== null && (stored.schema >= own.schema || stepFrom(own, stored.schema));
  if (!isReachable) {
    const number = stored === null ? 'no schema number' : `schema ${stored.schema}`;
    return `the database has ${number}, which this version cannot open. ${lastCommitBefore}`;
  }
  const { protocol, schema } = stored;
  return formatConflict(own, { protocol, schema: Math.max(schema, own.schema) }, 'the database');
}

/**
 * Takes the steps that the database lacks and records the node's format, by one compare-and-set: of two nodes that
 * start at once and do not fit, one is refused.
 * @param isEmpty true for a database without data, whose format is the first node's
 * @param onDatabase runs a step over connections that wait for as long as it takes
 * @throws HubError conflict when the database does not fit
 */
export async function claimFormat(
  formats: Collection<FormatRow>,
  isEmpty: () => Promise<boolean>,
  onDatabase: (task: (db: Db) => Promise<void>) => Promise<void>,
  own = ownFormat,
): Promise<void> {
  const { protocol, schema } = own;
  let stored = await formats.findOne({ _id });
  if (stored === null && (await isEmpty())) {
    await unlessTaken(formats.insertOne({ _id, protocol, schema }));
    stored = await formats.findOne({ _id });
  }
  refuse(databaseConflict(stored, own));
  for (let step = stored && stepFrom(own, stored.schema); step; step = stepFrom(own, step.to)) {
    await onDatabase(step.fill);
    await formats.updateOne({ _id, schema: step.from }, { $set: { schema: step.to } });
  }
  const [lowest, highest] = neighbouringProtocols(protocol);
  const fitting = { _id, schema, protocol: { $gte: lowest, $lte: highest } };
  const { matchedCount } = await formats.updateOne(fitting, { $set: { protocol } });
  if (matchedCount === 0)
    refuse(
      databaseConflict(await formats.findOne({ _id }), own) ?? 'its format changed. Start this node again.',
    );
}

function refuse(conflict: string | null): void {
  if (conflict) throw new HubError('conflict', `This node cannot join the cluster: ${conflict}`);
}
