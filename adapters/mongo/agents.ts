// Agent registrations and reported versions in MongoDB: a document per (tenant, agent), and one per (tenant, env, agent, bundle) reported.
// Both only ever move forward in time; making and changing a registration are writes that may be repeated.
import type { Collection } from 'mongodb';
import type { Registration, Tags } from '../../src/domain/agent.ts';
import type { AgentManifest } from '../../src/domain/event.ts';
import type { AgentStore } from '../../src/ports/agents.ts';
import type { AgentRow, ReportRow } from './agent-rows.ts';
import { stale } from './failure.ts';
import { fromRow, fromText, notAfter, toText } from './form.ts';
import { lastReports, lastSeen } from './last-seen.ts';

const record = ({ tags, manifest, fence: _fence, ...rest }: AgentRow): Registration =>
  fromRow<Registration>({
    ...rest,
    tags: fromText<Tags>(tags) ?? {},
    manifest: fromText<AgentManifest & { readonly updatedAt: number }>(manifest),
  });

export function mongoAgents(agents: Collection<AgentRow>, reports: Collection<ReportRow>): AgentStore {
  const one = (tenantId: string, agentId: string) => ({
    tenantId,
    agentId,
  });

  const seen = lastSeen(agents);
  const reported = lastReports(reports);

  return {
    async seen(tenantId, agentId, env, now, newId) {
      return record(await seen({ tenantId, agentId, env, now, newId }));
    },
    async get(tenantId, agentId) {
      const row = await agents.findOne(one(tenantId, agentId));
      return row && record(row);
    },
    async list(tenantId) {
      const rows = await agents.find({ tenantId }).sort({ agentId: 1 }).toArray();
      return rows.map(record);
    },
    async update(tenantId, agentId, { displayName, tags, bundleName }) {
      const set = {
        ...(displayName === undefined ? {} : { displayName }),
        ...(tags === undefined ? {} : { tags: JSON.stringify(tags) }),
        ...(bundleName === undefined ? {} : { bundleName }),
      };
      const row =
        Object.keys(set).length === 0
          ? await agents.findOne(one(tenantId, agentId))
          : await agents.findOneAndUpdate(one(tenantId, agentId), { $set: set }, { returnDocument: 'after' });
      return row && record(row);
    },
    async assign(tenantId, agentIds, bundleName, fence = 0) {
      const named = { tenantId, agentId: { $in: [...agentIds] } };
      const rows = await agents.find(named, { projection: { agentId: 1 } }).toArray();
      const registered = new Set(rows.map((row) => row.agentId));
      const { matchedCount } = await agents.updateMany(
        { tenantId, agentId: { $in: [...registered] }, ...notAfter(fence) },
        { $set: { bundleName, fence } },
      );
      if (matchedCount < registered.size) throw stale();
      return [...new Set(agentIds)].filter((id) => registered.has(id));
    },
    async putManifest(tenantId, env, manifest, now, newId) {
      await seen({ tenantId, agentId: manifest.agent_id, env, now, newId });
      const text = toText({ ...manifest, updatedAt: now });
      await agents.updateOne(one(tenantId, manifest.agent_id), { $set: { manifest: text } });
    },
    async report(tenantId, env, report) {
      await reported({ tenantId, env, ...report });
    },
    async reports(tenantId, env) {
      const rows = await reports.find({ tenantId, env }).toArray();
      return rows.map(({ agentId, bundleName, policyVersion, at }) => ({
        agentId,
        bundleName,
        policyVersion,
        at,
      }));
    },
    count: (tenantId) => agents.countDocuments({ tenantId }),
    async forget(before, limit) {
      const old = { bundleName: null, lastSeenAt: { $lt: before } };
      const rows = await agents
        .find(old, { projection: { tenantId: 1, agentId: 1 } })
        .sort({ lastSeenAt: 1 })
        .limit(limit)
        .toArray();
      if (rows.length === 0) return 0;
      // Asked again at the removal: one that was seen in between stays.
      const { deletedCount } = await agents.deleteMany({ ...old, _id: { $in: rows.map((row) => row._id) } });
      for (const { tenantId, agentId } of rows) {
        await reports.deleteMany({ ...one(tenantId, agentId), at: { $lt: before } });
      }
      return deletedCount;
    },
  };
}
