// Roles of users, by environment, and what is shown of logins.

/** Networks that somebody signed in from. */
export const signIns = `
CREATE TABLE sign_ins (
  user_id TEXT NOT NULL, network TEXT NOT NULL, last_at INTEGER NOT NULL, PRIMARY KEY (user_id, network)) WITHOUT ROWID;
CREATE INDEX sign_ins_age ON sign_ins (last_at);
`;

/** Users have roles: an admin in all environments, or an operator. */
export const userRoles = `
ALTER TABLE users ADD COLUMN roles TEXT NOT NULL DEFAULT '[{"role":"operator","env":"*"}]';
UPDATE users SET roles = '[{"role":"admin","env":"*"}]' WHERE is_admin = 1;
ALTER TABLE users DROP COLUMN is_admin;
`;

/** Tenants can be suspended and removed. */
export const closedTenants = `
ALTER TABLE tenants ADD COLUMN suspended_at INTEGER;
ALTER TABLE tenants ADD COLUMN removed_at INTEGER;
`;

/** Logins say when they were used last, and where and how somebody signed in. */
export const loginOrigins = `
ALTER TABLE logins ADD COLUMN last_seen_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE logins ADD COLUMN network TEXT;
ALTER TABLE logins ADD COLUMN browser TEXT;
ALTER TABLE logins ADD COLUMN method TEXT;
UPDATE logins SET last_seen_at = created_at;
`;

/** People may be accounts of the identity provider. */
export const identityTables = `
CREATE TABLE identities (
  issuer TEXT NOT NULL, subject TEXT NOT NULL, user_id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL,
  linked_at INTEGER NOT NULL, PRIMARY KEY (issuer, subject)) WITHOUT ROWID;
ALTER TABLE logins ADD COLUMN provider_session TEXT;
CREATE INDEX logins_of_provider_session ON logins (provider_session) WHERE provider_session IS NOT NULL;
`;
