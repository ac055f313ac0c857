// Migrations of exports: what puts outcomes and changes of approvals in the order of commits.

// `after_segment`: the newest segment when the outcome was added; null: it is older than the column, and comes after
// the segment `outcomes_after`. `outcome_removed`: the highest id of a removed outcome, so that no id is given again.
// Changes of approvals that are older than the table are put in the order of their times.
export const exportTables = `
ALTER TABLE outcomes ADD COLUMN after_segment INTEGER;
ALTER TABLE store ADD COLUMN outcomes_after INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN outcome_removed INTEGER NOT NULL DEFAULT 0;
UPDATE store SET outcomes_after = ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'segments'), 0);
CREATE TABLE approval_lines (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, tenant_id TEXT NOT NULL, id TEXT NOT NULL, change TEXT NOT NULL);
CREATE INDEX approval_lines_order ON approval_lines (tenant_id, seq);
CREATE INDEX approval_lines_of ON approval_lines (tenant_id, id);
CREATE TABLE export_removals (
  tenant_id TEXT NOT NULL, kind TEXT NOT NULL, removed INTEGER NOT NULL, last_place INTEGER NOT NULL,
  last_outcome INTEGER NOT NULL, PRIMARY KEY (tenant_id, kind)) WITHOUT ROWID;
INSERT INTO approval_lines (tenant_id, id, change)
  SELECT tenant_id, id, change FROM (
    SELECT tenant_id, id, created_at AS at, 0 AS step, 'requested' AS change FROM approvals
    UNION ALL SELECT tenant_id, id, ifnull(decided_at, created_at), 1, 'decided' FROM approvals
      WHERE status IN ('approved', 'denied')
    UNION ALL SELECT tenant_id, id, deadline, 1, 'expired' FROM approvals WHERE status = 'timeout')
  ORDER BY at, step, id;
`;
