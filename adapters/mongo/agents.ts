// Agent registrations and reported versions in MongoDB: a document per (tenant, agent), and one per (tenant, env,
// agent, bundle) reported. Both only ever move forward in time; making and changing a registration are writes that may
// be repeated.

import type { Collection, Filter } from 'mongodb';
import type { AgentQuery, AgentStore, RegistrationPatch, SeenRegistration } from '../../src/agent/port.ts';
import {
  type Registration,
  type RegistrationSummary,
  type Reported,
  registrationRecord,
} from '../../src/agent/record.ts';
import { manifestText, readManifest } from '../../src/event/record/json.ts';
import { type AgentManifest, maxSearchMs } from '../../src/event/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import type { AgentRow, LeftOutRow, ReportRow } from './agent-rows.ts';
import { stale, unlessTaken } from './failure.ts';
import { byTenant, notAfter, searchPattern } from './form.ts';
import { inOrder, lastReports, lastSeen } from './last-seen.ts';
import { pageOf } from './page.ts';
import type { SeenTimes } from './seen-times.ts';

const leftOutId = (tenantId: string, hour: number): string => `${hour} ${tenantId}`;

const record = (row: AgentRow): Registration =>
  registrationRecord.fromDocument({ ...row, seenEnvs: inOrder(row.seenEnvs) });

const toSeenRegistration = ({ bundleName, tags, retiredAt }: Registration): SeenRegistration => ({
  bundleName,
  tags,
  retiredAt,
});

function summary(row: AgentRow): RegistrationSummary {
  const { manifest: _manifest, ...rest } = record(row);
  return rest;
}

const one = (tenantId: string, agentId: string) => ({
  tenantId,
  agentId,
});

const oldest = (agents: Collection<AgentRow>, filter: Filter<AgentRow>, limit: number) =>
  agents
    .find(filter, { projection: { tenantId: 1, agentId: 1 } })
    .sort({ lastSeenAt: 1 })
    .limit(limit)
    .toArray();

/** The reports of an agent would otherwise stay for ever. */
async function removeReports(
  reports: Collection<ReportRow>,
  rows: readonly Pick<AgentRow, 'tenantId' | 'agentId'>[],
  before: number,
) {
  await Promise.all(
    byTenant(rows, ({ agentId }) => agentId).map(([tenantId, ids]) =>
      reports.deleteMany({ tenantId, agentId: { $in: [...ids] }, at: { $lt: before } }),
    ),
  );
}

function agentsLastOn(
  agents: Collection<AgentRow>,
  tenantId: string,
  { env, api, limit, after }: Parameters<AgentStore['listLastOn']>[1],
) {
  return pageOf(
    agents
      .find(
        {
          tenantId,
          retiredAt: null,
          lastEnv: env,
          lastApi: api,
          loadsAny: { $ne: true },
          agentId: { $gt: after ?? '' },
        },
        { projection: { manifest: 0 }, maxTimeMS: maxSearchMs },
      )
      .sort({ agentId: 1 }),
    { limit, offset: 0 },
    summary,
  );
}

async function vocabulariesOf(agents: Collection<AgentRow>, tenantId: string, agentIds: readonly string[]) {
  const rows = await agents
    .find(
      { tenantId, agentId: { $in: [...agentIds] } },
      { projection: { agentId: 1, lastApi: 1, loadsAny: 1 } },
    )
    .toArray();
  return rows.map(({ agentId, lastApi = null, loadsAny = false }) => ({ agentId, lastApi, loadsAny }));
}

