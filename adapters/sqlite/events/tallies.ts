// Results from tallies alone, without the events: segments with the same tallies, joined by the database. Segments in
// several slots are split by their marks; the few others must be read one by one. Runs on the reader, in steps.
import { isWanted } from '../../../src/event/rules/decision.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import { type Database, givenText, type Row, type SqlValue } from '../database.ts';
import { entryOf } from '../usage/rows.ts';
import type { CompiledFilter } from './fitting.ts';
import {
  forEachMark,
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
/** Segments split before other reads are let in. */
const splitsPerStep = 128;

/** Events that count alike, within the filter's time and one slot: those of equal segments, or parts of segments. */
export interface Alike {
  readonly segments: number;
  readonly env: string;
  /** Null where segments are not grouped by agent, and `agents` counts their events. */
  readonly agent: string | null;
  /** The one policy version of their events; null where segments are not grouped by version. */
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

const nothing: TalliedWindow = { alike: [], agents: [], single: [] };

export interface Telling {
  /** Epoch milliseconds, a slot's width: segments that lie in two are looked at one by one. */
  readonly slotMs?: number;
  /** True where repeats of a call count. */
  readonly outcomes: boolean;
  readonly agents?: boolean;
  /** A column that groups segments; `versions`: segments with several versions are read one by one. */
  readonly by?: 'agent' | 'versions';
}

/** True if the filter takes some of the events of a segment. */
const isPartial = ({ toolName, verdict, verdicts, mode, decisionName, query }: EventFilter): boolean =>
  [toolName, verdict, verdicts, mode, decisionName, query].some((value) => value !== undefined);

export const asksFor = ({ query }: EventFilter, field: string): boolean =>
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

/** A part of a statement, and its parameters. */
interface Part {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

/** Parts of equal segments in one slot. */
interface SlotPart extends Alike {
  /** By the index of the tally. */
  readonly counts: number[];
}

const partAsAlike = ({ counts, tallies, ...part }: SlotPart): Alike => ({
  ...part,
  segments: 1,
  tallies: tallies.flatMap(([tool, verdict, mode, , name], index): readonly Tally[] => {
    const events = counts[index] ?? 0;
    return events === 0 ? [] : [[tool, verdict, mode, events, name]];
  }),
});

/** How the segments of a window are put together. */
class TallyQuery {
  /** Segments that may hold events that fit. */
  readonly #fit: Part;
  /** Those all of whose events lie within the filter's time and one slot. */
  readonly #whole: Part;
  readonly #slot: Part;
  readonly #slotMs: number;
  readonly #byAgent: boolean;
  readonly #by: Telling['by'];
  readonly #hasAgents: boolean;
  readonly #times: { readonly since: number; readonly until: number };
  /** True where outcomes decide: marks do not contain them. */
  readonly #repeats: boolean;
  readonly #numbers = new Map<readonly Tally[], number>();
  readonly #parsed = new Map<string, readonly Tally[]>();

  constructor(filter: EventFilter, { slotMs, outcomes, agents = false, by }: Telling) {
    const { since = -Number.MAX_VALUE, until = Number.MAX_VALUE } = filter;
    const isByName = filter.decisionName !== undefined || asksFor(filter, 'contract');
    const repeats = outcomes || isByName || (filter.verdict ?? filter.verdicts) !== undefined;
    const inTime = `min_ts >= ? AND max_ts <= ? ${repeats ? 'AND outcomes = 0' : ''}`;
    // A slot's end is not in it, as `until` is not in the last.
    const inSlot = ' AND max_ts < ? AND floor(min_ts / ?) = floor(max_ts / ?)';
    const ofVersion = by === 'versions' ? ' AND json_array_length(versions) = 1' : '';
    this.#fit = mayFit(filter, until);
    this.#whole =
      slotMs === undefined
        ? { sql: inTime + ofVersion, params: [since, until] }
        : { sql: inTime + inSlot + ofVersion, params: [since, until, until, slotMs, slotMs] };
    this.#slot =
      slotMs === undefined ? { sql: '0', params: [] } : { sql: 'floor(max_ts / ?)', params: [slotMs] };
    this.#slotMs = slotMs ?? 0;
    this.#byAgent = (agents && isPartial(filter)) || asksFor(filter, 'agent') || by === 'agent';
    this.#by = by;
    this.#hasAgents = agents;
    this.#times = { since, until };
    this.#repeats = repeats;
  }

  *read(db: Database, window: Part): Generator<TalliedWindow, void, undefined> {
    const from = `${window.sql} AND sample = 0 AND ${this.#fit.sql}`;
    const params = [...window.params, ...this.#fit.params];
    const column = this.#by ?? (this.#byAgent ? 'agent' : 'NULL');
    const groups = db.all(
      `SELECT ${this.#slot.sql} AS slot, CASE WHEN ${this.#whole.sql} THEN 0 ELSE id END AS one, env,
         ${column} AS whose, tallies, count(*) ${from} GROUP BY slot, one, env, whose, tallies`,
      [...this.#slot.params, ...this.#whole.params, ...params],
    );
    const alike: Alike[] = [];
    const single: Summary[] = [];
    const parts = new Map<string, SlotPart>();
    // Before the first pause, so that they count the same segments as the groups.
    const agents = this.#agentsIn(db, from, params);
    let splits = 0;
    for (const group of groups) {
      const id = Number(group[1]);
      if (id === 0) {
        alike.push(this.#alikeIn(group));
        continue;
      }
      if (!this.#split(db, id, group, parts)) {
        const row = db.get(`SELECT ${summaryColumns} FROM segments WHERE id = ?`, [id]);
        // Undefined: it was removed in a pause.
        if (row) single.push(readSummary(row));
      }
      if (++splits % splitsPerStep === 0) yield nothing;
    }
    alike.push(...[...parts.values()].map(partAsAlike));
    yield { alike, agents, single };
  }

  /** Adds the segment's events to the parts of their slots by its marks. @returns false if they do not suffice */
  #split(db: Database, id: number, group: Row, parts: Map<string, SlotPart>): boolean {
    // Of one row: a removal numbers the tallies again.
    const [text, marks, outcomes, agent, versions] =
      db.get('SELECT tallies, marks, outcomes, agent, versions FROM segments WHERE id = ?', [id]) ?? [];
    if (!(marks instanceof Uint8Array) || (this.#repeats && outcomes !== 0)) return false;
    if (this.#by === 'versions' && (JSON.parse(String(versions)) as unknown[]).length !== 1) return false;
    const { since, until } = this.#times;
    const slotMs = this.#slotMs;
    const tallies = this.#talliesOf(String(text));
    // `agents` counts only segments that lie within the filter's time.
    const owner = this.#byAgent || this.#hasAgents ? givenText(String(agent)) : null;
    const like = { ...this.#alikeIn(group), agent: owner, tallies };
    const name = JSON.stringify([owner, like.version, like.env, this.#numberOf(tallies)]);
    const bySlot = new Map<number, number[]>();
    const all = tallies.map(() => true);
    forEachMark(marks, all, (ts, _position, tally) => {
      // Without slots, `until` is inclusive (filter.ts).
      if (ts < since || ts > until || (slotMs > 0 && ts === until)) return;
      const slot = slotMs > 0 ? Math.floor(ts / slotMs) : 0;
      let counts = bySlot.get(slot);
      if (counts === undefined) {
        const start = slot * slotMs;
        const newPart = () => ({ ...like, start, counts: tallies.map(() => 0) });
        counts = entryOf(parts, `${slot} ${name}`, newPart).counts;
        bySlot.set(slot, counts);
      }
      counts[tally] = (counts[tally] ?? 0) + 1;
    });
    return true;
  }

  #alikeIn([number, , env, whose, text, segments]: Row): Alike {
    return {
      segments: Number(segments),
      env: String(env),
      agent: this.#byAgent && whose !== null ? givenText(String(whose)) : null,
      version: this.#by === 'versions' ? String((JSON.parse(String(whose)) as unknown[])[0]) : null,
      start: Number(number) * this.#slotMs,
      tallies: this.#talliesOf(String(text)),
    };
  }

  #agentsIn(db: Database, from: string, params: readonly SqlValue[]): readonly AgentEvents[] {
    if (!this.#hasAgents || this.#byAgent) return [];
    const sums = db.all(`SELECT agent, sum(events) ${from} AND ${this.#whole.sql} GROUP BY agent`, [
      ...params,
      ...this.#whole.params,
    ]);
    return sums.map(([agent, events]) => ({ agent: givenText(String(agent)), events: Number(events) }));
  }

  /** A number in the place of a long text. */
  #numberOf(tallies: readonly Tally[]): number {
    const number = this.#numbers.get(tallies) ?? this.#numbers.size;
    this.#numbers.set(tallies, number);
    return number;
  }

  /** Segments share few texts: each is parsed once. */
  #talliesOf(text: string): readonly Tally[] {
    let tallies = this.#parsed.get(text);
    if (!tallies) {
      tallies = readTallies({ tallies: text });
      this.#parsed.set(text, tallies);
    }
    return tallies;
  }
}

/**
 * Tallies of the segments that may hold fitting events, a window at a time: another read may run before each answer.
 * @param filter one that needs no bodies
 */
export function* tellings(
  db: Database,
  tenantId: string,
  filter: EventFilter,
  telling: Telling,
): Generator<TalliedWindow, void, undefined> {
  const tenant = tenantNumber(db, tenantId);
  if (tenant === null) return;
  const query = new TallyQuery(filter, telling);
  const { until = Number.MAX_VALUE } = filter;
  for (const window of windows(db, tenant, filter, until, { first: largestWindow, largest: largestWindow }))
    yield* query.read(db, window);
}
