// What agents speak, and which vocabulary a deployed document has.
export const vocabulary = `
ALTER TABLE registrations ADD COLUMN last_api TEXT;
ALTER TABLE registrations ADD COLUMN loads_any INTEGER NOT NULL DEFAULT 0;
CREATE INDEX registrations_spoken ON registrations (tenant_id, last_env, last_api, agent_id)
  WHERE retired_at IS NULL AND loads_any = 0;
ALTER TABLE deployments ADD COLUMN document_kind TEXT;
`;

// Bits: production 1, staging 2, development 4.
export const seenEnvironments = `
ALTER TABLE registrations ADD COLUMN seen_envs INTEGER NOT NULL DEFAULT 0;
UPDATE registrations SET seen_envs = CASE last_env WHEN 'production' THEN 1 WHEN 'staging' THEN 2
  WHEN 'development' THEN 4 ELSE 0 END;
`;
