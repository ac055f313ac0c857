// Columns of deployments that came later.

export const undeployments = `
ALTER TABLE deployments ADD COLUMN undeployed_at INTEGER;
ALTER TABLE deployments ADD COLUMN undeployed_by TEXT;
`;
