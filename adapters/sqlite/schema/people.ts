// The tables of tenants, their people, logins and keys. `roles` is a JSON list of a role and an environment each.
export const peopleTables = `
CREATE TABLE tenants (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL, suspended_at INTEGER, removed_at INTEGER);
CREATE TABLE users (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL REFERENCES tenants, email TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL, created_at INTEGER NOT NULL,
  roles TEXT NOT NULL DEFAULT '[{"role":"operator","env":"*"}]');
CREATE INDEX users_of_tenant ON users (tenant_id, email);
CREATE TABLE identities (
  issuer TEXT NOT NULL, subject TEXT NOT NULL, user_id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL,
  linked_at INTEGER NOT NULL, PRIMARY KEY (issuer, subject)) WITHOUT ROWID;
CREATE TABLE logins (
  token_hash TEXT PRIMARY KEY, user_id TEXT NOT NULL, tenant_id TEXT NOT NULL,
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL DEFAULT 0, network TEXT,
  browser TEXT, method TEXT, provider_session TEXT);
CREATE INDEX logins_of_user ON logins (user_id);
CREATE INDEX logins_expiry ON logins (expires_at);
CREATE INDEX logins_of_provider_session ON logins (provider_session) WHERE provider_session IS NOT NULL;
CREATE TABLE sign_ins (
  user_id TEXT NOT NULL, network TEXT NOT NULL, last_at INTEGER NOT NULL, PRIMARY KEY (user_id, network)) WITHOUT ROWID;
CREATE INDEX sign_ins_age ON sign_ins (last_at);
CREATE TABLE keys (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, env TEXT, label TEXT, prefix TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE, created_by TEXT NOT NULL, created_at INTEGER NOT NULL, last_used_at INTEGER,
  revoked_at INTEGER, agent_pattern TEXT, expires_at INTEGER);
CREATE INDEX keys_live ON keys (tenant_id, created_at) WHERE revoked_at IS NULL;
CREATE TABLE seals (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE settings (
  tenant_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, updated_at INTEGER NOT NULL, updated_by TEXT NOT NULL,
  PRIMARY KEY (tenant_id, name)) WITHOUT ROWID;
`;
