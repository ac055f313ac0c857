// Agent registrations and reported versions in SQLite.
import type { Registration, Reported } from '../../src/domain/agent.ts';
import { type Env, environments } from '../../src/domain/ids.ts';
import type { AgentStore } from '../../src/ports/agents.ts';
import { type Database, givenText } from './database.ts';
import type { Sync } from './sync.ts';
import { json, number, table, text } from './table.ts';

const registrations = table<Registration>('registrations', {
  id: text('id'),
  tenantId: text('tenant_id'),
  agentId: text('agent_id'),
  displayName: text('display_name'),
  tags: json('tags'),
  bundleName: text('bundle_name'),
  manifest: json('manifest'),
  lastEnv: text('last_env'),
  lastSeenAt: number('last_seen_at'),
  createdAt: number('created_at'),
});

const reports = table<Reported>('reports', {
  agentId: text('agent_id'),
  bundleName: text('bundle_name'),
  policyVersion: text('policy_version'),
  at: number('at'),
});

export function agentStore(db: Database): Sync<AgentStore> {
  const get = (tenantId: string, agentId: string) =>
    registrations.maybe(
      db.get(`SELECT ${registrations.columns} FROM registrations WHERE tenant_id = ? AND agent_id = ?`, [
        tenantId,
        agentId,
      ]),
    );

  function seen(tenantId: string, agentId: string, env: Env, now: number, newId: string): Registration {
    const row = db.get(
      `UPDATE registrations SET last_env = ?1, last_seen_at = ?2
         WHERE tenant_id = ?3 AND agent_id = ?4 AND ifnull(last_seen_at, ?2) <= ?2 RETURNING ${registrations.columns}`,
      [env, now, tenantId, agentId],
    );
    const known = row ? registrations.read(row) : get(tenantId, agentId);
    if (known) return known;
    const made: Registration = {
      id: newId,
      tenantId,
      agentId,
      displayName: null,
      tags: {},
      bundleName: null,
      manifest: null,
      lastEnv: env,
      lastSeenAt: now,
      createdAt: now,
    };
    db.run(registrations.insert, registrations.values(made));
    return made;
  }

  return {
    seen,
    get,
    list: (tenantId) =>
      db
        .all(`SELECT ${registrations.columns} FROM registrations WHERE tenant_id = ? ORDER BY agent_id`, [
          tenantId,
        ])
        .map(registrations.read),
    update(tenantId, agentId, patch) {
      const old = get(tenantId, agentId);
      if (!old) return null;
      const next: Registration = {
        ...old,
        displayName: patch.displayName === undefined ? old.displayName : patch.displayName,
        tags: patch.tags ?? old.tags,
        bundleName: patch.bundleName === undefined ? old.bundleName : patch.bundleName,
      };
      db.run('UPDATE registrations SET display_name = ?, tags = ?, bundle_name = ? WHERE id = ?', [
        next.displayName,
        JSON.stringify(next.tags),
        next.bundleName,
        old.id,
      ]);
      return next;
    },
    assign: (tenantId, agentIds, bundleName) =>
      agentIds.filter(
        (agentId) =>
          db.run('UPDATE registrations SET bundle_name = ? WHERE tenant_id = ? AND agent_id = ?', [
            bundleName,
            tenantId,
            agentId,
          ]) > 0,
      ),
    putManifest(tenantId, env, manifest, now, newId) {
      const { id } = seen(tenantId, manifest.agent_id, env, now, newId);
      db.run('UPDATE registrations SET manifest = ? WHERE id = ?', [
        JSON.stringify({ ...manifest, updatedAt: now }),
        id,
      ]);
    },
    report(tenantId, env, { agentId, bundleName, policyVersion, at }) {
      db.run(
        `INSERT INTO reports (tenant_id, env, agent_id, bundle_name, policy_version, at) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (tenant_id, env, agent_id, bundle_name IS NULL, ifnull(bundle_name, ''))
           DO UPDATE SET policy_version = excluded.policy_version, at = excluded.at WHERE excluded.at >= at`,
        [tenantId, env, agentId, bundleName, policyVersion, at],
      );
    },
    reports: (tenantId, env) =>
      db
        .all(`SELECT ${reports.columns} FROM reports WHERE tenant_id = ? AND env = ? ORDER BY agent_id, at`, [
          tenantId,
          env,
        ])
        .map(reports.read),
    count: (tenantId) =>
      Number(db.get('SELECT count(*) FROM registrations WHERE tenant_id = ?', [tenantId])?.[0]),
    forget(before, limit) {
      const gone = db.all(
        `DELETE FROM registrations WHERE rowid IN (SELECT rowid FROM registrations
           WHERE bundle_name IS NULL AND last_seen_at < ? ORDER BY last_seen_at LIMIT ?) RETURNING tenant_id, agent_id`,
        [before, limit],
      );
      // What a forgotten agent reported would otherwise stay for ever.
      for (const [tenantId, agentId] of gone) {
        for (const env of environments) {
          db.run('DELETE FROM reports WHERE tenant_id = ? AND env = ? AND agent_id = ?', [
            String(tenantId),
            env,
            givenText(String(agentId)),
          ]);
        }
      }
      return gone.length;
    },
  };
}
