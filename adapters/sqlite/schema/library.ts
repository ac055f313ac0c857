// The tables of contracts, compositions, bundles, deployments and the keys that sign them. A removed bundle keeps its
// row, so that its numbers and hashes are not given again. The last sequences outlive the deployments.
export const libraryTables = `
CREATE TABLE signing_keys (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, public_key TEXT NOT NULL, sealed_seed TEXT NOT NULL,
  active INTEGER NOT NULL, created_at INTEGER NOT NULL);
CREATE UNIQUE INDEX signing_keys_active ON signing_keys (tenant_id) WHERE active = 1;
CREATE TABLE key_successions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, tenant_id TEXT NOT NULL, previous_key TEXT NOT NULL,
  public_key TEXT NOT NULL, rotated_at INTEGER NOT NULL, signature TEXT NOT NULL);
CREATE INDEX key_successions_of ON key_successions (tenant_id, id);
CREATE TABLE contracts (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, contract_id TEXT NOT NULL, version INTEGER NOT NULL,
  name TEXT NOT NULL, description TEXT, type TEXT NOT NULL, definition TEXT NOT NULL, tags TEXT NOT NULL,
  created_by TEXT NOT NULL, created_at INTEGER NOT NULL, UNIQUE (tenant_id, contract_id, version));
CREATE INDEX contracts_newest ON contracts (tenant_id, created_at);
CREATE TABLE compositions (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name TEXT NOT NULL, description TEXT, defaults_mode TEXT NOT NULL,
  update_strategy TEXT NOT NULL, items TEXT NOT NULL, tools_config TEXT, observability TEXT,
  created_by TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, document_kind TEXT,
  UNIQUE (tenant_id, name));
CREATE TABLE composition_contracts (
  composition_id TEXT NOT NULL REFERENCES compositions ON DELETE CASCADE, tenant_id TEXT NOT NULL,
  contract_id TEXT NOT NULL, PRIMARY KEY (tenant_id, contract_id, composition_id)) WITHOUT ROWID;
CREATE INDEX composition_contracts_of ON composition_contracts (composition_id);

CREATE TABLE bundles (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
  revision_hash TEXT NOT NULL, contract_count INTEGER, size INTEGER NOT NULL, uploaded_by TEXT NOT NULL,
  created_at INTEGER NOT NULL, composition_id TEXT, snapshot TEXT, signature TEXT, deleted_at INTEGER, mode TEXT,
  description TEXT, UNIQUE (tenant_id, name, version));
CREATE INDEX bundles_revision ON bundles (tenant_id, revision_hash);
CREATE TABLE bundle_yaml (bundle_id TEXT PRIMARY KEY REFERENCES bundles, yaml BLOB NOT NULL);
CREATE TABLE deployments (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, env TEXT NOT NULL, bundle_name TEXT NOT NULL,
  version INTEGER NOT NULL, revision_hash TEXT NOT NULL, sequence INTEGER NOT NULL, signature TEXT NOT NULL,
  public_key TEXT NOT NULL, signing_key_id TEXT NOT NULL, deployed_by TEXT NOT NULL, created_at INTEGER NOT NULL,
  is_current INTEGER NOT NULL DEFAULT 1, attestation TEXT, forced INTEGER NOT NULL DEFAULT 0, reason TEXT,
  document_kind TEXT, undeployed_at INTEGER, undeployed_by TEXT, UNIQUE (tenant_id, env, bundle_name, sequence));
CREATE UNIQUE INDEX deployments_current ON deployments (tenant_id, env, bundle_name) WHERE is_current = 1;
CREATE INDEX deployments_newest ON deployments (tenant_id, created_at);
CREATE INDEX deployments_of_bundle ON deployments (tenant_id, bundle_name, version);
CREATE TABLE deployment_sequences (
  tenant_id TEXT NOT NULL, env TEXT NOT NULL, bundle_name TEXT NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, env, bundle_name)) WITHOUT ROWID;
`;
