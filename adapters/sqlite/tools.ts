// Tool definitions and the decisions about them in SQLite: each method is one transaction of the one writer.
import type { Env } from '../../src/shared/ids.ts';
import type {
  ModeChange,
  ModeChangeResult,
  ObservationOutcome,
  PinChange,
  PinChangeResult,
  ToolStore,
} from '../../src/tool/port.ts';
import {
  defaultPinMode,
  type ServerPins,
  type ToolEntry,
  type ToolObservation,
  type ToolServer,
} from '../../src/tool/record.ts';
import { planObservation } from '../../src/tool/rules/observation.ts';
import { firstSeenOf, firstSeenRuling, nextPinSequence } from '../../src/tool/rules/pinning.ts';
import type { Database } from './database.ts';
import { pageOf } from './page.ts';
import type { Sync } from './sync.ts';
import {
  definitions,
  flatEntries,
  ofServer,
  readDefinition,
  readEntry,
  serverOf,
  servers,
  ToolTable,
} from './tool-table.ts';

const pinsOf = (entries: readonly ToolEntry[]): ServerPins['pins'] =>
  entries.flatMap(({ tool, fingerprint, ruling }) =>
    ruling === null ? [] : [{ tool, fingerprint, decision: ruling.decision }],
  );

function pinsOfServer(tools: ToolTable, tenantId: string, env: Env, server: string): ServerPins {
  const { mode, sequence } = tools.environment(tenantId, env);
  const entries = tools.entriesOf(tenantId, env, server);
  return {
    mode: tools.server(tenantId, env, server)?.ownMode ?? mode,
    sequence,
    pins: pinsOf(entries),
  };
}

function observe(
  db: Database,
  tools: ToolTable,
  observation: ToolObservation,
  unseenBefore: number,
  rooms: Parameters<ToolStore['observe']>[2],
): ObservationOutcome {
  const { tenantId, env, server, keyId } = observation;
  const { mode, sequence } = tools.environment(tenantId, env);
  const state = () => ({
    mode: tools.server(tenantId, env, server)?.ownMode ?? mode,
    sequence,
    entries: new Map(tools.entriesOf(tenantId, env, server).map((entry) => [entry.id, entry])),
    used: {
      environment: tools.used(tenantId, env, null),
      key: tools.used(tenantId, env, keyId),
    },
  });
  let plan = planObservation(state(), observation, rooms);
  if (plan.withoutRoom.length > 0 && tools.removeUnseen(tenantId, env, unseenBefore) > 0) {
    plan = planObservation(state(), observation, rooms);
  }
  if (plan.sequence !== sequence) tools.putEnvironment(tenantId, env, mode, plan.sequence);
  tools.writeObservation(plan, observation);
  tools.noteServer(observation);
  const unannounced = db
    .all(
      `SELECT ${flatEntries.columns} FROM tool_definitions WHERE ${ofServer} AND is_announced = 0 ORDER BY tool`,
      [tenantId, env, server],
    )
    .map(readEntry);
  const { lacking, withoutRoom } = plan;
  return { ...pinsOfServer(tools, tenantId, env, server), lacking, withoutRoom, unannounced };
}

function decide(
  db: Database,
  tools: ToolTable,
  { tenantId, env, from, id, ruling }: PinChange,
): PinChangeResult | null {
  const row = db.get(`SELECT ${flatEntries.columns} FROM tool_definitions WHERE id = ?`, [id]);
  const entry = row ? readEntry(row) : null;
  const previous = entry?.ruling?.decision ?? null;
  if (previous === ruling.decision) return null;
  if (entry) tools.rule(id, ruling);
  else {
    const { decidedAt: at } = ruling;
    const { agents: _agents, definition, ...copy } = from;
    const isChange = tools.entriesOf(tenantId, env, from.server).some(({ tool }) => tool === from.tool);
    tools.insert({ ...copy, id, env, keyId: null, firstSeenAt: at, lastSeenAt: at, isChange, ruling }, true, {
      agents: [],
      definition,
    });
    if (!tools.server(tenantId, env, from.server)) {
      tools.putServer(tenantId, env, unseenServer(from.server));
    }
  }
  const { mode, sequence: last } = tools.environment(tenantId, env);
  const sequence = nextPinSequence(last, ruling.decidedAt);
  tools.putEnvironment(tenantId, env, mode, sequence);
  return { sequence, previous };
}

