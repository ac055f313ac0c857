// The tables of the audit chain: links hold what is hashed, entries find it in the order of the chain, so that new ones
// lie side by side. `audit_ids` contains the ids that may come again, `audit_run_ids` those of entries whose events
// were removed. `starts`: the head that the kept chain starts behind.
export const auditTables = `
CREATE TABLE audit_links (
  tenant_id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, prev TEXT NOT NULL, digest TEXT NOT NULL,
  body TEXT NOT NULL, PRIMARY KEY (tenant_id, seq));
CREATE TABLE audit_entries (
  tenant_id TEXT NOT NULL, seq INTEGER NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL, actor_id TEXT NOT NULL,
  actor_display TEXT NOT NULL, action TEXT NOT NULL, subject_type TEXT NOT NULL,
  PRIMARY KEY (tenant_id, seq, position)) WITHOUT ROWID;
CREATE INDEX audit_entries_kind ON audit_entries (tenant_id, subject_type, seq, position);
CREATE TABLE audit_ids (tenant_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant_id, id)) WITHOUT ROWID;
CREATE TABLE audit_run_ids (tenant_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant_id, id)) WITHOUT ROWID;
CREATE TABLE audit_heads (
  tenant_id TEXT NOT NULL, seq INTEGER NOT NULL, digest TEXT NOT NULL, signed_at INTEGER NOT NULL, key_id TEXT NOT NULL,
  public_key TEXT NOT NULL, signature TEXT NOT NULL, starts INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, seq)) WITHOUT ROWID;
`;
