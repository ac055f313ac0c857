// Agent registrations and reported versions in MongoDB: a document per (tenant, agent), and one per (tenant, env, agent, bundle) reported.
// Both only ever move forward in time; making and changing a registration are writes that may be repeated.
import type { Collection } from 'mongodb';
import type { Registration, Reported, Tags } from '../../src/domain/agent.ts';
import type { AgentManifest } from '../../src/domain/event.ts';
import type { Env } from '../../src/domain/ids.ts';
import type { AgentStore } from '../../src/ports/agents.ts';
import { isDuplicate, stale, unavailable } from './failure.ts';
import { type Fenced, fromRow, fromText, notAfter, type Row, toText } from './form.ts';

export type AgentRow = Omit<Row<Registration>, 'tags' | 'manifest'> &
  Fenced & {
    readonly tags: string;
    readonly manifest: string | null;
  };

export type ReportRow = Reported & { readonly tenantId: string; readonly env: Env };

const attempts = 20;

const record = ({ tags, manifest, fence: _fence, ...rest }: AgentRow): Registration =>
  fromRow<Registration>({
    ...rest,
    tags: fromText<Tags>(tags) ?? {},
    manifest: fromText<AgentManifest & { readonly updatedAt: number }>(manifest),
  });

export function mongoAgents(agents: Collection<AgentRow>, reports: Collection<ReportRow>): AgentStore {
  const one = (tenantId: string, agentId: string) => ({
    tenantId: { $eq: tenantId },
    agentId: { $eq: agentId },
  });

  async function seen(
    tenantId: string,
    agentId: string,
    env: Env,
    now: number,
    newId: string,
  ): Promise<AgentRow> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const moved = await agents.findOneAndUpdate(
        { ...one(tenantId, agentId), $or: [{ lastSeenAt: null }, { lastSeenAt: { $lte: now } }] },
        { $set: { lastEnv: env, lastSeenAt: now } },
        { returnDocument: 'after' },
      );
      if (moved) return moved;
      const newer = await agents.findOne(one(tenantId, agentId));
      if (newer && (newer.lastSeenAt ?? 0) > now) return newer;
      if (newer) continue;
      const row: AgentRow = {
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
      };
      try {
        await agents.insertOne(row);
        return row;
      } catch (error) {
        if (!isDuplicate(error)) throw error;
      }
    }
    throw unavailable();
  }

  return {
    async seen(tenantId, agentId, env, now, newId) {
      return record(await seen(tenantId, agentId, env, now, newId));
    },
    async get(tenantId, agentId) {
      const row = await agents.findOne(one(tenantId, agentId));
      return row && record(row);
    },
    async list(tenantId) {
      const rows = await agents
        .find({ tenantId: { $eq: tenantId } })
        .sort({ agentId: 1 })
        .toArray();
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
      const named = { tenantId: { $eq: tenantId }, agentId: { $in: [...agentIds] } };
      const rows = await agents.find(named, { projection: { agentId: 1 } }).toArray();
      const registered = new Set(rows.map((row) => row.agentId));
      const { matchedCount } = await agents.updateMany(
        { tenantId: { $eq: tenantId }, agentId: { $in: [...registered] }, ...notAfter(fence) },
        { $set: { bundleName, fence } },
      );
      if (matchedCount < registered.size) throw stale();
      return [...new Set(agentIds)].filter((id) => registered.has(id));
    },
    async putManifest(tenantId, env, manifest, now, newId) {
      await seen(tenantId, manifest.agent_id, env, now, newId);
      const text = toText({ ...manifest, updatedAt: now });
      await agents.updateOne(one(tenantId, manifest.agent_id), { $set: { manifest: text } });
    },
    async report(tenantId, env, { agentId, bundleName, policyVersion, at }) {
      try {
        await reports.updateOne(
          { ...one(tenantId, agentId), env: { $eq: env }, bundleName: { $eq: bundleName }, at: { $lte: at } },
          { $set: { policyVersion, at } },
          { upsert: true },
        );
      } catch (error) {
        // The one that is there is newer.
        if (!isDuplicate(error)) throw error;
        await reports.updateOne(
          { ...one(tenantId, agentId), env: { $eq: env }, bundleName: { $eq: bundleName }, at: { $lte: at } },
          { $set: { policyVersion, at } },
        );
      }
    },
    async reports(tenantId, env) {
      const rows = await reports.find({ tenantId: { $eq: tenantId }, env: { $eq: env } }).toArray();
      return rows.map(({ agentId, bundleName, policyVersion, at }) => ({
        agentId,
        bundleName,
        policyVersion,
        at,
      }));
    },
    count: (tenantId) => agents.countDocuments({ tenantId: { $eq: tenantId } }),
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
