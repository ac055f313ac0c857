// Bulk writes for connected agents. A fleet that reconnects after a restart requests thousands of writes at once, and
// single writes would cost a commit each. Requests during a bulk write go into the next one.
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import {
  maxReportedBundles,
  newRegistration,
  registrationRecord,
  type StoredReport,
} from '../../src/agent/record.ts';
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import { dayMs } from '../../src/shared/duration.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import type { SeenOn } from '../../src/shared/vocabulary.ts';
import type { AgentRow, ReportRow } from './agent-rows.ts';
import { takenAmong, unavailable } from './failure.ts';
import { byTenant } from './form.ts';
import { deleteSome } from './removal.ts';
import type { SeenTimes } from './seen-times.ts';

/** An agent was seen in an environment. */
interface Seen {
  readonly tenantId: string;
  readonly agentId: string;
  readonly env: Env;
  readonly now: number;
  /** Of the registration that is made when there is none; null: none is made. */
  readonly newId: string | null;
  /** API that the agent was seen on; null if unknown. */
  readonly on: SeenOn | null;
}

/** Writes that go into one bulk write. */
const maxBatch = 200;
/** Much shorter than the absence after which agents are retired. */
const longAbsenceMs = dayMs;

/** The newest of each key, in order of first appearance. */
function newest<T>(items: readonly T[], keyOf: (item: T) => string, timeOf: (item: T) => number): T[] {
  const byKey = new Map<string, T>();
  for (const item of items) {
    const latest = byKey.get(keyOf(item));
    if (latest === undefined || timeOf(item) >= timeOf(latest)) byKey.set(keyOf(item), item);
  }
  return [...byKey.values()];
}

/** Environments in their usual order. */
export const inOrder = (envs: readonly Env[]): readonly Env[] =>
  environments.filter((env) => envs.includes(env));

/** Sets the known fields; the others keep their values. */
const spoken = (on: SeenOn | null) =>
  on === null ? {} : { lastApi: on.api, ...(on.loadsAny === undefined ? {} : { loadsAny: on.loadsAny }) };

const fresh = (seenAgent: Seen, id: string): AgentRow =>
  registrationRecord.toDocument(newRegistration({ ...seenAgent, id }));

/** Environments of these that the row does not have. */
const addedEnvs = (row: AgentRow, items: readonly Seen[]): Env[] =>
  environments.filter((env) => !row.seenEnvs.includes(env) && items.some((item) => item.env === env));

interface SeenRow {
  /** Retired, or null, when the agent is not registered. */
  readonly row: AgentRow | null;
  readonly isNew: boolean;
}

/** The API comes from the newest item, `loadsAny` from the last item of the batch that contains it. */
function withAllSaid(one: Seen, items: readonly Seen[], keyOf: (item: Seen) => string): Seen {
  if (one.on === null || one.on.loadsAny !== undefined) return one;
  const lastLoad = items.findLast((item) => keyOf(item) === keyOf(one) && item.on?.loadsAny !== undefined);
  return lastLoad?.on?.loadsAny === undefined
    ? one
    : { ...one, on: { ...one.on, loadsAny: lastLoad.on.loadsAny } };
}

const keyOf = ({ tenantId, agentId }: Pick<Seen, 'tenantId' | 'agentId'>): string => `${tenantId}/${agentId}`;

async function rowsByKey(
  agents: Collection<AgentRow>,
  seenAgents: readonly Seen[],
): Promise<Map<string, AgentRow>> {
  const lists = await Promise.all(
    byTenant(seenAgents, ({ agentId }) => agentId).map(([tenantId, ids]) =>
      // Without the manifest, which nobody needs here and which may be large.
      agents.find({ tenantId, agentId: { $in: [...ids] } }, { projection: { manifest: 0 } }).toArray(),
    ),
  );
  return new Map(lists.flat().map((row) => [keyOf(row), row]));
}

/**
 * True if the registration changes in nothing but the time. Not after a longer absence: the removal of idle agents must
 * not meet one whose new time still waits.
 */
function movesTimeAlone(row: AgentRow, at: number, fields: Partial<AgentRow>): boolean {
  const { lastSeenAt, lastEnv, lastApi = null, loadsAny = false, retiredAt } = row;
  const before = { lastEnv, lastApi, loadsAny, retiredAt };
  const after = { ...before, ...fields };
  return (
    at - (lastSeenAt ?? Number.NEGATIVE_INFINITY) < longAbsenceMs &&
    after.lastEnv === before.lastEnv &&
    after.lastApi === before.lastApi &&
    after.loadsAny === before.loadsAny &&
    after.retiredAt === before.retiredAt
  );
}

/** Agents that were seen, on their way into one bulk write. */
class SeenBatch {
  readonly #agents: Collection<AgentRow>;
  readonly #times: SeenTimes;
  readonly #items: readonly Seen[];
  /** One for each agent. */
  readonly #latest: readonly Seen[];
  readonly #newIds = new Map<string, string>();
  readonly #createdIds = new Set<string>();
  #rows: Map<string, AgentRow> = new Map();

