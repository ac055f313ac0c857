// The tables of the audit chain: links hold what is hashed, entries find it.

export const auditTables = `
CREATE TABLE audit_links (
  tenant_id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, prev TEXT NOT NULL, digest TEXT NOT NULL,
  body TEXT NOT NULL, PRIMARY KEY (tenant_id, seq));
CREATE TABLE audit_entries (
  tenant_id TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL,
  actor_id TEXT NOT NULL, actor_display TEXT NOT NULL, action TEXT NOT NULL, subject_type TEXT NOT NULL,
  PRIMARY KEY (tenant_id, id)) WITHOUT ROWID;
CREATE UNIQUE INDEX audit_entries_order ON audit_entries (tenant_id, seq, position);
CREATE INDEX audit_entries_kind ON audit_entries (tenant_id, subject_type, seq, position);
CREATE TABLE audit_heads (
  tenant_id TEXT NOT NULL, seq INTEGER NOT NULL, digest TEXT NOT NULL, signed_at INTEGER NOT NULL, key_id TEXT NOT NULL,
  public_key TEXT NOT NULL, signature TEXT NOT NULL, PRIMARY KEY (tenant_id, seq)) WITHOUT ROWID;
`;

/**
 * Entries in the order of the chain, so that new ones lie side by side: a random id per entry cost a page each.
 * `audit_ids` contains the ids that may come again, `audit_run_ids` those of entries whose events were removed.
 */
export const auditOrder = `
ALTER TABLE audit_entries RENAME TO audit_entries_by_id;
DROP INDEX audit_entries_order;
DROP INDEX audit_entries_kind;
CREATE TABLE audit_entries (
  tenant_id TEXT NOT NULL, seq INTEGER NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL, actor_id TEXT NOT NULL,
  actor_display TEXT NOT NULL, action TEXT NOT NULL, subject_type TEXT NOT NULL,
  PRIMARY KEY (tenant_id, seq, position)) WITHOUT ROWID;
INSERT INTO audit_entries SELECT tenant_id, seq, position, at, actor_id, actor_display, action, subject_type
  FROM audit_entries_by_id ORDER BY tenant_id, seq, position;
CREATE INDEX audit_entries_kind ON audit_entries (tenant_id, subject_type, seq, position);
CREATE TABLE audit_ids (tenant_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant_id, id)) WITHOUT ROWID;
INSERT INTO audit_ids SELECT tenant_id, id FROM audit_entries_by_id WHERE subject_type <> 'run';
CREATE TABLE audit_run_ids (tenant_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant_id, id)) WITHOUT ROWID;
INSERT INTO audit_run_ids SELECT tenant_id, id FROM audit_entries_by_id WHERE subject_type = 'run';
DROP TABLE audit_entries_by_id;
`;

/** The head that the kept chain starts behind. */
export const auditStart = 'ALTER TABLE audit_heads ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;';
