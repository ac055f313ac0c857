// The tables of tool definitions, servers and environments in SQLite, a statement a method.
import type { PinMode } from 'reeve-agent/rules';
import type { Env } from '../../src/shared/ids.ts';
import {
  type DefinitionAgent,
  defaultPinMode,
  type FlatEntry,
  flatRuling,
  type PinRuling,
  type StoredToolServer,
  type ToolDefinition,
  type ToolEntry,
  type ToolObservation,
  type ToolRoom,
  type ToolServer,
  toolDefinitionRecord,
  toolEntryRecord,
  toolServerRecord,
} from '../../src/tool/record.ts';
import type { ObservationPlan } from '../../src/tool/rules/observation.ts';
import { agentsAfter, isStale } from '../../src/tool/rules/observers.ts';
import type { Database, Row } from './database.ts';
import { flag, tableOf } from './table.ts';

export const flatEntries = tableOf<FlatEntry>(toolEntryRecord);
/** The table's own column. */
interface Announced {
  readonly isAnnounced: boolean;
}
export const definitions = tableOf<FlatEntry & Pick<ToolDefinition, 'agents' | 'definition'>, Announced>(
  toolDefinitionRecord,
  { isAnnounced: flag('is_announced') },
);
export const servers = tableOf<StoredToolServer>(toolServerRecord);

export function entryOf({ decision, decidedBy, decidedAt, reason, ...rest }: FlatEntry): ToolEntry {
  const ruling =
    decision === null ? null : { decision, decidedBy: decidedBy ?? '', decidedAt: decidedAt ?? 0, reason };
  return { ...rest, ruling };
}

const flatOf = ({ ruling, ...rest }: ToolEntry): FlatEntry => ({ ...rest, ...flatRuling(ruling) });

export const readEntry = (row: Row): ToolEntry => entryOf(flatEntries.read(row));

export function readDefinition(row: Row): ToolDefinition {
  const { agents, definition, isAnnounced: _isAnnounced, ...flat } = definitions.read(row);
  return { ...entryOf(flat), agents, definition };
}

export const ofServer = 'tenant_id = ? AND env = ? AND server = ?';

