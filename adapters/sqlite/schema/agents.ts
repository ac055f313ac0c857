// The tables of agents: registrations, reports of versions, assignment rules and session values. `seen_envs` has bits:
// production 1, staging 2, development 4. Some indexes are partial, because there may be many more retired
// registrations than living ones. Values stand last in their rows, so that other columns are read without them; the
// triggers keep the sums of quotas right for every writer.
export const agentTables = `
CREATE TABLE registrations (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, agent_id TEXT NOT NULL, display_name TEXT, tags TEXT NOT NULL,
  bundle_name TEXT, manifest TEXT, last_env TEXT, last_seen_at INTEGER, created_at INTEGER NOT NULL,
  retired_at INTEGER, last_api TEXT, loads_any INTEGER NOT NULL DEFAULT 0, seen_envs INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant_id, agent_id));
CREATE INDEX registrations_unassigned ON registrations (last_seen_at) WHERE bundle_name IS NULL;
CREATE INDEX registrations_live ON registrations (tenant_id, agent_id) WHERE retired_at IS NULL;
CREATE INDEX registrations_idle ON registrations (last_seen_at) WHERE bundle_name IS NULL AND retired_at IS NULL;
CREATE INDEX registrations_spoken ON registrations (tenant_id, last_env, last_api, agent_id)
  WHERE retired_at IS NULL AND loads_any = 0;
CREATE TABLE agents_left_out (
  tenant_id TEXT NOT NULL, hour INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (tenant_id, hour)) WITHOUT ROWID;
CREATE TABLE reports (
  tenant_id TEXT NOT NULL, env TEXT NOT NULL, agent_id TEXT NOT NULL, bundle_name TEXT,
  policy_version TEXT NOT NULL, at INTEGER NOT NULL);
CREATE UNIQUE INDEX reports_of ON reports (tenant_id, env, agent_id, bundle_name IS NULL, ifnull(bundle_name, ''));
CREATE TABLE rules (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, priority INTEGER NOT NULL, pattern TEXT NOT NULL, tag_match TEXT,
  bundle_name TEXT NOT NULL, env TEXT NOT NULL, created_at INTEGER NOT NULL, UNIQUE (tenant_id, priority));

CREATE TABLE session_values (
  tenant_id TEXT NOT NULL, key TEXT NOT NULL, env TEXT NOT NULL, bytes INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  value TEXT NOT NULL, PRIMARY KEY (tenant_id, key));
CREATE INDEX session_values_expiry ON session_values (expires_at);
CREATE TABLE value_usage (
  tenant_id TEXT NOT NULL, env TEXT NOT NULL, bytes INTEGER NOT NULL, keys INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, env)) WITHOUT ROWID;
CREATE TRIGGER session_value_added AFTER INSERT ON session_values BEGIN
  INSERT INTO value_usage VALUES (NEW.tenant_id, NEW.env, NEW.bytes, 1)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, keys = keys + 1;
END;
CREATE TRIGGER session_value_removed AFTER DELETE ON session_values BEGIN
  UPDATE value_usage SET bytes = bytes - OLD.bytes, keys = keys - 1
    WHERE tenant_id = OLD.tenant_id AND env = OLD.env;
END;
CREATE TRIGGER session_value_changed AFTER UPDATE OF env, bytes ON session_values BEGIN
  UPDATE value_usage SET bytes = bytes - OLD.bytes, keys = keys - 1
    WHERE tenant_id = OLD.tenant_id AND env = OLD.env;
  INSERT INTO value_usage VALUES (NEW.tenant_id, NEW.env, NEW.bytes, 1)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, keys = keys + 1;
END;
`;
