// Agent registrations and reported versions in MongoDB: a document per (tenant, agent), and one per (tenant, env,
// agent, bundle) reported. Both only ever move forward in time; making and changing a registration are writes that may
// be repeated.
import type { Collection, Filter } from 'mongodb';
import type { AgentStore } from '../../src/agent/port.ts';
import type { Registration, RegistrationSummary, Tags } from '../../src/agent/record.ts';
import { type AgentManifest, maxSearchMs } from '../../src/event/record.ts';
import type { AgentRow, LeftOutRow, ReportRow } from './agent-rows.ts';
import { stale, unlessTaken } from './failure.ts';
import { byTenant, fromRow, fromText, notAfter, searchPattern, toText } from './form.ts';
import { inOrder, lastReports, lastSeen } from './last-seen.ts';
import { pageOf } from './page.ts';

const leftOutId = (tenantId: string, hour: number): string => `${hour} ${tenantId}`;

const record = ({ tags, manifest, fence: _fence, ...rest }: AgentRow): Registration =>
  fromRow<Registration>({
    ...rest,
    seenEnvs: inOrder(rest.seenEnvs),
    tags: fromText<Tags>(tags) ?? {},
    manifest: fromText<AgentManifest & { readonly updatedAt: number }>(manifest),
  });

function summary({ tags, manifest: _manifest, fence: _fence, ...rest }: AgentRow): RegistrationSummary {
  const seenEnvs = inOrder(rest.seenEnvs);
  return fromRow<RegistrationSummary>({ ...rest, seenEnvs, tags: fromText<Tags>(tags) ?? {} });
}

export function mongoAgents(
  agents: Collection<AgentRow>,
  reports: Collection<ReportRow>,
  leftOut: Collection<LeftOutRow>,
): AgentStore {
  const one = (tenantId: string, agentId: string) => ({
    tenantId,
    agentId,
  });

  const noteSeen = lastSeen(agents);
  const reported = lastReports(agents, reports);

  const oldest = (filter: Filter<AgentRow>, limit: number) =>
    agents
      .find(filter, { projection: { tenantId: 1, agentId: 1 } })
      .sort({ lastSeenAt: 1 })
      .limit(limit)
      .toArray();

  /** What an agent reported would otherwise stay for ever. */
  async function dropReports(rows: readonly Pick<AgentRow, 'tenantId' | 'agentId'>[], before: number) {
    await Promise.all(
      byTenant(rows, ({ agentId }) => agentId).map(([tenantId, ids]) =>
        reports.deleteMany({ tenantId, agentId: { $in: [...ids] }, at: { $lt: before } }),
      ),
    );
  }

  return {
    async seen(tenantId, agentId, env, now, newId, on) {
      const { row, isNew } = await noteSeen({ tenantId, agentId, env, now, newId, on: on ?? null });
      return { registration: row && record(row), made: isNew };
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
    lastOn: (tenantId, { env, api, limit, after }) =>
      pageOf(
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
      ),
    async vocabularies(tenantId, agentIds) {
      const rows = await agents
        .find(
          { tenantId, agentId: { $in: [...agentIds] } },
          { projection: { agentId: 1, lastApi: 1, loadsAny: 1 } },
        )
        .toArray();
      return rows.map(({ agentId, lastApi = null, loadsAny = false }) => ({ agentId, lastApi, loadsAny }));
    },
    find(tenantId, { order, descending, search, limit, after }) {
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
    },
    async update(tenantId, agentId, { displayName, tags, bundleName }) {
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
    },
    async assign(tenantId, agentIds, bundleName, fence = 0) {
      const ofAgents = { tenantId, agentId: { $in: [...agentIds] } };
      const rows = await agents.find(ofAgents, { projection: { agentId: 1 } }).toArray();
      const registered = new Set(rows.map((row) => row.agentId));
      const { matchedCount } = await agents.updateMany(
        { tenantId, agentId: { $in: [...registered] }, ...notAfter(fence) },
        { $set: { bundleName, fence, ...(bundleName === null ? {} : { retiredAt: null }) } },
      );
      if (matchedCount < registered.size) throw stale();
      return [...new Set(agentIds)].filter((id) => registered.has(id));
    },
    async manifests(tenantId, agentIds) {
      const rows = await agents
        .find({ tenantId, agentId: { $in: [...agentIds] } }, { projection: { manifest: 1 } })
        .toArray();
      return rows.flatMap(({ manifest }) => fromText<AgentManifest>(manifest) ?? []);
    },
    async putManifest(tenantId, manifest, now) {
      const live = { ...one(tenantId, manifest.agent_id), retiredAt: null };
      await agents.updateOne(live, { $set: { manifest: toText({ ...manifest, updatedAt: now }) } });
    },
    async report(tenantId, env, report) {
      await reported({ tenantId, env, ...report });
    },
    async reports(tenantId, env, limit) {
      const rows = await reports.find({ tenantId, env }).sort({ at: -1 }).limit(limit).toArray();
      return rows.reverse().map(({ agentId, bundleName, policyVersion, at }) => ({
        agentId,
        bundleName,
        policyVersion,
        at,
      }));
    },
    count: (tenantId, lastEnv = null) =>
      agents.countDocuments({
        tenantId,
        retiredAt: null,
        ...(lastEnv === null ? {} : { lastEnv: typeof lastEnv === 'string' ? lastEnv : { $in: lastEnv } }),
      }),
    async retire(before, now, limit) {
      const idle = { bundleName: null, retiredAt: null, lastSeenAt: { $lt: before } };
      const rows = await oldest(idle, limit);
      // Asked again at the write: one that was seen or assigned in between stays.
      const ofRows = { ...idle, _id: { $in: rows.map((row) => row._id) } };
      const { matchedCount } = await agents.updateMany(ofRows, { $set: { retiredAt: now } });
      await dropReports(rows, before);
      return matchedCount;
    },
    async forget(before, limit) {
      const old = { bundleName: null, lastSeenAt: { $lt: before } };
      const rows = await oldest(old, limit);
      // Asked again at the removal: one that was seen in between stays.
      const { deletedCount } = await agents.deleteMany({ ...old, _id: { $in: rows.map((row) => row._id) } });
      await dropReports(rows, before);
      return deletedCount;
    },
    async addLeftOut(tenantId, hour, count) {
      const change = { $inc: { count }, $setOnInsert: { tenantId, hour } };
      const _id = leftOutId(tenantId, hour);
      if (await unlessTaken(leftOut.updateOne({ _id }, change, { upsert: true }))) return;
      await leftOut.updateOne({ _id }, { $inc: { count } });
    },
    async leftOut(tenantId, hour) {
      return (await leftOut.findOne({ _id: leftOutId(tenantId, hour) }))?.count ?? 0;
    },
    async forgetLeftOut(hour) {
      return (await leftOut.deleteMany({ hour: { $lt: hour } })).deletedCount;
    },
  };
}
