// Reads the summaries of events: whole hours and minutes from their rows, and parts of hours from the segments' marks.
// Runs on the reader, in steps. Times at which one part ends and the next begins split the events, so that none counts
// twice.

import { countedAs } from '../../../src/event/record.ts';
import type { Env, EnvFilter } from '../../../src/shared/ids.ts';
import type {
  AgentSpan,
  ToolUse,
  UsageStore,
  VersionAnswer,
  VersionQuestion,
} from '../../../src/usage/port.ts';
import { type Database, givenText } from '../database.ts';
import { segmentSpanMs, tenantNumber } from '../events/segment.ts';
import type { Steps, Sync } from '../sync.ts';
import { envClause } from '../table.ts';
import { contractUses } from './contracts.ts';
import { eachEvent } from './events.ts';
import { fleet, listToolsOfAgents } from './fleet.ts';
import { entryOf, hourOf } from './rows.ts';

function* listTools(
  db: Database,
  tenantId: string,
  agentId: string,
  since: number,
  until = Number.MAX_SAFE_INTEGER,
): Steps<readonly ToolUse[]> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return [];
  const [first, end] = [Math.ceil(since / segmentSpanMs), Math.floor(until / segmentSpanMs)];
  const useByTool = new Map<string, { -readonly [K in keyof ToolUse]: ToolUse[K] }>();
  const entry = (env: Env, tool: string, lastUsed: number) =>
    entryOf(useByTool, `${env} ${tool}`, () => ({
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
       WHERE tenant = ? AND agent = ? AND hour >= ? AND hour < ? GROUP BY env, tool`,
    [tenant, agentId, first, end],
  );
  for (const [env, tool, events, allowed, denied, observed, last] of rows) {
    const use = entry(env as Env, givenText(String(tool)), Number(last));
    use.events = Number(events);
    use.allowed = Number(allowed);
    use.denied = Number(denied);
    use.observed = Number(observed);
  }
  const edges = [
    { from: since, to: Math.min(first * segmentSpanMs, until) },
    { from: Math.max(first, end) * segmentSpanMs, to: until },
  ];
  for (const edge of edges) {
    yield* eachEvent(db, tenantId, { env: null, agentId, ...edge }, ({ env, event }) => {
      const use = entry(env, event.tool, event.ts);
      const as = countedAs(event.verdict, event.mode);
      use.events++;
      if (as !== 'pending') use[as]++;
      use.lastUsed = Math.max(use.lastUsed, event.ts);
    });
  }
  return [...useByTool.values()];
}

const agentRows = 'FROM agent_hours INDEXED BY agent_hours_of WHERE tenant = ? AND agent = ?';

function getSpan(db: Database, tenantId: string, agentId: string, filter: EnvFilter): AgentSpan | null {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return null;
  const where = envClause(filter);
  const rows = `${agentRows} ${where.sql}`;
  const key = [tenant, agentId, ...where.params];
  const [first, firstEnv] = db.get(`SELECT first_ts, env ${rows} ORDER BY hour, first_ts LIMIT 1`, key) ?? [];
  const [env] = db.get(`SELECT env ${rows} ORDER BY hour DESC, last_ts DESC LIMIT 1`, key) ?? [];
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
    const firstTs = db.get(later, [...key, hour, env, version])?.[0];
    if (typeof firstTs === 'number') firstAt = firstTs;
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

function* listVersionsAt(
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
export function activeAgents(db: Database, tenant: number, env: EnvFilter, since: number): number {
  const where = envClause(env);
  const row = db.get(
    `SELECT count(DISTINCT agent) FROM agent_hours WHERE tenant = ? AND hour >= ? AND last_ts > ? ${where.sql}`,
    [tenant, hourOf(since), since, ...where.params],
  );
  return Number(row?.[0] ?? 0);
}

export const usageStore = (db: Database): Sync<UsageStore> => ({
  listTools: (tenantId, agentId, since, until) => listTools(db, tenantId, agentId, since, until),
  fleet: (tenantId, env, since, countSince) => fleet(db, tenantId, env, since, countSince),
  listToolsOfAgents: (tenantId, env, since, agentIds) =>
    listToolsOfAgents(db, tenantId, env, since, agentIds),
  listContracts: (tenantId, env, since, until, names) => contractUses(db, tenantId, env, since, until, names),
  getSpan: (tenantId, agentId, env) => getSpan(db, tenantId, agentId, env),
  listVersionsAt: (tenantId, agentId, env, questions) =>
    listVersionsAt(db, tenantId, agentId, env, questions),
});
