// Reads the summaries of events: whole hours and minutes as they stand, and what of an hour is asked for in part from the segments' marks.
// Runs on the reader, in steps. Times at which one part ends and the next begins split the events, so that none counts twice.
import { countedAs } from '../../src/domain/event.ts';
import type { Env } from '../../src/domain/ids.ts';
import type {
  AgentSpan,
  AgentUse,
  FleetUse,
  ToolUse,
  UsageStore,
  VersionAnswer,
  VersionQuestion,
} from '../../src/ports/usage.ts';
import { type Database, givenText, type SqlValue } from './database.ts';
import { countedIn, segmentSpanMs, tenantNumber } from './segment.ts';
import type { Steps, Sync } from './sync.ts';
import { contractUses } from './usage-contracts.ts';
import { eachEvent, segmentsPerStep } from './usage-events.ts';
import { entryOf, hourOf } from './usage-rows.ts';

function* toolsOf(db: Database, tenantId: string, agentId: string, since: number): Steps<readonly ToolUse[]> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return [];
  const first = Math.ceil(since / segmentSpanMs);
  const found = new Map<string, { -readonly [K in keyof ToolUse]: ToolUse[K] }>();
  const entry = (env: Env, tool: string, lastUsed: number) =>
    entryOf(found, `${env} ${tool}`, () => ({
      env,
      tool,
      events: 0,
      allowed: 0,
      denied: 0,
      observed: 0,
      lastUsed,
    }));
  const rows = db.all(
    `SELECT env, tool, sum(events), sum(allowed), sum(denied), sum(observed), max(last_ts) FROM tool_hours
       WHERE tenant = ? AND agent = ? AND hour >= ? GROUP BY env, tool`,
    [tenant, agentId, first],
  );
  for (const [env, tool, events, allowed, denied, observed, last] of rows) {
    const use = entry(env as Env, givenText(String(tool)), Number(last));
    use.events = Number(events);
    use.allowed = Number(allowed);
    use.denied = Number(denied);
    use.observed = Number(observed);
  }
  const edge = { env: null, agentId, from: since, to: first * segmentSpanMs };
  yield* eachEvent(db, tenantId, edge, ({ env, event }) => {
    const use = entry(env, event.tool, event.ts);
    const as = countedAs(event.verdict, event.mode);
    use.events++;
    if (as !== 'pending') use[as]++;
    use.lastUsed = Math.max(use.lastUsed, event.ts);
  });
  return [...found.values()];
}

/** A condition on the environment, and its parameter. */
const inEnv = (env: Env | null, column = 'env'): { readonly sql: string; readonly params: SqlValue[] } =>
  env === null ? { sql: '', params: [] } : { sql: `AND ${column} = ?`, params: [env] };

/** Events of each agent since a moment. */
function* countsOf(db: Database, tenant: number, env: Env | null, since: number): Steps<Map<string, number>> {
  const counts = new Map<string, number>();
  const first = Math.ceil(since / segmentSpanMs);
  const where = inEnv(env);
  const add = (agent: string, count: number): void => {
    counts.set(agent, (counts.get(agent) ?? 0) + count);
  };
  const whole = db.all(
    `SELECT agent, sum(events) FROM agent_hours WHERE tenant = ? AND hour >= ? ${where.sql} GROUP BY agent`,
    [tenant, first, ...where.params],
  );
  for (const [agent, events] of whole) add(givenText(String(agent)), Number(events));
  yield;
  const end = first * segmentSpanMs;
  if (since >= end) return counts;
  const edge = db.all(
    `SELECT agent, sum(events) FROM segments INDEXED BY segments_time
       WHERE tenant = ? AND max_ts >= ? AND max_ts < ? AND min_ts >= ? AND sample = 0 ${where.sql}
       GROUP BY agent`,
    [tenant, since, end, since, ...where.params],
  );
  for (const [agent, events] of edge) add(givenText(String(agent)), Number(events));
  yield;
  // Segments of both sides of the moment.
  const parted = db.all(
    `SELECT id, agent, tallies FROM segments INDEXED BY segments_time
       WHERE tenant = ? AND max_ts >= ? AND max_ts < ? AND min_ts < ? AND sample = 0 ${where.sql}`,
    [tenant, since, end, since, ...where.params],
  );
  for (const [i, [id, agent, tallies]] of parted.entries()) {
    const counted = countedIn(db, { id: Number(id), tallies: String(tallies) });
    add(givenText(String(agent)), counted.filter((event) => event && event.ts >= since).length);
    if ((i + 1) % segmentsPerStep === 0) yield;
  }
  return counts;
}

