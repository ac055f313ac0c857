// Streams that agents had, in MongoDB: one document each.
import type { Collection, Filter } from 'mongodb';
import type { AgentStreamStore, AwayAgent } from '../../src/agent/port.ts';
import { maxPastStreams, type PastStream } from '../../src/agent/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import { insertedAmong } from './failure.ts';
import { fromRow, type Row, toRow } from './form.ts';
import { deleteSome } from './removal.ts';

export type AgentStreamRow = Row<PastStream>;

const record = (row: AgentStreamRow): PastStream => fromRow<PastStream>(row);

const endedIn = (
  tenantId: string,
  env: Env,
  agentId: string | { readonly $in: readonly string[] },
  { since, until }: { readonly since: number; readonly until: number },
) => ({
  ...{ tenantId, env, agentId },
  startedAt: { $lt: until },
  endedAt: { $gt: since },
});

const streamsOf = async (
  streams: Collection<AgentStreamRow>,
  tenantId: string,
  env: Env,
  agentId: string,
  range: { readonly since: number; readonly until: number },
): Promise<readonly PastStream[]> =>
  (
    await streams
      .find(endedIn(tenantId, env, agentId, range) as Filter<AgentStreamRow>)
      .sort({ startedAt: -1, _id: 1 })
      .limit(maxPastStreams)
      .toArray()
  ).map(record);

/**
 * One bulk in so many is followed by a look for agents above the bound, which counts all their streams. So is each bulk
 * with as many streams of one agent.
 */
const bulksPerLook = 16;

function hasMany(recorded: readonly PastStream[]): boolean {
  const counts = new Map<string, number>();
  return recorded.some(({ agentId }) => {
    const count = (counts.get(agentId) ?? 0) + 1;
    counts.set(agentId, count);
    return count >= bulksPerLook;
  });
}

/** Deletes what an agent has above the bound. Few agents have: they are found by one count. */
async function dropOldest(
  streams: Collection<AgentStreamRow>,
  recorded: readonly PastStream[],
): Promise<void> {
  const $in = [...new Set(recorded.map(({ agentId }) => agentId))];
  const [first] = recorded;
  if (!first) return;
  const { tenantId, env } = first;
  const groups = await streams
    .aggregate<{ readonly _id: string; readonly n: number }>([
      { $match: { tenantId, env, agentId: { $in } } },
      { $group: { _id: '$agentId', n: { $sum: 1 } } },
      { $match: { n: { $gt: maxPastStreams } } },
    ])
    .toArray();
  for (const { _id: agentId } of groups) {
    const ofAgent = { tenantId, env, agentId } as Filter<AgentStreamRow>;
    await deleteSome(streams, ofAgent, { sort: { startedAt: -1 }, skip: maxPastStreams });
  }
}

async function recordStreams(
  streams: Collection<AgentStreamRow>,
  recorded: readonly PastStream[],
  mustLook: boolean,
): Promise<void> {
  if (recorded.length === 0) return;
  const operations = recorded.map((stream) => {
    const { _id, endedAt, isEndNoticed, ...rest } = toRow(stream) as AgentStreamRow;
    const end = { endedAt, isEndNoticed };
    return {
      updateOne:
        endedAt === null
          ? { filter: { _id }, update: { $setOnInsert: { ...rest, ...end } }, upsert: true }
          : // The index of ids refuses the end of a stream that has ended.
            { filter: { _id, endedAt: null }, update: { $setOnInsert: rest, $set: end }, upsert: true },
    };
  }) as unknown as Parameters<typeof streams.bulkWrite>[0];
  const inserted = await insertedAmong(streams.bulkWrite(operations, { ordered: false }));
  const added = inserted.flatMap((index) => recorded[index] ?? []);
  if (mustLook || hasMany(added)) await dropOldest(streams, added);
}

async function awayAgents(
  streams: Collection<AgentStreamRow>,
  tenantId: string,
  env: Env,
  { since, awayBefore, leastMs }: Parameters<AgentStreamStore['listAway']>[2],
  limit: number,
): Promise<readonly AwayAgent[]> {
  const agents = await streams
    .aggregate<{ readonly _id: string }>([
      { $match: { tenantId, env, endedAt: { $gt: since } } },
      {
        $group: {
          _id: '$agentId',
          last: { $max: '$endedAt' },
          ms: { $sum: { $subtract: ['$endedAt', { $max: ['$startedAt', since] }] } },
        },
      },
      { $match: { last: { $lte: awayBefore }, ms: { $gte: leastMs } } },
      { $limit: limit },
    ])
    .toArray();
  const agentIds = agents.map(({ _id }) => _id);
  const filter = endedIn(tenantId, env, { $in: agentIds }, { since, until: awayBefore });
  const rows = (await streams.find(filter as Filter<AgentStreamRow>).toArray()).map(record);
  return agentIds.map((agentId) => ({ agentId, streams: rows.filter((row) => row.agentId === agentId) }));
}

export function mongoAgentStreams(streams: Collection<AgentStreamRow>): AgentStreamStore {
  let bulks = 0;
  return {
    record: (recorded) => recordStreams(streams, recorded, bulks++ % bulksPerLook === 0),
    list: (tenantId, env, agentId, range) => streamsOf(streams, tenantId, env, agentId, range),
    async listOpen(tenantId, env, limit, after) {
      const behind = after === null ? {} : { _id: { $gt: after } };
      const filter = { tenantId, env, endedAt: null, ...behind } as Filter<AgentStreamRow>;
      return (await streams.find(filter).sort({ _id: 1 }).limit(limit).toArray()).map(record);
    },
    listAway: (tenantId, env, period, limit) => awayAgents(streams, tenantId, env, period, limit),
    removeBefore(before, limit) {
      // The index of starts finds the oldest. An end of null is not below any time.
      const filter = { startedAt: { $lt: before }, endedAt: { $lt: before } } as Filter<AgentStreamRow>;
      return deleteSome(streams, filter, { limit });
    },
  };
}
