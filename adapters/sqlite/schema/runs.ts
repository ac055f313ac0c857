// The table of runs. `facts` contains facts from their events, as JSON; `standing` follows from `facts`, apart for
// filters. The triggers make a run's activity follow its approvals. A total of runs reads the index of the newest
// alone.
export const runTables = `
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, env TEXT NOT NULL,
  started_at REAL NOT NULL, last_at REAL NOT NULL, received_at INTEGER NOT NULL, standing TEXT NOT NULL,
  sample INTEGER NOT NULL, facts TEXT, trimmed INTEGER NOT NULL DEFAULT 0, UNIQUE (tenant_id, agent, session));
CREATE INDEX runs_newest ON runs (tenant_id, last_at DESC, agent, session, standing, env);
CREATE INDEX runs_of_agent ON runs (tenant_id, agent, last_at DESC);
CREATE INDEX runs_of_session ON runs (tenant_id, session);
CREATE INDEX runs_received ON runs (tenant_id, received_at);
CREATE TRIGGER approval_of_run_added AFTER INSERT ON approvals WHEN NEW.session_id IS NOT NULL BEGIN
  INSERT INTO runs (tenant_id, agent, session, env, standing, started_at, last_at, received_at, sample)
    VALUES (NEW.tenant_id, NEW.agent_id, NEW.session_id, NEW.env, 'open', NEW.created_at, NEW.created_at, NEW.created_at, 0)
    ON CONFLICT (tenant_id, agent, session) DO UPDATE SET started_at = min(started_at, excluded.started_at),
      last_at = max(last_at, excluded.last_at), received_at = max(received_at, excluded.received_at);
END;
CREATE TRIGGER approval_of_run_ended AFTER UPDATE OF status ON approvals WHEN NEW.session_id IS NOT NULL BEGIN
  UPDATE runs SET last_at = max(last_at, ifnull(NEW.decided_at, NEW.deadline))
    WHERE tenant_id = NEW.tenant_id AND agent = NEW.agent_id AND session = NEW.session_id;
END;
`;
