// Which versions agents report that they run, by environment and bundle; the newest few of each agent are kept.

import type { AgentStore } from '../../src/agent/port.ts';
import {
  maxReportedBundles,
  type Reported,
  reportRecord,
  type StoredReport,
} from '../../src/agent/record.ts';
import { environments } from '../../src/shared/ids.ts';
import { type Database, givenText, type Row } from './database.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const reports = tableOf<StoredReport>(reportRecord);
const { name, columns } = reportRecord;
const inOneEnv = tableOf<Reported>({
  name,
  columns: columns.filter(({ field }) => field !== 'tenantId' && field !== 'env'),
});

export function agentReports(db: Database): Pick<Sync<AgentStore>, 'report' | 'listReports'> {
  return {
    report(tenantId, env, report) {
      const { agentId } = report;
      const lives = 'SELECT 1 FROM registrations WHERE tenant_id = ? AND agent_id = ? AND retired_at IS NULL';
      if (!db.get(lives, [tenantId, agentId])) return;
      db.run(
        `${reports.insert}
           ON CONFLICT (tenant_id, env, agent_id, bundle_name IS NULL, ifnull(bundle_name, ''))
           DO UPDATE SET policy_version = excluded.policy_version, at = excluded.at WHERE excluded.at >= at`,
        reports.values({ tenantId, env, ...report }),
      );
      db.run(
        `DELETE FROM reports WHERE rowid IN (SELECT rowid FROM reports WHERE tenant_id = ? AND env = ? AND agent_id = ?
           ORDER BY at DESC LIMIT -1 OFFSET ?)`,
        [tenantId, env, agentId, maxReportedBundles],
      );
    },
    listReports: (tenantId, env, limit) =>
      db
        .all(
          `SELECT ${inOneEnv.columns} FROM reports WHERE tenant_id = ? AND env = ? ORDER BY at DESC LIMIT ?`,
          [tenantId, env, limit],
        )
        .map(inOneEnv.read)
        .reverse(),
  };
}

/** For agents that go: their reports would otherwise stay for ever. @param agents tenant and agent id */
export function removeReports(db: Database, agents: readonly Row[]): void {
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
