// The table of what AI assistance used.

export const aiUsage = `
CREATE TABLE ai_usage (
  tenant_id TEXT NOT NULL, day TEXT NOT NULL, queries INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, cost REAL, duration_ms REAL NOT NULL,
  PRIMARY KEY (tenant_id, day)) WITHOUT ROWID;
CREATE INDEX ai_usage_days ON ai_usage (day);
`;
