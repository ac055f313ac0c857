// Columns of approvals that came later.

export const approvalContext = `
ALTER TABLE approvals ADD COLUMN contracts TEXT;
ALTER TABLE approvals ADD COLUMN principal TEXT;
ALTER TABLE approvals ADD COLUMN session_id TEXT;
ALTER TABLE approvals ADD COLUMN call_id TEXT;
`;

export const approvalNames = `
ALTER TABLE approvals ADD COLUMN ruleset_name TEXT;
ALTER TABLE approvals ADD COLUMN decided_by_subject TEXT;
`;

export const approvalAssignees = `
ALTER TABLE approvals ADD COLUMN assignee TEXT;
ALTER TABLE approvals ADD COLUMN assignee_id TEXT;
CREATE INDEX approvals_assigned ON approvals (tenant_id, assignee_id) WHERE assignee_id IS NOT NULL;
`;

export const decisions = `
ALTER TABLE approvals ADD COLUMN decision_id TEXT;
`;

// The index adds up what each key holds of the quota.
export const argumentKeys = `
ALTER TABLE approval_args ADD COLUMN key_id TEXT;
DROP INDEX approval_args_large;
CREATE INDEX approval_args_holders ON approval_args (tenant_id, env, key_id, bytes) WHERE bytes > 65536;
`;