function* fleet(
  db: Database,
  tenantId: string,
  env: Env | null,
  since: number,
  countSince: number,
): Steps<FleetUse> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return { toolSets: [], agents: [] };
  const hour = hourOf(since);
  const where = inEnv(env, 't.env');
  // Tools by agent and environment as one text, because most agents share theirs with others.
  const rows = db.all(
    `SELECT agent, env, tools, (SELECT max(last_ts) FROM agent_hours a WHERE a.tenant = ?1 AND a.hour = last
         AND a.agent = used.agent AND a.env = used.env)
       FROM (SELECT t.agent, t.env, json_group_array(t.tool) AS tools, max(t.last_hour) AS last FROM agent_tools t
         WHERE t.tenant = ?1 AND (t.last_hour > ?2 OR (t.last_hour = ?2 AND EXISTS (SELECT 1 FROM tool_hours h
           WHERE h.tenant = ?1 AND h.agent = t.agent AND h.hour = ?2 AND h.env = t.env AND h.tool = t.tool
             AND h.last_ts >= ?3))) ${env === null ? '' : 'AND t.env = ?4'}
         GROUP BY t.agent, t.env) AS used`,
    [tenant, hour, since, ...where.params],
  );
  yield;
  const counts = yield* countsOf(db, tenant, env, countSince);
  const toolSets: (readonly string[])[] = [];
  const places = new Map<string, number>();
  const placeOf = (tools: readonly string[]): number => {
    const sorted = [...new Set(tools)].sort();
    return entryOf(places, JSON.stringify(sorted), () => toolSets.push(sorted) - 1);
  };
  const read = new Map<string, number>();
  const setOf = (text: string): number =>
    entryOf(read, text, () => placeOf((JSON.parse(text) as string[]).map(givenText)));
  const agents: AgentUse[] = [];
  for (const [i, [agent, agentEnv, tools, newest]] of rows.entries()) {
    const agentId = givenText(String(agent));
    const lastSeen = Number(newest);
    const before = agents.at(-1);
    const use = { agentId, env: agentEnv as Env, lastSeen, tools: setOf(String(tools)), events: 0 };
    if (before?.agentId === agentId) {
      // The agent was in several environments.
      const both = placeOf([...(toolSets[before.tools] ?? []), ...(toolSets[use.tools] ?? [])]);
      const newer = before.lastSeen > lastSeen ? before : use;
      agents[agents.length - 1] = { ...newer, tools: both, events: counts.get(agentId) ?? 0 };
    } else agents.push({ ...use, events: counts.get(agentId) ?? 0 });
    if ((i + 1) % 1000 === 0) yield;
  }
  return { toolSets, agents };
}

const agentRows = 'FROM agent_hours INDEXED BY agent_hours_of WHERE tenant = ? AND agent = ?';

function spanOf(db: Database, tenantId: string, agentId: string): AgentSpan | null {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return null;
  const key = [tenant, agentId];
  const [first, firstEnv] =
    db.get(`SELECT first_ts, env ${agentRows} ORDER BY hour, first_ts LIMIT 1`, key) ?? [];
  const [env] = db.get(`SELECT env ${agentRows} ORDER BY hour DESC, last_ts DESC LIMIT 1`, key) ?? [];
  if (typeof first !== 'number') return null;
  return { firstAt: first, firstEnv: firstEnv as Env, env: env as Env };
}

function* answerOf(
  db: Database,
  tenantId: string,
  place: { readonly tenant: number; readonly agentId: string; readonly env: Env },
  { version, since }: VersionQuestion,
): Steps<VersionAnswer> {
  const { tenant, agentId, env } = place;
  const hour = hourOf(since);
  let firstAt = Number.POSITIVE_INFINITY;
  let newest = Number.NEGATIVE_INFINITY;
  let before: string | null = null;
  const edge = { env, agentId, from: hour * segmentSpanMs, to: (hour + 1) * segmentSpanMs };
  yield* eachEvent(db, tenantId, edge, ({ event }) => {
    if (event.ts >= since && event.version === version) firstAt = Math.min(firstAt, event.ts);
    if (event.ts < since && event.ts > newest) [newest, before] = [event.ts, event.version];
  });
  const key = [tenant, agentId];
  if (firstAt === Number.POSITIVE_INFINITY) {
    const later = `SELECT first_ts ${agentRows} AND hour > ? AND env = ? AND version = ? ORDER BY hour LIMIT 1`;
    const found = db.get(later, [...key, hour, env, version])?.[0];
    if (typeof found === 'number') firstAt = found;
  }
  if (newest === Number.NEGATIVE_INFINITY) {
    const earlier = `SELECT version ${agentRows} AND hour < ? AND env = ? ORDER BY hour DESC, last_ts DESC LIMIT 1`;
    before = (db.get(earlier, [...key, hour, env])?.[0] as string | undefined) ?? null;
  }
  return {
    firstAt: Number.isFinite(firstAt) ? firstAt : null,
    before: before === null || before === '' ? null : givenText(before),
  };
}

function* versionsAt(
  db: Database,
  tenantId: string,
  agentId: string,
  env: Env,
  questions: readonly VersionQuestion[],
): Steps<readonly VersionAnswer[]> {
  const tenant = tenantNumber(db, tenantId);
  const answers: VersionAnswer[] = [];
  for (const question of questions) {
    if (tenant === null) answers.push({ firstAt: null, before: null });
    else answers.push(yield* answerOf(db, tenantId, { tenant, agentId, env }, question));
    yield;
  }
  return answers;
}

/** Agents with an event after a moment. */
export function activeAgents(db: Database, tenant: number, env: Env | null, since: number): number {
  const where = inEnv(env);
  const row = db.get(
    `SELECT count(DISTINCT agent) FROM agent_hours WHERE tenant = ? AND hour >= ? AND last_ts > ? ${where.sql}`,
    [tenant, hourOf(since), since, ...where.params],
  );
  return Number(row?.[0] ?? 0);
}

export const usageStore = (db: Database): Sync<UsageStore> => ({
  toolsOf: (tenantId, agentId, since) => toolsOf(db, tenantId, agentId, since),
  fleet: (tenantId, env, since, countSince) => fleet(db, tenantId, env, since, countSince),
  contracts: (tenantId, env, since, until, names) => contractUses(db, tenantId, env, since, until, names),
  spanOf: (tenantId, agentId) => spanOf(db, tenantId, agentId),
  versionsAt: (tenantId, agentId, env, questions) => versionsAt(db, tenantId, agentId, env, questions),
});
