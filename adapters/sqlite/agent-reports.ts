// Which versions agents report that they run, by environment and bundle; the newest few of each agent are kept.

import type { AgentStore } from '../../src/agent/port.ts';
import { maxReportedBundles, type Reported } from '../../src/agent/record.ts';
import { environments } from '../../src/shared/ids.ts';
import { type Database, givenText, type Row } from './database.ts';
import type { Sync } from './sync.ts';
import { number, table, text } from './table.ts';

export const reports = table<Reported>('reports', {
  agentId: text('agent_id'),
  bundleName: text('bundle_name'),
  policyVersion: text('policy_version'),
  at: number('at'),
});

export function agentReports(db: Database): Pick<Sync<AgentStore>, 'report' | 'reports'> {
  return {
    report(tenantId, env, { agentId, bundleName, policyVersion, at }) {
      const lives = 'SELECT 1 FROM registrations WHERE tenant_id = ? AND agent_id = ? AND retired_at IS NULL';
      if (!db.get(lives, [tenantId, agentId])) return;
      db.run(
        `INSERT INTO reports (tenant_id, env, agent_id, bundle_name, policy_version, at) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (tenant_id, env, agent_id, bundle_name IS NULL, ifnull(bundle_name, ''))
           DO UPDATE SET policy_version = excluded.policy_version, at = excluded.at WHERE excluded.at >= at`,
        [tenantId, env, agentId, bundleName, policyVersion, at],
      );
      db.run(
        `DELETE FROM reports WHERE rowid IN (SELECT rowid FROM reports WHERE tenant_id = ? AND env = ? AND agent_id = ?
           ORDER BY at DESC LIMIT -1 OFFSET ?)`,
        [tenantId, env, agentId, maxReportedBundles],
      );
    },
    reports: (tenantId, env, limit) =>
      db
        .all(
          `SELECT ${reports.columns} FROM reports WHERE tenant_id = ? AND env = ? ORDER BY at DESC LIMIT ?`,
          [tenantId, env, limit],
        )
        .map(reports.read)
        .reverse(),
  };
}

/** For agents that go: their reports would otherwise stay for ever. @param agents tenant and agent id */
export function dropReports(db: Database, agents: readonly Row[]): void {
  for (const [tenantId, agentId] of agents) {
    for (const env of environments) {
      db.run('DELETE FROM reports WHERE tenant_id = ? AND env = ? AND agent_id = ?', [
        String(tenantId),
        env,
        givenText(String(agentId)),
      ]);
    }
  }
}