function updateMode(
  tools: ToolTable,
  { tenantId, env, server, mode, at }: ModeChange,
): ModeChangeResult | null {
  const before = tools.environment(tenantId, env);
  const stored = server === null ? null : tools.server(tenantId, env, server);
  if (mode === (server === null ? before.mode : (stored?.ownMode ?? null))) return null;
  if (server !== null) {
    tools.putServer(tenantId, env, { ...(stored ?? unseenServer(server)), ownMode: mode });
  }
  const environmentMode = server === null ? (mode ?? defaultPinMode) : before.mode;
  const followers = tools.entriesOf(tenantId, env, server).filter((entry) => {
    const own = tools.server(tenantId, env, entry.server)?.ownMode ?? null;
    return server === null ? own === null : true;
  });
  const becomesHold = (server === null ? environmentMode : (mode ?? environmentMode)) === 'hold';
  const accepted = becomesHold ? firstSeenOf(followers) : [];
  for (const { id } of accepted) tools.rule(id, firstSeenRuling(at));
  const sequence = nextPinSequence(before.sequence, at);
  tools.putEnvironment(tenantId, env, environmentMode, sequence);
  return { sequence, accepted: accepted.length };
}

export function toolStore(db: Database): Sync<ToolStore> {
  const tools = new ToolTable(db);

  return {
    ...readsOf(db, tools),
    getPins: (tenantId, env, server) => db.snapshot(() => pinsOfServer(tools, tenantId, env, server)),
    observe: (observation, unseenBefore, rooms) => observe(db, tools, observation, unseenBefore, rooms),
    announced(tenantId, env, ids) {
      for (const id of ids) {
        db.run('UPDATE tool_definitions SET is_announced = 1 WHERE id = ? AND tenant_id = ? AND env = ?', [
          id,
          tenantId,
          env,
        ]);
      }
    },
    decide: (change) => decide(db, tools, change),
    updateMode: (change) => updateMode(tools, change),
    removeBefore: (before, limit) =>
      db.run(
        `DELETE FROM tool_definitions WHERE id IN
           (SELECT id FROM tool_definitions WHERE decision IS NULL AND last_seen_at < ? LIMIT ?)`,
        [before, limit],
      ),
  };
}

const unseenServer = (server: string): ToolServer => ({
  server,
  ownMode: null,
  info: null,
  refused: [],
  agentId: null,
  lastSeenAt: null,
});

function readsOf(
  db: Database,
  tools: ToolTable,
): Pick<Sync<ToolStore>, 'listServers' | 'listEntries' | 'get' | 'listHistory'> {
  return {
    listServers: (tenantId, env) =>
      db.snapshot(() => ({
        ...tools.environment(tenantId, env),
        servers: db
          .all(
            `SELECT ${servers.columns} FROM tool_servers WHERE tenant_id = ? AND env = ? ORDER BY server`,
            [tenantId, env],
          )
          .map(serverOf),
      })),
    listEntries: (tenantId, { env, server }, page) =>
      pageOf(db, page, {
        which: `SELECT id FROM tool_definitions WHERE tenant_id = ? AND env = ?${server === null ? '' : ' AND server = ?'}
          ORDER BY decision IS NOT NULL, server, tool, first_seen_at, id`,
        params: server === null ? [tenantId, env] : [tenantId, env, server],
        row: `SELECT ${flatEntries.columns}, json_array_length(agents) FROM tool_definitions WHERE id = ?`,
        read: (row) => ({ ...readEntry(row), agentCount: Number(row.at(-1)) }),
      }),
    get(tenantId, id) {
      const row = db.get(
        `SELECT ${definitions.columns} FROM tool_definitions WHERE id = ? AND tenant_id = ?`,
        [id, tenantId],
      );
      return row ? readDefinition(row) : null;
    },
    listHistory: (tenantId, server, tool, limit) =>
      db
        .all(
          `SELECT ${definitions.columns} FROM tool_definitions WHERE tenant_id = ? AND server = ? AND tool = ?
             ORDER BY first_seen_at, id LIMIT ?`,
          [tenantId, server, tool, limit],
        )
        .map(readDefinition),
  };
}
