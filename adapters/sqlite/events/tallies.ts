// What tallies tell without looking at events: segments whose tallies are the same, put together by the database, and
// the few segments that must be looked at one by one. Runs on the reader, in steps.
import { isWanted } from '../../../src/event/rules/decision.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import type { Database, SqlValue } from '../database.ts';
import { givenText } from '../database.ts';
import type { CompiledFilter } from './search.ts';
import {
  readSummary,
  readTallies,
  type Summary,
  summaryColumns,
  type Tally,
  tenantNumber,
} from './segment.ts';
import { mayFit, windows } from './walk.ts';

/** Segments put together in one query, at most: bounds how long other reads wait. */
const largestWindow = 4096;

/** Segments all of whose events count alike: they say the same, and lie within the filter's time and one slot. */
export interface Alike {
  readonly segments: number;
  readonly env: string;
  /** Null where segments are not told apart by agent. */
  readonly agent: string | null;
  /** The one policy version of their events; null where segments are not told apart by it. */
  readonly version: string | null;
  /** When the slot begins; 0 without slots. */
  readonly start: number;
  readonly tallies: readonly Tally[];
}

export interface AgentEvents {
  readonly agent: string;
  readonly events: number;
}

export interface TalliedWindow {
  readonly alike: readonly Alike[];
  /** Of the same segments, where agents are asked for and the filter takes all of their events. */
  readonly agents: readonly AgentEvents[];
  /** To be looked at one by one. */
  readonly single: readonly Summary[];
}

export interface Telling {
  /** Epoch milliseconds, a slot's width: segments that lie in two are looked at one by one. */
  readonly slotMs?: number;
  /** True where repeats of a call count. */
  readonly outcomes: boolean;
  readonly agents?: boolean;
  /** A column that tells segments apart; `versions`: those of several versions are looked at one by one. */
  readonly by?: 'agent' | 'versions';
}

/** True if the filter takes some of the events of a segment. */
const isPartial = ({ toolName, verdict, verdicts, mode, decisionName, query }: EventFilter): boolean =>
  [toolName, verdict, verdicts, mode, decisionName, query].some((value) => value !== undefined);

const asksFor = ({ query }: EventFilter, field: string): boolean =>
  query?.terms.some((term) => term.field === field) ?? false;

/** For tallies that suffice. @param group the segments' agent, where the filter asks for agents, and environment */
export const tallyFits = (
  [tool, verdict, mode, , name]: Tally,
  filter: CompiledFilter,
  { env, agent }: Pick<Alike, 'env' | 'agent'>,
): boolean =>
  (filter.toolName === undefined || tool === filter.toolName) &&
  (filter.verdict === undefined || verdict === filter.verdict) &&
  (filter.verdicts === undefined || isWanted(filter.verdicts, verdict)) &&
  (filter.mode === undefined || mode === filter.mode) &&
  (filter.decisionName === undefined || name === filter.decisionName) &&
  (filter.compiled === undefined ||
    filter.compiled.fitsCounted({ env, agent: agent ?? '', tool, verdict, mode, name, version: '' }, []));

/**
 * What the segments that may hold events that fit tell, a window at a time: another read may run before each.
 * @param filter one that needs no bodies
 */
export function* tellings(
  db: Database,
  tenantId: string,
  filter: EventFilter,
  { slotMs, outcomes, agents = false, by }: Telling,
): Generator<TalliedWindow, void, undefined> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return;
  const { since = -Number.MAX_VALUE, until = Number.MAX_VALUE } = filter;
  const fit = mayFit(filter, until);
  const isByName = filter.decisionName !== undefined || asksFor(filter, 'contract');
  const repeats = outcomes || isByName || (filter.verdict ?? filter.verdicts) !== undefined;
  const whole: { sql: string; params: readonly SqlValue[] } = {
    sql: `min_ts >= ? AND max_ts <= ? ${repeats ? 'AND outcomes = 0' : ''}`,
    params: [since, until],
  };
  if (slotMs !== undefined) {
    // A slot's end is not in it, as `until` is not in the last.
    whole.sql += ' AND max_ts < ? AND floor(min_ts / ?) = floor(max_ts / ?)';
    whole.params = [...whole.params, until, slotMs, slotMs];
  }
  const slot = slotMs === undefined ? '0' : 'floor(max_ts / ?)';
  const slotParams = slotMs === undefined ? [] : [slotMs];
  const byAgent = (agents && isPartial(filter)) || asksFor(filter, 'agent') || by === 'agent';
  if (by === 'versions') whole.sql += ' AND json_array_length(versions) = 1';
  const column = by ?? (byAgent ? 'agent' : 'NULL');
  const parsed = new Map<string, readonly Tally[]>();
  const talliesOf = (text: string): readonly Tally[] => {
    let tallies = parsed.get(text);
    if (!tallies) {
      tallies = readTallies({ tallies: text });
      parsed.set(text, tallies);
    }
    return tallies;
  };
  const { sql, params } = fit;
  for (const window of windows(db, tenant, filter, until, { first: largestWindow, largest: largestWindow })) {
    const from = `${window.sql} AND sample = 0 AND ${sql}`;
    const groups = db.all(
      `SELECT ${slot} AS slot, CASE WHEN ${whole.sql} THEN 0 ELSE id END AS one, env,
         ${column} AS whose, tallies, count(*) ${from} GROUP BY slot, one, env, whose, tallies`,
      [...slotParams, ...whole.params, ...window.params, ...params],
    );
    const alike: Alike[] = [];
    const single: Summary[] = [];
    for (const [number, one, env, whose, text, segments] of groups) {
      const tallies = talliesOf(String(text));
      if (one !== 0) {
        single.push(
          readSummary(db.get(`SELECT ${summaryColumns} FROM segments WHERE id = ?`, [Number(one)]) ?? []),
        );
      } else {
        alike.push({
          segments: Number(segments),
          env: String(env),
          agent: byAgent && whose !== null ? givenText(String(whose)) : null,
          version: by === 'versions' ? String((JSON.parse(String(whose)) as unknown[])[0]) : null,
          start: Number(number) * (slotMs ?? 0),
          tallies,
        });
      }
    }
    const sums =
      agents && !byAgent
        ? db.all(`SELECT agent, sum(events) ${from} AND ${whole.sql} GROUP BY agent`, [
            ...window.params,
            ...params,
            ...whole.params,
          ])
        : [];
    yield {
      alike,
      agents: sums.map(([agent, events]) => ({ agent: givenText(String(agent)), events: Number(events) })),
      single,
    };
  }
}