function searchAgents(
  agents: Collection<AgentRow>,
  tenantId: string,
  { order, descending, search, limit, after }: AgentQuery,
) {
  const pattern = search && { $regex: searchPattern(search) };
  const behind = descending ? ('$lt' as const) : ('$gt' as const);
  const direction = descending ? -1 : 1;
  const filter: Filter<AgentRow> = {
    tenantId,
    retiredAt: null,
    $and: [
      pattern ? { $or: [{ agentId: pattern }, { displayName: pattern }] } : {},
      after === null
        ? {}
        : order === 'agentId'
          ? { agentId: { [behind]: after.agentId } }
          : {
              $or: [
                { [order]: { [behind]: after.at } },
                { [order]: after.at, agentId: { $gt: after.agentId } },
              ],
            },
    ],
  };
  const cursor = agents.find(filter, { projection: { manifest: 0 }, maxTimeMS: maxSearchMs });
  const sorted =
    order === 'agentId'
      ? cursor.sort({ agentId: direction })
      : cursor.sort({ [order]: direction, agentId: 1 });
  return pageOf(sorted, { limit, offset: 0 }, summary);
}

async function updateAgent(
  agents: Collection<AgentRow>,
  tenantId: string,
  agentId: string,
  { displayName, tags, bundleName }: RegistrationPatch,
): Promise<Registration | null> {
  const set = {
    ...(displayName === undefined ? {} : { displayName }),
    ...(tags === undefined ? {} : { tags: JSON.stringify(tags) }),
    ...(bundleName === undefined ? {} : { bundleName }),
    ...(typeof bundleName === 'string' ? { retiredAt: null } : {}),
  };
  const row =
    Object.keys(set).length === 0
      ? await agents.findOne(one(tenantId, agentId))
      : await agents.findOneAndUpdate(one(tenantId, agentId), { $set: set }, { returnDocument: 'after' });
  return row && record(row);
}

async function assignAgents(
  agents: Collection<AgentRow>,
  tenantId: string,
  agentIds: readonly string[],
  bundleName: string | null,
  fence = 0,
): Promise<readonly string[]> {
  const ofAgents = { tenantId, agentId: { $in: [...agentIds] } };
  const rows = await agents.find(ofAgents, { projection: { agentId: 1 } }).toArray();
  const registered = new Set(rows.map((row) => row.agentId));
  const { matchedCount } = await agents.updateMany(
    { tenantId, agentId: { $in: [...registered] }, ...notAfter(fence) },
    { $set: { bundleName, fence, ...(bundleName === null ? {} : { retiredAt: null }) } },
  );
  if (matchedCount < registered.size) throw stale();
  return [...new Set(agentIds)].filter((id) => registered.has(id));
}

async function reportsIn(
  reports: Collection<ReportRow>,
  tenantId: string,
  env: Env,
  limit: number,
): Promise<readonly Reported[]> {
  const rows = await reports.find({ tenantId, env }).sort({ at: -1 }).limit(limit).toArray();
  return rows.reverse().map(({ agentId, bundleName, policyVersion, at }) => ({
    agentId,
    bundleName,
    policyVersion,
    at,
  }));
}

async function retireAgents(
  agents: Collection<AgentRow>,
  reports: Collection<ReportRow>,
  before: number,
  now: number,
  limit: number,
): Promise<number> {
  const idle = { bundleName: null, retiredAt: null, lastSeenAt: { $lt: before } };
  const rows = await oldest(agents, idle, limit);
  // Asked again at the write: one that was seen or assigned in between stays.
  const ofRows = { ...idle, _id: { $in: rows.map((row) => row._id) } };
  const { matchedCount } = await agents.updateMany(ofRows, { $set: { retiredAt: now } });
  await removeReports(reports, rows, before);
  return matchedCount;
}

async function removeAgents(
  agents: Collection<AgentRow>,
  reports: Collection<ReportRow>,
  before: number,
  limit: number,
): Promise<number> {
  const old = { bundleName: null, lastSeenAt: { $lt: before } };
  const rows = await oldest(agents, old, limit);
  // Asked again at the removal: one that was seen in between stays.
  const { deletedCount } = await agents.deleteMany({ ...old, _id: { $in: rows.map((row) => row._id) } });
  await removeReports(reports, rows, before);
  return deletedCount;
}

