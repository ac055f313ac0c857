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