export class ToolTable {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  environment(tenantId: string, env: Env): { readonly mode: PinMode; readonly sequence: number } {
    const row = this.#db.get('SELECT mode, sequence FROM tool_environments WHERE tenant_id = ? AND env = ?', [
      tenantId,
      env,
    ]);
    return row
      ? { mode: row[0] as PinMode, sequence: Number(row[1]) }
      : { mode: defaultPinMode, sequence: 0 };
  }

  putEnvironment(tenantId: string, env: Env, mode: PinMode, sequence: number): void {
    this.#db.run(
      `INSERT INTO tool_environments (tenant_id, env, mode, sequence) VALUES (?, ?, ?, ?)
         ON CONFLICT (tenant_id, env) DO UPDATE SET mode = excluded.mode, sequence = excluded.sequence`,
      [tenantId, env, mode, sequence],
    );
  }

  server(tenantId: string, env: Env, server: string): ToolServer | null {
    const row = this.#db.get(`SELECT ${servers.columns} FROM tool_servers WHERE ${ofServer}`, [
      tenantId,
      env,
      server,
    ]);
    return row ? serverOf(row) : null;
  }

  putServer(tenantId: string, env: Env, server: ToolServer): void {
    this.#db.run(
      `${servers.insert} ON CONFLICT (tenant_id, env, server) DO UPDATE SET own_mode = excluded.own_mode,
         info = excluded.info, refused = excluded.refused, agent_id = excluded.agent_id,
         last_seen_at = excluded.last_seen_at`,
      servers.values({ tenantId, env, ...server }),
    );
  }

  entriesOf(tenantId: string, env: Env, server: string | null): readonly ToolEntry[] {
    const where = server === null ? 'tenant_id = ? AND env = ?' : ofServer;
    const params = server === null ? [tenantId, env] : [tenantId, env, server];
    return this.#db
      .all(
        `SELECT ${flatEntries.columns} FROM tool_definitions WHERE ${where} ORDER BY tool, first_seen_at`,
        params,
      )
      .map(readEntry);
  }

  used(tenantId: string, env: Env, keyId: string | null): ToolRoom {
    const [definitions, bytes] = this.#db.get(
      `SELECT count(*), ifnull(sum(bytes), 0) FROM tool_definitions
         WHERE tenant_id = ? AND env = ?${keyId === null ? '' : ' AND key_id = ?'}`,
      keyId === null ? [tenantId, env] : [tenantId, env, keyId],
    ) ?? [0, 0];
    return { definitions: Number(definitions), bytes: Number(bytes) };
  }

  removeUnseen(tenantId: string, env: Env, before: number): number {
    return this.#db.run(
      'DELETE FROM tool_definitions WHERE tenant_id = ? AND env = ? AND decision IS NULL AND last_seen_at < ?',
      [tenantId, env, before],
    );
  }

  insert(entry: ToolEntry, isAnnounced: boolean, rest: Pick<ToolDefinition, 'agents' | 'definition'>): void {
    this.#db.run(definitions.insert, definitions.values({ ...flatOf(entry), ...rest, isAnnounced }));
  }

  rule(id: string, { decision, decidedBy, decidedAt, reason }: PinRuling): void {
    this.#db.run(
      'UPDATE tool_definitions SET decision = ?, decided_by = ?, decided_at = ?, reason = ? WHERE id = ?',
      [decision, decidedBy, decidedAt, reason, id],
    );
  }

  /** Writes a plan's texts and the observation's agent. */
  writeObservation({ added, completed }: ObservationPlan, { tools, agentId, at }: ToolObservation): void {
    const textOf = new Map(tools.map(({ id, definition }) => [id, definition]));
    const agents = [{ agentId, firstSeenAt: at, lastSeenAt: at }];
    for (const { isAnnounced, ...entry } of added) {
      const definition = entry.bytes > 0 ? (textOf.get(entry.id) ?? null) : null;
      this.insert(entry, isAnnounced, { agents, definition });
    }
    for (const [id, bytes] of completed) {
      this.#db.run('UPDATE tool_definitions SET definition = ?, bytes = ? WHERE id = ?', [
        textOf.get(id) ?? null,
        bytes,
        id,
      ]);
    }
    const addedIds = new Set(added.map(({ id }) => id));
    for (const { id } of tools) if (!addedIds.has(id)) this.#touch(id, agentId, at);
  }

  #touch(id: string, agentId: string, at: number): void {
    const row = this.#db.get('SELECT agents, last_seen_at FROM tool_definitions WHERE id = ?', [id]);
    if (!row) return;
    const [agents, lastSeenAt] = row;
    const after = agentsAfter(JSON.parse(String(agents)) as readonly DefinitionAgent[], agentId, at);
    if (after === null && !isStale(Number(lastSeenAt), at)) return;
    this.#db.run('UPDATE tool_definitions SET agents = ?, last_seen_at = max(last_seen_at, ?) WHERE id = ?', [
      after === null ? String(agents) : JSON.stringify(after),
      at,
      id,
    ]);
  }

  /** Notes the latest listing, unless it is equal and the last note is fresh. */
  noteServer({ tenantId, env, server, info, refused, agentId, at }: ToolObservation): void {
    const stored = this.server(tenantId, env, server);
    const next = {
      server,
      ownMode: stored?.ownMode ?? null,
      info,
      refused,
      agentId,
      lastSeenAt: Math.max(stored?.lastSeenAt ?? 0, at),
    };
    const isSame = JSON.stringify([stored?.info, stored?.refused]) === JSON.stringify([info, refused]);
    if (!stored || !isSame || isStale(stored.lastSeenAt, at)) this.putServer(tenantId, env, next);
  }
}

export function serverOf(row: Row): ToolServer {
  const { tenantId: _tenantId, env: _env, ...server } = servers.read(row);
  return server;
}
