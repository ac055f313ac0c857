// The tables of events, and the summaries written in the commits that store and remove events (usage/write.ts).
//
// Events are kept as segments: up to a batch of one agent within one hour. Summaries and bodies are apart, so that a
// search reads a dense table. `tallies` is [[tool, verdict, mode, count], …]. `names` holds the decision names, and a
// list of hashes of call ids from senders (events/sent-call-ids.ts). `later` holds the verdicts that outcomes added.
// `places` holds the events' places in a batch that made more than one segment. `marks` is the tally, version and time
// of each event (events/segment.ts). `calls` holds the call ids of all segments up to store.merged (events/calls.ts).
//
// The form of a body is a number for its writing and packing (events/segment.ts, events/body.ts). `sender` is the agent
// of the request, where some events of a body as it was sent are of others. `call_keys` holds the call ids of a packed
// body, so that newer segments than `calls` contains can be looked through. `key` of an outcome is a JSON list of
// verdict and contract. `after_segment` is the newest segment when the outcome was added; null: it comes after the
// segment store.outcomes_after. `outcome_removed` is the highest id of a removed outcome, so that no id is given again.
// `counted_through` is the newest segment that the summaries and runs count; a start counts what came after it.
//
// An hour counts from 1970, a minute as well. Of a contract, `events` counts calls; its rows begin with '=', and the
// row '' of each environment counts all events. Minutes are kept for about a day: those of a tenant are complete from
// minutes_from on.
export const eventTables = `
CREATE TABLE store (
  id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL, merged INTEGER NOT NULL,
  counted_through INTEGER NOT NULL DEFAULT 0, outcomes_after INTEGER NOT NULL DEFAULT 0,
  outcome_removed INTEGER NOT NULL DEFAULT 0);
INSERT INTO store (id, mark, merged) VALUES (1, lower(hex(randomblob(8))), 0);
CREATE TABLE tenant_numbers (number INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL UNIQUE, minutes_from INTEGER);
CREATE TABLE segments (
  id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL, max_ts REAL NOT NULL, min_ts REAL NOT NULL,
  received_at INTEGER NOT NULL, batch INTEGER, env TEXT NOT NULL, agent TEXT NOT NULL, events INTEGER NOT NULL,
  outcomes INTEGER NOT NULL DEFAULT 0, tallies TEXT NOT NULL, names TEXT NOT NULL, later TEXT, places TEXT, marks BLOB,
  sample INTEGER NOT NULL DEFAULT 0, versions TEXT);
CREATE INDEX segments_time ON segments (tenant, max_ts);
CREATE INDEX segments_agent ON segments (tenant, agent, max_ts);
CREATE INDEX segments_arrival ON segments (tenant, received_at);
CREATE INDEX segments_sample ON segments (tenant) WHERE sample = 1;
CREATE TABLE segment_bodies (
  segment INTEGER PRIMARY KEY, body BLOB NOT NULL, form INTEGER NOT NULL DEFAULT 0, sender TEXT, call_keys BLOB);
CREATE TABLE calls (
  tenant INTEGER NOT NULL, call_id BLOB NOT NULL, entry INTEGER NOT NULL,
  PRIMARY KEY (tenant, call_id)) WITHOUT ROWID;
CREATE TABLE outcomes (
  id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL,
  outcome TEXT NOT NULL, after_segment INTEGER, UNIQUE (segment, position, key));

CREATE TABLE tool_hours (
  tenant INTEGER NOT NULL, agent TEXT NOT NULL, hour INTEGER NOT NULL, env TEXT NOT NULL, tool TEXT NOT NULL,
  events INTEGER NOT NULL, allowed INTEGER NOT NULL, denied INTEGER NOT NULL, observed INTEGER NOT NULL,
  last_ts REAL NOT NULL, PRIMARY KEY (tenant, agent, hour, env, tool)) WITHOUT ROWID;
CREATE TABLE agent_tools (
  tenant INTEGER NOT NULL, agent TEXT NOT NULL, env TEXT NOT NULL, tool TEXT NOT NULL, last_hour INTEGER NOT NULL,
  PRIMARY KEY (tenant, agent, env, tool)) WITHOUT ROWID;
CREATE TABLE agent_hours (
  tenant INTEGER NOT NULL, hour INTEGER NOT NULL, agent TEXT NOT NULL, env TEXT NOT NULL, version TEXT NOT NULL,
  events INTEGER NOT NULL, first_ts REAL NOT NULL, last_ts REAL NOT NULL,
  PRIMARY KEY (tenant, hour, agent, env, version)) WITHOUT ROWID;
CREATE INDEX agent_hours_of ON agent_hours (tenant, agent, hour);
CREATE TABLE contract_hours (
  tenant INTEGER NOT NULL, start INTEGER NOT NULL, env TEXT NOT NULL, name TEXT NOT NULL, events INTEGER NOT NULL,
  denied INTEGER NOT NULL, observed INTEGER NOT NULL, last_ts REAL NOT NULL,
  PRIMARY KEY (tenant, start, env, name)) WITHOUT ROWID;
CREATE TABLE contract_minutes (
  tenant INTEGER NOT NULL, start INTEGER NOT NULL, env TEXT NOT NULL, name TEXT NOT NULL, events INTEGER NOT NULL,
  denied INTEGER NOT NULL, observed INTEGER NOT NULL, last_ts REAL NOT NULL,
  PRIMARY KEY (tenant, start, env, name)) WITHOUT ROWID;
`;
