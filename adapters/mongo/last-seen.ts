// What connected agents make the store write, in bulk: a fleet that comes back after a restart asks for thousands of such writes at once, and
// writing them one by one would cost a commit each. What is asked for while the last bulk write is under way goes into the next.
import type { Collection } from 'mongodb';
import { createBatcher } from '../../src/concurrency/batcher.ts';
import type { Reported } from '../../src/domain/agent.ts';
import type { Env } from '../../src/domain/ids.ts';
import type { AgentRow, ReportRow } from './agent-rows.ts';
import { takenAmong, unavailable } from './failure.ts';
import { byTenant } from './form.ts';

/** An agent was seen in an environment. */
interface Seen {
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

const fresh = ({ tenantId, agentId, env, now, newId }: Seen): AgentRow => ({
  _id: newId,
  tenantId,
  agentId,
  displayName: null,
  tags: '{}',
  bundleName: null,
  manifest: null,
  lastEnv: env,
  lastSeenAt: now,
  createdAt: now,
});

/** Makes registrations where missing and moves when they were last seen, which never goes back; gives them back. */
export function lastSeen(agents: Collection<AgentRow>): (seen: Seen) => Promise<AgentRow> {
  const keyOf = ({ tenantId, agentId }: Pick<Seen, 'tenantId' | 'agentId'>): string =>
    `${tenantId}/${agentId}`;

  async function find(wanted: readonly Seen[]): Promise<Map<string, AgentRow>> {
    const lists = await Promise.all(
      byTenant(wanted, ({ agentId }) => agentId).map(([tenantId, ids]) =>
        agents.find({ tenantId, agentId: { $in: ids } }).toArray(),
      ),
    );
    return new Map(lists.flat().map((row) => [keyOf(row), row]));
  }

  return createBatcher<Seen, AgentRow>(async (items) => {
    const latest = newest(items, keyOf, ({ now }) => now);
    const rows = await find(latest);
    const missing = latest.filter((one) => !rows.has(keyOf(one)));
    if (missing.length > 0) {
      const made = missing.map(fresh);
      const refused = await takenAmong(agents.insertMany(made, { ordered: false }));
      for (const [i, row] of made.entries()) if (!refused.includes(i)) rows.set(keyOf(row), row);
      // Another node was faster.
      const others = missing.filter((_, i) => refused.includes(i));
      if (others.length > 0) for (const [key, row] of await find(others)) rows.set(key, row);
    }
    const moves = latest.flatMap((one) => {
      const row = rows.get(keyOf(one));
      if (!row || (row.lastSeenAt ?? Number.NEGATIVE_INFINITY) >= one.now) return [];
      const seen = { lastEnv: one.env, lastSeenAt: one.now };
      rows.set(keyOf(one), { ...row, ...seen });
      const filter = { _id: row._id, lastSeenAt: { $not: { $gt: one.now } } };
      return [{ updateOne: { filter, update: { $set: seen } } }];
    });
    if (moves.length > 0) await agents.bulkWrite(moves, { ordered: false });
    // One that is missing was removed in between.
    return items.map((item) => rows.get(keyOf(item)) ?? unavailable());
  }, most);
}

/** Keeps the newest report of each (tenant, env, agent, bundle), which is the document's id. */
export function lastReports(reports: Collection<ReportRow>): (report: ReportOf) => Promise<true> {
  const idOf = ({ tenantId, env, agentId, bundleName }: ReportOf): string =>
    JSON.stringify([tenantId, env, agentId, bundleName]);
  return createBatcher(async (items) => {
    const latest = newest(items, idOf, ({ at }) => at);
    const writes = latest.map((report) => {
      const { policyVersion, at, ...place } = report;
      const filter = { _id: idOf(report), at: { $lte: at } };
      return {
        updateOne: { filter, update: { $set: { policyVersion, at }, $setOnInsert: place }, upsert: true },
      };
    });
    const refused = await takenAmong(reports.bulkWrite(writes, { ordered: false }));
    // What is there is newer, or another node made an older one at the same moment.
    const again = writes.filter((_, i) => refused.includes(i));
    if (again.length > 0) await takenAmong(reports.bulkWrite(again, { ordered: false }));
    return items.map(() => true as const);
  }, most);
}
