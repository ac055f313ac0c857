// The tables of tool definitions, of the servers that list them, and of the modes and sequences of environments.

export const toolTables = `
CREATE TABLE tool_definitions (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, env TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL,
  fingerprint TEXT NOT NULL, bytes INTEGER NOT NULL, key_id TEXT, first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL, is_change INTEGER NOT NULL, decision TEXT, decided_by TEXT, decided_at INTEGER,
  reason TEXT, is_announced INTEGER NOT NULL, agents TEXT NOT NULL, definition TEXT);
CREATE INDEX tool_definitions_of_server ON tool_definitions (tenant_id, env, server, tool, first_seen_at);
CREATE INDEX tool_definitions_of_tool ON tool_definitions (tenant_id, server, tool);
CREATE INDEX tool_definitions_unseen ON tool_definitions (last_seen_at) WHERE decision IS NULL;
CREATE TABLE tool_servers (
  tenant_id TEXT NOT NULL, env TEXT NOT NULL, server TEXT NOT NULL, own_mode TEXT, info TEXT, refused TEXT NOT NULL,
  agent_id TEXT, last_seen_at INTEGER, PRIMARY KEY (tenant_id, env, server)) WITHOUT ROWID;
CREATE TABLE tool_environments (
  tenant_id TEXT NOT NULL, env TEXT NOT NULL, mode TEXT NOT NULL, sequence INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, env)) WITHOUT ROWID;
`;
