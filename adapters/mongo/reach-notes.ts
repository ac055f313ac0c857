// Which nodes reach Redis, in MongoDB: a document per node, of which a node that is gone leaves none behind. Times are
// the cluster's.
import type { Collection } from 'mongodb';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { ReachNotes } from '../../src/shared/ports/reach.ts';

export interface ReachRow {
  readonly node: string;
  readonly isReached: boolean;
  readonly at: number;
}

/** Notes older than this are removed with the next one, in milliseconds. */
const keptMs = 600_000;

export const mongoReachNotes = (rows: Collection<ReachRow>, clock: Pick<Clock, 'now'>): ReachNotes => ({
  async note(node, isReached) {
    const at = clock.now();
    await rows.updateOne({ node }, { $set: { isReached, at } }, { upsert: true });
    await rows.deleteMany({ at: { $lt: at - keptMs } });
  },
  async isReachedElsewhere(node, withinMs) {
    const after = clock.now() - withinMs;
    return (await rows.findOne({ node: { $ne: node }, isReached: true, at: { $gt: after } })) !== null;
  },
});
