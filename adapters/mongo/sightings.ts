// What connected agents make the store write, in bulk: a fleet that comes back after a restart asks for thousands of such writes at once, and
// writing them one by one would cost a commit each. What is asked for while the last bulk write is under way goes into the next.
import type { AnyBulkWriteOperation, Collection, Filter } from 'mongodb';
import type { Reported } from '../../src/domain/agent.ts';
import type { Env } from '../../src/domain/ids.ts';
import { batches } from '../../src/ports/batches.ts';
import type { AgentRow, ReportRow } from './agents.ts';
import { refusedAsDuplicates, unavailable } from './failure.ts';

interface Sighting {
  readonly tenantId: string;
  readonly agentId: string;
  readonly env: Env;
  readonly now: number;
  readonly newId: string;
}

type ReportOf = Reported & { readonly tenantId: string; readonly env: Env };

/** Writes that go into one bulk write. */
const most = 200;

/** The newest of each key, in order of first appearance. */
function newest<T>(items: readonly T[], keyOf: (item: T) => string, timeOf: (item: T) => number): T[] {
  const byKey = new Map<string, T>();
  for (const item of items) {
    const known = byKey.get(keyOf(item));
    if (known === undefined || timeOf(item) >= timeOf(known)) byKey.set(keyOf(item), item);
  }
  return [...byKey.values()];
}

/** Carries out upserts that only move forward in time; what the unique index refuses is there already, and newer. Answers their indexes. */
async function moveForward<T extends AgentRow | ReportRow>(
  collection: Collection<T>,
  writes: AnyBulkWriteOperation<T>[],
): Promise<readonly number[]> {
  try {
    await collection.bulkWrite(writes, { ordered: false });
    return [];
  } catch (error) {
    return refusedAsDuplicates(error);
  }
}

/** Makes registrations where missing and moves their last sighting; gives them back. */
export function sightings(agents: Collection<AgentRow>): (sighting: Sighting) => Promise<AgentRow> {
  const keyOf = ({ tenantId, agentId }: Pick<Sighting, 'tenantId' | 'agentId'>): string =>
    `${tenantId}/${agentId}`;
  return batches<Sighting, AgentRow>(async (items) => {
    const latest = newest(items, keyOf, ({ now }) => now);
    const written = latest.map(({ tenantId, agentId, env, now, newId }) => {
      const filter = {
        tenantId: { $eq: tenantId },
        agentId: { $eq: agentId },
        lastSeenAt: { $not: { $gt: now } },
      };
      const $setOnInsert = {
        _id: newId,
        displayName: null,
        tags: '{}',
        bundleName: null,
        manifest: null,
        createdAt: now,
      };
      const update = { $set: { lastEnv: env, lastSeenAt: now }, $setOnInsert };
      return { updateOne: { filter, update, upsert: true } } as AnyBulkWriteOperation<AgentRow>;
    });
    await moveForward(agents, written);
    const byTenant = new Map<string, string[]>();
    for (const { tenantId, agentId } of latest) {
      byTenant.set(tenantId, [...(byTenant.get(tenantId) ?? []), agentId]);
    }
    const $or: Filter<AgentRow>[] = [...byTenant].map(([tenantId, ids]) => ({
      tenantId: { $eq: tenantId },
      agentId: { $in: ids },
    }));
    const rows = new Map((await agents.find({ $or }).toArray()).map((row) => [keyOf(row), row]));
    // One that is missing was removed in between.
    return items.map((item) => rows.get(keyOf(item)) ?? unavailable());
  }, most);
}

/** Keeps the newest report of each (tenant, env, agent, bundle). */
export function reportings(reports: Collection<ReportRow>): (report: ReportOf) => Promise<true> {
  const keyOf = ({ tenantId, env, agentId, bundleName }: ReportOf): string =>
    JSON.stringify([tenantId, env, agentId, bundleName]);
  return batches(async (items) => {
    const latest = newest(items, keyOf, ({ at }) => at);
    const written = (upsert: boolean) =>
      latest.map(({ tenantId, env, agentId, bundleName, policyVersion, at }) => {
        const filter = {
          tenantId: { $eq: tenantId },
          env: { $eq: env },
          agentId: { $eq: agentId },
          bundleName: { $eq: bundleName },
          at: { $lte: at },
        };
        return {
          updateOne: { filter, update: { $set: { policyVersion, at } }, upsert },
        } as AnyBulkWriteOperation<ReportRow>;
      });
    const refused = await moveForward(reports, written(true));
    // Another node may have made an older one at the same moment.
    const again = written(false).filter((_, i) => refused.includes(i));
    if (again.length > 0) await moveForward(reports, again);
    return items.map(() => true as const);
  }, most);
}
