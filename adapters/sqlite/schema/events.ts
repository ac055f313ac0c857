// Migrations of the tables of events that came after the first version (index.ts). Published ones never change.

/**
 * Which tally of its segment (events/segment.ts) an event is counted in, and when it was: what is counted needs no
 * bodies.
 */
export const eventMarks = `
ALTER TABLE segments ADD COLUMN marks BLOB;
`;

// Marks tell the policy version, too. Those without one are not read any more.
//
// Summaries, written in the commits that store and remove events (usage/write.ts). An hour counts from 1970, a minute
// as well. Of a contract, `events` counts calls; its rows begin with '=', and the row '' of each environment counts all
// events. Minutes are kept for about a day: those of a tenant are complete from minutes_from on.
export const eventUsage = `
ALTER TABLE segments ADD COLUMN versions TEXT;
UPDATE segments SET marks = NULL;
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
ALTER TABLE tenant_numbers ADD COLUMN minutes_from INTEGER;
ALTER TABLE store ADD COLUMN counted INTEGER NOT NULL DEFAULT 1;
UPDATE store SET counted = NOT EXISTS (SELECT 1 FROM segments);
`;

/** 1: the events of a body are written as their agent sent them (events/segment.ts). */
export const bodyForms = 'ALTER TABLE segment_bodies ADD COLUMN form INTEGER NOT NULL DEFAULT 0;';

// `sender`: the agent of the request that brought the events of a body as they were sent, where some are of others.
// `counted_through`: the newest segment that the summaries and runs count; a start counts what came after it.
export const laterSummaries = `
ALTER TABLE segment_bodies ADD COLUMN sender TEXT;
ALTER TABLE store ADD COLUMN counted_through INTEGER NOT NULL DEFAULT 0;
UPDATE store SET counted_through = ifnull((SELECT max(id) FROM segments), 0);
`;

// A form of 2 or 3: the body is packed (events/body.ts), and `call_keys` holds the call ids of its events, so that
// newer segments than the table of calls knows can be looked through.
export const packedBodies = 'ALTER TABLE segment_bodies ADD COLUMN call_keys BLOB;';

// Verdicts that counted as allowed before: denials by approvals, and short words. The summaries of a store that has
// such events are made again at its start (usage/write.ts).
const recountedWords = [
  ...['call_approval_denied', 'call_approval_blocked', 'call_approval_timeout', 'block', 'blocked'],
  ...['would_block', 'observed', 'observe', 'ask', 'approve'],
];
const anyWord = (column: string): string =>
  recountedWords.map((word) => `instr(${column}, '"${word}"') > 0`).join(' OR ');
const isRecounted = `(SELECT counted FROM store) = 0`;
export const verdictWords = `
UPDATE store SET counted = 0 WHERE EXISTS (SELECT 1 FROM segments WHERE ${anyWord('tallies')})
  OR EXISTS (SELECT 1 FROM outcomes WHERE ${anyWord('key')});
DELETE FROM tool_hours WHERE ${isRecounted};
DELETE FROM agent_hours WHERE ${isRecounted};
DELETE FROM contract_hours WHERE ${isRecounted};
DELETE FROM contract_minutes WHERE ${isRecounted};
`;
