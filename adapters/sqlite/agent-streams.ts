// Streams that agents had, in SQLite.
import type { AgentStreamStore, AwayAgent } from '../../src/agent/port.ts';
import { maxPastStreams, type PastStream, pastStreamRecord } from '../../src/agent/record.ts';
import { type Database, givenText } from './database.ts';
import { finish, type Sync } from './sync.ts';
import { tableOf } from './table.ts';

// The last index finds streams that are forgotten.
export const agentStreamTable = `
CREATE TABLE agent_streams (
  id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL, env TEXT NOT NULL, agent_id TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER, is_end_noticed INTEGER NOT NULL, transport TEXT, node TEXT NOT NULL);
CREATE INDEX agent_streams_of ON agent_streams (tenant_id, env, agent_id, started_at);
CREATE INDEX agent_streams_ended ON agent_streams (tenant_id, env, ended_at, id);
CREATE INDEX agent_streams_begun ON agent_streams (started_at);
`;

export const agentStreams = tableOf<PastStream>(pastStreamRecord);

const ofAgent = 'tenant_id = ? AND env = ? AND agent_id = ?';
const select = `SELECT ${agentStreams.columns} FROM agent_streams`;

export function agentStreamStore(db: Database): Sync<AgentStreamStore> {
  const of: Sync<AgentStreamStore>['list'] = (tenantId, env, agentId, { since, until }) =>
    db
      .all(
        `${select} WHERE ${ofAgent} AND started_at < ? AND ended_at > ? ORDER BY started_at DESC, id LIMIT ?`,
        [tenantId, env, agentId, until, since, maxPastStreams],
      )
      .map(agentStreams.read);

  return {
    record(streams) {
      for (const stream of streams) {
        db.run(
          `${agentStreams.insert} ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at,
             is_end_noticed = excluded.is_end_noticed WHERE ended_at IS NULL AND excluded.ended_at IS NOT NULL`,
          agentStreams.values(stream),
        );
        const { tenantId, env, agentId } = stream;
        db.run(
          `DELETE FROM agent_streams WHERE rowid IN (SELECT rowid FROM agent_streams WHERE ${ofAgent}
             ORDER BY started_at DESC LIMIT -1 OFFSET ?)`,
          [tenantId, env, agentId, maxPastStreams],
        );
      }
    },
    list: of,
    listOpen: (tenantId, env, limit, after) =>
      db
        .all(
          `${select} WHERE tenant_id = ? AND env = ? AND ended_at IS NULL AND id > ? ORDER BY id LIMIT ?`,
          [tenantId, env, after ?? '', limit],
        )
        .map(agentStreams.read),
    listAway(tenantId, env, { since, awayBefore, leastMs }, limit) {
      const agents = db.all(
        `SELECT agent_id FROM agent_streams INDEXED BY agent_streams_ended
           WHERE tenant_id = ? AND env = ? AND ended_at > ?
           GROUP BY agent_id HAVING max(ended_at) <= ? AND sum(ended_at - max(started_at, ?)) >= ?
           LIMIT ?`,
        [tenantId, env, since, awayBefore, since, leastMs, limit],
      );
      return agents.map(([id]): AwayAgent => {
        const agentId = givenText(String(id));
        return { agentId, streams: finish(of(tenantId, env, agentId, { since, until: awayBefore })) };
      });
    },
    removeBefore: (before, limit) =>
      db.run(
        `DELETE FROM agent_streams WHERE rowid IN (SELECT rowid FROM agent_streams
           WHERE started_at < ?1 AND ended_at < ?1 ORDER BY started_at LIMIT ?2)`,
        [before, limit],
      ),
  };
}