  constructor(agents: Collection<AgentRow>, times: SeenTimes, items: readonly Seen[]) {
    this.#agents = agents;
    this.#times = times;
    this.#items = items;
    this.#latest = newest(items, keyOf, ({ now }) => now).map((one) => withAllSaid(one, items, keyOf));
    for (const item of items) {
      if (item.newId !== null && !this.#newIds.has(keyOf(item))) this.#newIds.set(keyOf(item), item.newId);
    }
  }

  async write(): Promise<(SeenRow | Error)[]> {
    this.#rows = await rowsByKey(this.#agents, this.#latest);
    await this.#insertMissing();
    const writes = this.#latest.flatMap((one) => this.#writesOf(one));
    if (writes.length > 0) await this.#agents.bulkWrite(writes, { ordered: false });
    return this.#items.map((item) => this.#answerTo(item));
  }

  async #insertMissing(): Promise<void> {
    const missing = this.#latest.flatMap((one) => {
      const id = this.#newIds.get(keyOf(one));
      return id === undefined || this.#rows.has(keyOf(one)) ? [] : [{ one, row: fresh(one, id) }];
    });
    if (missing.length === 0) return;
    const inserted = this.#agents.insertMany(
      missing.map(({ row }) => row),
      { ordered: false },
    );
    const refused = await takenAmong(inserted);
    for (const [i, { row }] of missing.entries()) {
      if (refused.includes(i)) continue;
      this.#rows.set(keyOf(row), row);
      this.#createdIds.add(keyOf(row));
    }
    // Another node was faster.
    const others = missing.flatMap(({ one }, i) => (refused.includes(i) ? [one] : []));
    if (others.length === 0) return;
    for (const [key, row] of await rowsByKey(this.#agents, others)) this.#rows.set(key, row);
  }

  /** The updates that the answer waits for: none where the time alone moves. */
  #writesOf(one: Seen): AnyBulkWriteOperation<AgentRow>[] {
    const key = keyOf(one);
    const row = this.#rows.get(key);
    if (!row) return [];
    const isRetired = typeof row.retiredAt === 'number';
    if (isRetired && !this.#newIds.has(key)) return [];
    const added = addedEnvs(
      row,
      this.#items.filter((item) => keyOf(item) === key),
    );
    const filter = { _id: row._id };
    // Also where another node has noted a later time since.
    const envs =
      added.length === 0
        ? []
        : [{ updateOne: { filter, update: { $addToSet: { seenEnvs: { $each: added } } } } }];
    if (!isRetired && (row.lastSeenAt ?? Number.NEGATIVE_INFINITY) >= one.now) return envs;
    if (isRetired) {
      this.#createdIds.add(key);
      this.#rows.set(key, { ...row, retiredAt: null });
    }
    const fields = { lastEnv: one.env, ...spoken(one.on), ...(isRetired ? { retiredAt: null } : {}) };
    if (movesTimeAlone(row, one.now, fields) && this.#times.add({ id: row._id, at: one.now })) return envs;
    const older = { ...filter, lastSeenAt: { $not: { $gt: one.now } } };
    return [...envs, { updateOne: { filter: older, update: { $set: { ...fields, lastSeenAt: one.now } } } }];
  }

  #answerTo(item: Seen): SeenRow | Error {
    const key = keyOf(item);
    const row = this.#rows.get(key) ?? null;
    // One that is missing was removed in between.
    if (row === null && item.newId !== null) return unavailable();
    return { row, isNew: this.#createdIds.has(key) && item.newId === this.#newIds.get(key) };
  }
}

/**
 * Moves when registrations were last seen, which never goes back; makes those that are missing, or retired, and may be
 * made. A time that moves alone is written later (`times`).
 */
export const lastSeen = (
  agents: Collection<AgentRow>,
  times: SeenTimes,
): ((seenAgent: Seen) => Promise<SeenRow>) =>
  createBatcher<Seen, SeenRow>((items) => new SeenBatch(agents, times, items).write(), maxBatch);

/**
 * Keeps the newest report of each (tenant, env, agent, bundle), which is the document's id, of agents that are
 * registered.
 */
export function lastReports(
  agents: Collection<AgentRow>,
  reports: Collection<ReportRow>,
): (report: StoredReport) => Promise<true> {
  const idOf = ({ tenantId, env, agentId, bundleName }: StoredReport): string =>
    JSON.stringify([tenantId, env, agentId, bundleName]);

  async function registered(items: readonly StoredReport[]): Promise<ReadonlySet<string>> {
    const lists = await Promise.all(
      byTenant(items, ({ agentId }) => agentId).map(([tenantId, ids]) =>
        agents
          .find(
            { tenantId, agentId: { $in: [...ids] }, retiredAt: null },
            { projection: { tenantId: 1, agentId: 1 } },
          )
          .toArray(),
      ),
    );
    return new Set(lists.flat().map(({ tenantId, agentId }) => `${tenantId}/${agentId}`));
  }

  /** Removes what an agent reported of more bundles than are kept. */
  const trim = ({ tenantId, env, agentId }: StoredReport): Promise<number> =>
    deleteSome(reports, { tenantId, env, agentId }, { sort: { at: -1 }, skip: maxReportedBundles });

  return createBatcher(async (items) => {
    const agents = await registered(items);
    const latest = newest(items, idOf, ({ at }) => at).filter(({ tenantId, agentId }) =>
      agents.has(`${tenantId}/${agentId}`),
    );
    const writes = latest.map((report) => {
      const { policyVersion, at, ...place } = report;
      const filter = { _id: idOf(report), at: { $lte: at } };
      return {
        updateOne: { filter, update: { $set: { policyVersion, at }, $setOnInsert: place }, upsert: true },
      };
    });
    if (writes.length === 0) return items.map(() => true as const);
    let added: readonly number[] = [];
    const written = reports.bulkWrite(writes, { ordered: false }).then((result) => {
      added = Object.keys(result.upsertedIds).map(Number);
    });
    const refused = await takenAmong(written);
    // The stored report is newer, or another node inserted an older one at the same moment.
    const again = writes.filter((_, i) => refused.includes(i));
    if (again.length > 0) await takenAmong(reports.bulkWrite(again, { ordered: false }));
    await Promise.all(latest.filter((_, i) => added.includes(i)).map(trim));
    return items.map(() => true as const);
  }, maxBatch);
}