async function addLeftOut(
  leftOut: Collection<LeftOutRow>,
  tenantId: string,
  hour: number,
  count: number,
): Promise<void> {
  const change = { $inc: { count }, $setOnInsert: { tenantId, hour } };
  const _id = leftOutId(tenantId, hour);
  if (await unlessTaken(leftOut.updateOne({ _id }, change, { upsert: true }))) return;
  await leftOut.updateOne({ _id }, { $inc: { count } });
}

async function manifestsOf(
  agents: Collection<AgentRow>,
  tenantId: string,
  agentIds: readonly string[],
): Promise<readonly AgentManifest[]> {
  const filter = { tenantId, agentId: { $in: [...agentIds] } };
  const rows = await agents.find(filter, { projection: { manifest: 1 } }).toArray();
  return rows.flatMap(({ manifest }) => (typeof manifest === 'string' ? [readManifest(manifest)] : []));
}

export function mongoAgents(
  agents: Collection<AgentRow>,
  reports: Collection<ReportRow>,
  leftOut: Collection<LeftOutRow>,
  times: SeenTimes,
): AgentStore {
  const noteSeen = lastSeen(agents, times);
  const reported = lastReports(agents, reports);

  return {
    async noteSeen(tenantId, agentId, env, now, newId, on) {
      const { row, isNew } = await noteSeen({ tenantId, agentId, env, now, newId, on: on ?? null });
      return { registration: row && toSeenRegistration(record(row)), isNew };
    },
    async get(tenantId, agentId) {
      const row = await agents.findOne(one(tenantId, agentId));
      return row && record(row);
    },
    list: (tenantId, { limit, after }) =>
      pageOf(
        agents.find({ tenantId, retiredAt: null, agentId: { $gt: after ?? '' } }).sort({ agentId: 1 }),
        { limit, offset: 0 },
        record,
      ),
    listLastOn: (tenantId, query) => agentsLastOn(agents, tenantId, query),
    listVocabularies: (tenantId, agentIds) => vocabulariesOf(agents, tenantId, agentIds),
    search: (tenantId, query) => searchAgents(agents, tenantId, query),
    update: (tenantId, agentId, patch) => updateAgent(agents, tenantId, agentId, patch),
    assign: (tenantId, agentIds, bundleName, fence) =>
      assignAgents(agents, tenantId, agentIds, bundleName, fence),
    listManifests: (tenantId, agentIds) => manifestsOf(agents, tenantId, agentIds),
    async updateManifest(tenantId, manifest, now) {
      const live = { ...one(tenantId, manifest.agentId), retiredAt: null };
      const stored = { manifest: manifestText({ ...manifest, updatedAt: now }) };
      return (await agents.updateOne(live, { $set: stored })).matchedCount > 0;
    },
    async report(tenantId, env, report) {
      await reported({ tenantId, env, ...report });
    },
    listReports: (tenantId, env, limit) => reportsIn(reports, tenantId, env, limit),
    count: (tenantId, lastEnv = null) =>
      agents.countDocuments({
        tenantId,
        retiredAt: null,
        ...(lastEnv === null ? {} : { lastEnv: typeof lastEnv === 'string' ? lastEnv : { $in: lastEnv } }),
      }),
    retire: (before, now, limit) => retireAgents(agents, reports, before, now, limit),
    removeBefore: (before, limit) => removeAgents(agents, reports, before, limit),
    addLeftOut: (tenantId, hour, count) => addLeftOut(leftOut, tenantId, hour, count),
    async countLeftOut(tenantId, hour) {
      return (await leftOut.findOne({ _id: leftOutId(tenantId, hour) }))?.count ?? 0;
    },
    async removeLeftOut(hour) {
      return (await leftOut.deleteMany({ hour: { $lt: hour } })).deletedCount;
    },
  };
}
