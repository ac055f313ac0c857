// Reads from the summaries of events which agents there are, what they used, and how much they did. Runs on the reader,
// in steps.
import type { Env, EnvFilter } from '../../../src/shared/ids.ts';
import type { AgentTools, AgentUse, FleetUse } from '../../../src/usage/port.ts';
import { type Database, givenText, storedText } from '../database.ts';
import { countedIn, segmentSpanMs, tenantNumber } from '../events/segment.ts';
import type { Steps } from '../sync.ts';
import { envClause } from '../table.ts';
import { segmentsPerStep } from './events.ts';
import { entryOf, hourOf } from './rows.ts';

/** Events of each agent since a moment. */
function* countsOf(db: Database, tenant: number, env: EnvFilter, since: number): Steps<Map<string, number>> {
  const counts = new Map<string, number>();
  const first = Math.ceil(since / segmentSpanMs);
  const where = envClause(env);
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
    `SELECT id, agent FROM segments INDEXED BY segments_time
       WHERE tenant = ? AND max_ts >= ? AND max_ts < ? AND min_ts < ? AND sample = 0 ${where.sql}`,
    [tenant, since, end, since, ...where.params],
  );
  for (const [i, [id, agent]] of parted.entries()) {
    const counted = countedIn(db, Number(id));
    add(givenText(String(agent)), counted.filter((event) => event && event.ts >= since).length);
    if ((i + 1) % segmentsPerStep === 0) yield;
  }
  return counts;
}

/** The agents with events since then, or those of them among `only`, with all tools of these events. */
function* toolsByAgent(
  db: Database,
  tenant: number,
  env: EnvFilter,
  since: number,
  only: readonly string[] | null,
): Steps<FleetUse<AgentTools>> {
  const hour = hourOf(since);
  const where = envClause(env, 't.env', '?4');
  // Tools by agent and environment as one text, because most agents share theirs with others.
  const rows = db.all(
    `SELECT agent, env, tools, (SELECT max(last_ts) FROM agent_hours a WHERE a.tenant = ?1 AND a.hour = last
         AND a.agent = used.agent AND a.env = used.env)
       FROM (SELECT t.agent, t.env, json_group_array(t.tool) AS tools, max(t.last_hour) AS last FROM agent_tools t
         WHERE t.tenant = ?1 AND (t.last_hour > ?2 OR (t.last_hour = ?2 AND EXISTS (SELECT 1 FROM tool_hours h
           WHERE h.tenant = ?1 AND h.agent = t.agent AND h.hour = ?2 AND h.env = t.env AND h.tool = t.tool
             AND h.last_ts >= ?3))) ${where.sql}
           ${only === null ? '' : `AND t.agent IN (SELECT value FROM json_each(?${env === null ? 4 : 5}))`}
         GROUP BY t.agent, t.env) AS used`,
    [tenant, hour, since, ...where.params, ...(only === null ? [] : [JSON.stringify(only.map(storedText))])],
  );
  yield;
  const toolSets: (readonly string[])[] = [];
  const places = new Map<string, number>();
  const placeOf = (tools: readonly string[]): number => {
    const sorted = [...new Set(tools)].sort();
    return entryOf(places, JSON.stringify(sorted), () => toolSets.push(sorted) - 1);
  };
  const read = new Map<string, number>();
  const setOf = (text: string): number =>
    entryOf(read, text, () => placeOf((JSON.parse(text) as string[]).map(givenText)));
  const agents: AgentTools[] = [];
  for (const [i, [agent, agentEnv, tools, newest]] of rows.entries()) {
    const agentId = givenText(String(agent));
    const lastSeen = Number(newest);
    const before = agents.at(-1);
    const use = { agentId, env: agentEnv as Env, lastSeen, tools: setOf(String(tools)) };
    if (before?.agentId === agentId) {
      // The agent was in several environments.
      const both = placeOf([...(toolSets[before.tools] ?? []), ...(toolSets[use.tools] ?? [])]);
      const newer = before.lastSeen > lastSeen ? before : use;
      agents[agents.length - 1] = { ...newer, tools: both };
    } else agents.push(use);
    if ((i + 1) % 1000 === 0) yield;
  }
  return { toolSets, agents };
}

export function* fleet(
  db: Database,
  tenantId: string,
  env: EnvFilter,
  since: number,
  countSince: number,
): Steps<FleetUse> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return { toolSets: [], agents: [] };
  const { toolSets, agents } = yield* toolsByAgent(db, tenant, env, since, null);
  const counts = yield* countsOf(db, tenant, env, countSince);
  const withCount = (use: AgentTools): AgentUse => ({ ...use, events: counts.get(use.agentId) ?? 0 });
  return { toolSets, agents: agents.map(withCount) };
}

export function* listToolsOfAgents(
  db: Database,
  tenantId: string,
  env: EnvFilter,
  since: number,
  agentIds: readonly string[],
): Steps<FleetUse<AgentTools>> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null || agentIds.length === 0) return { toolSets: [], agents: [] };
  return yield* toolsByAgent(db, tenant, env, since, agentIds);
}
