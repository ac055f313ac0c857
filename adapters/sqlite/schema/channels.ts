// The tables of notification channels and of what is on its way to them.

export const channels = `
CREATE TABLE channels (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, payload_style TEXT NOT NULL,
  enabled INTEGER NOT NULL, filters TEXT, sealed_config TEXT NOT NULL, revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, last_test_at INTEGER, last_test_ok INTEGER);
CREATE INDEX channels_newest ON channels (tenant_id, created_at);
CREATE INDEX channels_of_kind ON channels (kind, created_at) WHERE enabled = 1;
CREATE TABLE deliveries (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, channel_id TEXT NOT NULL, approval_id TEXT NOT NULL,
  event TEXT NOT NULL, status TEXT NOT NULL, attempts INTEGER NOT NULL, run INTEGER NOT NULL, next_at INTEGER,
  give_up_at INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, message_id TEXT,
  log TEXT NOT NULL);
CREATE INDEX deliveries_of_channel ON deliveries (tenant_id, channel_id, created_at);
CREATE INDEX deliveries_of_approval ON deliveries (approval_id);
CREATE INDEX deliveries_ended ON deliveries (tenant_id, updated_at) WHERE status <> 'waiting';
`;
