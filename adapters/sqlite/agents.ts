// Agent registrations in SQLite. The versions that agents report are in agent-reports.ts.

import type { AgentPageRequest, AgentStore, RegistrationPatch } from '../../src/agent/port.ts';
import type { Registration } from '../../src/agent/record.ts';
import { manifestText, readManifest } from '../../src/event/record/json.ts';
import type { AgentManifest } from '../../src/event/record.ts';
import type { AgentApi } from '../../src/shared/vocabulary.ts';
import { agentReports, removeReports } from './agent-reports.ts';
import { agentSeen, registrationOf, registrations, summaries } from './agent-seen.ts';
import { searchAgents } from './agents-list.ts';
import type { Database, SqlValue } from './database.ts';
import { rowsOf } from './page.ts';
import type { Sync } from './sync.ts';
import { envClause } from './table.ts';

function agentsLastOn(
  db: Database,
  tenantId: string,
  { env, api, limit, after }: Parameters<AgentStore['listLastOn']>[1],
) {
  return db.snapshot(() => {
    const agentRows = db.all(
      `SELECT rowid FROM registrations WHERE tenant_id = ? AND last_env = ? AND last_api = ? AND loads_any = 0
         AND retired_at IS NULL AND agent_id > ? ORDER BY agent_id LIMIT ?`,
      [tenantId, env, api, after ?? '', limit + 1],
    );
    const names = agentRows.map(([rowid]) => rowid as SqlValue);
    const row = `SELECT ${summaries.columns} FROM registrations WHERE rowid = ?`;
    return rowsOf(db, names, limit, { row, read: summaries.read });
  });
}

function listAgents(db: Database, tenantId: string, { limit, after }: AgentPageRequest) {
  return db.snapshot(() => {
    const agentRows = db.all(
      `SELECT rowid FROM registrations WHERE tenant_id = ? AND retired_at IS NULL AND agent_id > ?
         ORDER BY agent_id LIMIT ?`,
      [tenantId, after ?? '', limit + 1],
    );
    const names = agentRows.map(([rowid]) => rowid as SqlValue);
    const row = `SELECT ${registrations.columns} FROM registrations WHERE rowid = ?`;
    return rowsOf(db, names, limit, { row, read: registrations.read });
  });
}

function updateAgent(
  db: Database,
  tenantId: string,
  agentId: string,
  patch: RegistrationPatch,
): Registration | null {
  const old = registrationOf(db)(tenantId, agentId);
  if (!old) return null;
  const bundleName = patch.bundleName === undefined ? old.bundleName : patch.bundleName;
  const next: Registration = {
    ...old,
    displayName: patch.displayName === undefined ? old.displayName : patch.displayName,
    tags: patch.tags ?? old.tags,
    bundleName,
    retiredAt: bundleName === null ? old.retiredAt : null,
  };
  db.run(
    'UPDATE registrations SET display_name = ?, tags = ?, bundle_name = ?, retired_at = ? WHERE id = ?',
    [next.displayName, JSON.stringify(next.tags), next.bundleName, next.retiredAt, old.id],
  );
  return next;
}

function manifestsOf(db: Database, tenantId: string, agentIds: readonly string[]): readonly AgentManifest[] {
  return agentIds.flatMap((agentId) => {
    const [manifest] =
      db.get('SELECT manifest FROM registrations WHERE tenant_id = ? AND agent_id = ?', [
        tenantId,
        agentId,
      ]) ?? [];
    return typeof manifest === 'string' ? [readManifest(manifest)] : [];
  });
}

function retireAgents(db: Database, before: number, now: number, limit: number): number {
  const retired = db.all(
    `UPDATE registrations SET retired_at = ? WHERE rowid IN (SELECT rowid FROM registrations
       WHERE bundle_name IS NULL AND retired_at IS NULL AND last_seen_at < ? ORDER BY last_seen_at LIMIT ?)
       RETURNING tenant_id, agent_id`,
    [now, before, limit],
  );
  removeReports(db, retired);
  return retired.length;
}

function removeAgents(db: Database, before: number, limit: number): number {
  const gone = db.all(
    `DELETE FROM registrations WHERE rowid IN (SELECT rowid FROM registrations
       WHERE bundle_name IS NULL AND last_seen_at < ? ORDER BY last_seen_at LIMIT ?) RETURNING tenant_id, agent_id`,
    [before, limit],
  );
  removeReports(db, gone);
  return gone.length;
}

export function agentStore(db: Database): Sync<AgentStore> {
  const get = registrationOf(db);

  return {
    ...agentReports(db),
    ...leftOutCounts(db),
    noteSeen: agentSeen(db),
    listLastOn: (tenantId, query) => agentsLastOn(db, tenantId, query),
    listVocabularies: (tenantId, agentIds) =>
      agentIds.flatMap((agentId) => {
        const row = db.get(
          'SELECT last_api, loads_any FROM registrations WHERE tenant_id = ? AND agent_id = ?',
          [tenantId, agentId],
        );
        return row ? [{ agentId, lastApi: row[0] as AgentApi | null, loadsAny: row[1] === 1 }] : [];
      }),
    get,
    list: (tenantId, page) => listAgents(db, tenantId, page),
    search: (tenantId, query) => searchAgents(db, tenantId, query),
    update: (tenantId, agentId, patch) => updateAgent(db, tenantId, agentId, patch),
    assign: (tenantId, agentIds, bundleName) =>
      [...new Set(agentIds)].filter(
        (agentId) =>
          db.run(
            `UPDATE registrations SET bundle_name = ?1, retired_at = CASE WHEN ?1 IS NULL THEN retired_at END
               WHERE tenant_id = ?2 AND agent_id = ?3`,
            [bundleName, tenantId, agentId],
          ) > 0,
      ),
    listManifests: (tenantId, agentIds) => manifestsOf(db, tenantId, agentIds),
    updateManifest: (tenantId, manifest, now) =>
      db.run(
        'UPDATE registrations SET manifest = ? WHERE tenant_id = ? AND agent_id = ? AND retired_at IS NULL',
        [manifestText({ ...manifest, updatedAt: now }), tenantId, manifest.agentId],
      ) > 0,
    count(tenantId, lastEnv = null) {
      const where = envClause(lastEnv, 'last_env');
      const sql = `SELECT count(*) FROM registrations WHERE tenant_id = ? AND retired_at IS NULL ${where.sql}`;
      return Number(db.get(sql, [tenantId, ...where.params])?.[0]);
    },
    retire: (before, now, limit) => retireAgents(db, before, now, limit),
    removeBefore: (before, limit) => removeAgents(db, before, limit),
  };
}

/** How many agents were served and not registered, by tenant and hour. */
function leftOutCounts(
  db: Database,
): Pick<Sync<AgentStore>, 'addLeftOut' | 'countLeftOut' | 'removeLeftOut'> {
  return {
    addLeftOut(tenantId, hour, count) {
      db.run(
        `INSERT INTO agents_left_out (tenant_id, hour, count) VALUES (?, ?, ?)
           ON CONFLICT (tenant_id, hour) DO UPDATE SET count = count + excluded.count`,
        [tenantId, hour, count],
      );
    },
    countLeftOut: (tenantId, hour) =>
      Number(
        db.get('SELECT count FROM agents_left_out WHERE tenant_id = ? AND hour = ?', [tenantId, hour])?.[0] ??
          0,
      ),
    removeLeftOut: (hour) => db.run('DELETE FROM agents_left_out WHERE hour < ?', [hour]),
  };
}
