// Reads the summaries of events: whole hours and minutes as they stand, and what of an hour is asked for in part from the segments' marks.
// Runs on the reader, in steps. Times at which one part ends and the next begins split the events, so that none counts twice.
import { contractMarks, countedAs, type Outcome } from '../../src/domain/event.ts';
import type { Env } from '../../src/domain/ids.ts';
import type {
  AgentSpan,
  ContractUse,
  ToolUse,
  UsageStore,
  VersionAnswer,
  VersionQuestion,
} from '../../src/ports/usage.ts';
import { type Database, givenText } from './database.ts';
import { fittingCounts } from './events-search.ts';
import { walk } from './events-walk.ts';
import { type Counted, segmentSpanMs, tenantNumber } from './segment.ts';
import type { Steps, Sync } from './sync.ts';
import { fleet, inEnv, segmentsPerStep, toolsOfAgents } from './usage-fleet.ts';
import { allEvents, contractRow, entryOf, hourOf, minuteMs } from './usage-rows.ts';

interface Seen {
  readonly env: Env;
  readonly agent: string;
  readonly event: Counted;
  readonly outcomes: readonly Outcome[];
}

/** Hands each event in [from, to) to `take`. */
function* eachEvent(
  db: Database,
  tenantId: string,
  filter: { readonly env: Env | null; readonly agentId?: string; readonly from: number; readonly to: number },
  take: (seen: Seen) => void,
): Steps<void> {
  const { env, agentId, from, to } = filter;
  if (from >= to) return;
  const wanted = { env, since: from, until: to, ...(agentId === undefined ? {} : { agentId }) };
  let read = 0;
  for (const segment of walk(db, tenantId, wanted, to)) {
    if (typeof segment === 'number') {
      yield;
      continue;
    }
    if (segment.sample) continue;
    for (const { event, outcomes } of fittingCounts(db, segment, wanted)) {
      if (event.ts < to) take({ env: segment.env as Env, agent: segment.agent, event, outcomes });
    }
    if (++read % segmentsPerStep === 0) yield;
  }
}

interface Sums {
  events: number;
  denied: number;
  observed: number;
  last: number;
}

type Part =
  | { readonly kind: 'events'; readonly from: number; readonly to: number }
  | {
      readonly kind: 'rows';
      readonly table: 'contract_hours' | 'contract_minutes';
      readonly from: number;
      readonly to: number;
    };

/** [since, until) as whole hours, whole minutes where these are kept, and what is left. */
function partsOf(since: number, until: number, minutesFrom: number): Part[] {
  function split(
    from: number,
    to: number,
    table: 'contract_hours' | 'contract_minutes',
    rest: (from: number, to: number) => Part[],
  ): Part[] {
    const width = table === 'contract_hours' ? segmentSpanMs : minuteMs;
    const [low, high] = [Math.ceil(from / width), Math.floor(to / width)];
    if (low >= high) return rest(from, to);
    return [
      ...rest(from, low * width),
      { kind: 'rows', table, from: low, to: Math.min(high, Number.MAX_SAFE_INTEGER) },
      ...(Number.isFinite(to) ? rest(high * width, to) : []),
    ];
  }
  const exactly = (from: number, to: number): Part[] => (from < to ? [{ kind: 'events', from, to }] : []);
  const byMinute = (from: number, to: number): Part[] =>
    Math.ceil(from / minuteMs) < minutesFrom
      ? exactly(from, to)
      : split(from, to, 'contract_minutes', exactly);
  return split(since, until, 'contract_hours', byMinute);
}

/** Sums by the name of the row: all events, and each contract. */
export function* contractSums(
  db: Database,
  tenantId: string,
  env: Env | null,
  since: number,
  until: number,
): Steps<ReadonlyMap<string, Readonly<Sums>>> {
  const sums = new Map<string, Sums>();
  const add = (name: string, { events, denied, observed, last }: Sums): void => {
    const sum = entryOf(sums, name, () => ({ events: 0, denied: 0, observed: 0, last }));
    sum.events += events;
    sum.denied += denied;
    sum.observed += observed;
    sum.last = Math.max(sum.last, last);
  };
  const addEvent = ({ event, outcomes }: Seen): void => {
    const as = countedAs(event.verdict, event.mode);
    const of = (denied: boolean, observed: boolean): Sums => ({
      events: 1,
      denied: denied ? 1 : 0,
      observed: observed ? 1 : 0,
      last: event.ts,
    });
    add(allEvents, of(as === 'denied', as === 'observed'));
    for (const [name, mark] of contractMarks(event, outcomes)) {
      add(contractRow(name), of(mark.denied, mark.observed));
    }
  };
  const [number, from] =
    db.get('SELECT number, minutes_from FROM tenant_numbers WHERE tenant_id = ?', [tenantId]) ?? [];
  if (typeof number !== 'number') return sums;
  for (const part of partsOf(since, until, typeof from === 'number' ? from : Number.POSITIVE_INFINITY)) {
    if (part.kind === 'events') {
      yield* eachEvent(db, tenantId, { env, from: part.from, to: part.to }, addEvent);
      continue;
    }
    const rows = db.all(
      `SELECT name, sum(events), sum(denied), sum(observed), max(last_ts) FROM ${part.table}
         WHERE tenant = ? AND start >= ? AND start < ? ${env === null ? '' : 'AND env = ?'} GROUP BY name`,
      [number, part.from, part.to, ...(env === null ? [] : [env])],
    );
    for (const [name, events, denied, observed, last] of rows) {
      add(givenText(String(name)), {
        events: Number(events),
        denied: Number(denied),
        observed: Number(observed),
        last: Number(last),
      });
    }
    yield;
  }
  return sums;
}

function* contracts(
  db: Database,
  tenantId: string,
  env: Env | null,
  since: number,
  until: number,
): Steps<{ readonly events: number; readonly contracts: readonly ContractUse[] }> {
  const sums = yield* contractSums(db, tenantId, env, since, until);
  const found: ContractUse[] = [];
  for (const [name, { events, denied, observed, last }] of sums) {
    if (name === allEvents) continue;
    const given = name.slice(contractRow('').length);
    found.push({ name: given, calls: events, denials: denied, warnings: observed, lastTriggered: last });
  }
  found.sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
  return { events: sums.get(allEvents)?.events ?? 0, contracts: found };
}

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
  toolsOfAgents: (tenantId, env, since, agentIds) => toolsOfAgents(db, tenantId, env, since, agentIds),
  contracts: (tenantId, env, since, until) => contracts(db, tenantId, env, since, until),
  spanOf: (tenantId, agentId) => spanOf(db, tenantId, agentId),
  versionsAt: (tenantId, agentId, env, questions) => versionsAt(db, tenantId, agentId, env, questions),
});
