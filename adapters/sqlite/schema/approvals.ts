// The tables of approvals. Arguments of more than 4 KiB stand apart; an index adds up the large ones of each key for
// its quota. `approval_lines` puts changes into the order of commits, for exports.
export const approvalTables = `
CREATE TABLE approvals (
  id TEXT NOT NULL, tenant_id TEXT NOT NULL, status TEXT NOT NULL, agent_id TEXT NOT NULL, tool_name TEXT NOT NULL,
  tool_args TEXT, message TEXT NOT NULL, env TEXT NOT NULL, timeout_seconds INTEGER NOT NULL,
  timeout_effect TEXT NOT NULL, decision_source TEXT, contract_name TEXT, decided_by TEXT, decided_at INTEGER,
  decision_reason TEXT, decided_via TEXT, created_at INTEGER NOT NULL, deadline INTEGER NOT NULL,
  unannounced_at INTEGER, decision_id TEXT, args_bytes INTEGER NOT NULL DEFAULT 0, contracts TEXT, principal TEXT,
  session_id TEXT, call_id TEXT, ruleset_name TEXT, decided_by_subject TEXT, assignee TEXT, assignee_id TEXT,
  PRIMARY KEY (tenant_id, id));
CREATE INDEX approvals_newest ON approvals (tenant_id, created_at);
CREATE INDEX approvals_due ON approvals (deadline) WHERE status = 'pending';
CREATE INDEX approvals_pending ON approvals (tenant_id, env, deadline) WHERE status = 'pending';
CREATE INDEX approvals_of_session ON approvals (tenant_id, agent_id, session_id) WHERE status = 'pending';
CREATE INDEX approvals_unannounced ON approvals (unannounced_at) WHERE unannounced_at IS NOT NULL;
CREATE INDEX approvals_assigned ON approvals (tenant_id, assignee_id) WHERE assignee_id IS NOT NULL;
CREATE TABLE approval_args (
  tenant_id TEXT NOT NULL, id TEXT NOT NULL, env TEXT NOT NULL, bytes INTEGER NOT NULL, created_at INTEGER NOT NULL,
  args TEXT NOT NULL, key_id TEXT, PRIMARY KEY (tenant_id, id));
CREATE INDEX approval_args_oldest ON approval_args (created_at) WHERE bytes > 65536;
CREATE INDEX approval_args_holders ON approval_args (tenant_id, env, key_id, bytes) WHERE bytes > 65536;
CREATE TABLE approval_lines (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, tenant_id TEXT NOT NULL, id TEXT NOT NULL, change TEXT NOT NULL);
CREATE INDEX approval_lines_order ON approval_lines (tenant_id, seq);
CREATE INDEX approval_lines_of ON approval_lines (tenant_id, id);
CREATE TABLE export_removals (
  tenant_id TEXT NOT NULL, kind TEXT NOT NULL, removed INTEGER NOT NULL, last_place INTEGER NOT NULL,
  last_outcome INTEGER NOT NULL, PRIMARY KEY (tenant_id, kind)) WITHOUT ROWID;
`;
