// What agents speak, and which vocabulary a deployed document has.
export const vocabulary = `
ALTER TABLE registrations ADD COLUMN last_api TEXT;
ALTER TABLE registrations ADD COLUMN loads_any INTEGER NOT NULL DEFAULT 0;
CREATE INDEX registrations_spoken ON registrations (tenant_id, last_env, last_api, agent_id)
  WHERE retired_at IS NULL AND loads_any = 0;
ALTER TABLE deployments ADD COLUMN document_kind TEXT;
`;
