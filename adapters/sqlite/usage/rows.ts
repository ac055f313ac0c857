// The rows of the summaries of events while they are gathered: one event's additions to each. Reads and writes nothing.

import { contractMarks, countedAs, type EventOutcome, outcomeCountedAs } from '../../../src/event/record.ts';
import { minuteMs } from '../../../src/shared/duration.ts';
import { type Counted, type CountedRun, segmentSpanMs } from '../events/segment.ts';

export const hourOf = (ts: number): number => Math.floor(ts / segmentSpanMs);
export const minuteOf = (ts: number): number => Math.floor(ts / minuteMs);
/** The name of the row that counts all events of an environment. */
export const allEvents = '';
export const contractRow = (name: string): string => `=${name}`;

/** Owner of counted events: one agent, in one hour. */
export interface Place {
  readonly tenant: number;
  readonly env: string;
  readonly agent: string;
  readonly hour: number;
}

export interface ToolRow extends Place {
  readonly tool: string;
  events: number;
  allowed: number;
  denied: number;
  observed: number;
  last: number;
}

export interface VersionRow extends Place {
  readonly version: string;
  events: number;
  first: number;
  last: number;
}

export interface ContractUsageRow {
  readonly table: 'contract_hours' | 'contract_minutes';
  readonly tenant: number;
  readonly env: string;
  readonly start: number;
  readonly name: string;
  events: number;
  denied: number;
  observed: number;
  last: number;
}

type Writable<T> = { -readonly [F in keyof T]: T[F] };

/** Numbers that an event, or a part of one, adds to the statistics of a contract; negative when the event goes. */
export interface ContractUsageChange {
  readonly tenant: number;
  readonly env: string;
  readonly name: string;
  readonly ts: number;
  readonly events: number;
  readonly denied: number;
  readonly observed: number;
}

/** The entry of a key, made when it is missing. */
export function entryOf<V>(map: Map<string, V>, key: string, make: () => V): V {
  const value = map.get(key);
  if (value !== undefined) return value;
  const created = make();
  map.set(key, created);
  return created;
}

/** Never the same for two: lengths mark the end of a text. */
export const keyOf = ({ tenant, hour, env, agent }: Place, last: string): string =>
  `${tenant} ${hour} ${env} ${agent.length} ${agent}${last}`;

// Written out, because copying a place by `...` costs more than all of its row.
const newToolRow = ({ tenant, env, agent, hour }: Place, tool: string, last: number): ToolRow => ({
  tenant,
  env,
  agent,
  hour,
  tool,
  events: 0,
  allowed: 0,
  denied: 0,
  observed: 0,
  last,
});
const newVersionRow = (
  { tenant, env, agent, hour }: Place,
  version: string,
  first: number,
  last: number,
): VersionRow => ({ tenant, env, agent, hour, version, events: 0, first, last });

/** Rows among which one is looked for without its key. */
const nearRows = 8;

/**
 * One of the last few rows. Making the key of a row costs more than all else, and most batches have few rows; those
 * with many find the rest by key.
 */
function nearRow<T>(rows: readonly T[], isIt: (row: T) => boolean): T | undefined {
  for (let i = rows.length - 1; i >= 0 && i >= rows.length - nearRows; i--) {
    const row = rows[i] as T;
    if (isIt(row)) return row;
  }
  return undefined;
}

/** Adds runs of one place to the rows of its tools and versions. */
export function addPlaced(
  tools: Map<string, ToolRow>,
  versions: Map<string, VersionRow>,
  place: Place,
  runs: readonly CountedRun[],
): void {
  const placeKey = keyOf(place, '');
  const toolRows: ToolRow[] = [];
  const versionRows: VersionRow[] = [];
  for (const { tool, verdict, mode, version, count, first, last } of runs) {
    let row = nearRow(toolRows, (one) => one.tool === tool);
    if (!row) {
      row = entryOf(tools, placeKey + tool, () => newToolRow(place, tool, last));
      toolRows.push(row);
    }
    const as = countedAs(verdict, mode);
    row.events += count;
    if (as !== 'pending') row[as] += count;
    row.last = Math.max(row.last, last);
    let run = nearRow(versionRows, (one) => one.version === version);
    if (!run) {
      run = entryOf(versions, placeKey + version, () => newVersionRow(place, version, first, last));
      versionRows.push(run);
    }
    run.events += count;
    run.first = Math.min(run.first, first);
    run.last = Math.max(run.last, last);
  }
}

/** Near runs of one minute and contract together, whatever their tools and versions: contracts count them alike. */
export function runsOfContracts(runs: readonly CountedRun[]): readonly CountedRun[] {
  const joined: CountedRun[] = [];
  for (const run of runs) {
    const { name, verdict, mode, last } = run;
    const minute = minuteOf(last);
    const like = nearRow(
      joined,
      (one) =>
        one.name === name && one.verdict === verdict && one.mode === mode && minuteOf(one.last) === minute,
    );
    if (like) {
      like.count += run.count;
      like.last = Math.max(like.last, last);
    } else joined.push({ ...run });
  }
  return joined;
}

/** Changes of one environment with near ones of one minute and contract together. */
export function joinChanges(changes: readonly ContractUsageChange[]): readonly ContractUsageChange[] {
  const joined: Writable<ContractUsageChange>[] = [];
  for (const change of changes) {
    const minute = minuteOf(change.ts);
    const like = nearRow(joined, (one) => one.name === change.name && minuteOf(one.ts) === minute);
    if (like) {
      like.events += change.events;
      like.denied += change.denied;
      like.observed += change.observed;
      like.ts = Math.max(like.ts, change.ts);
    } else joined.push({ ...change });
  }
  return joined;
}

/** Of one environment: all its events, and each contract that the events name. @param event of one minute */
export function contractChanges(
  { tenant, env }: Pick<Place, 'tenant' | 'env'>,
  event: CountedRun,
  outcomes: readonly EventOutcome[],
  sign: 1 | -1,
): ContractUsageChange[] {
  const change = sign * event.count;
  const as = countedAs(event.verdict, event.mode);
  const of = (name: string, denied: boolean, observed: boolean): ContractUsageChange => ({
    tenant,
    env,
    name,
    ts: event.last,
    events: change,
    denied: denied ? change : 0,
    observed: observed ? change : 0,
  });
  return [
    of(allEvents, as === 'denied', as === 'observed'),
    ...[...contractMarks(event, outcomes)].map(([name, { denied, observed }]) =>
      of(contractRow(name), denied, observed),
    ),
  ];
}

/** An event that goes, with the outcomes from its repeats. */
export interface Removed {
  readonly event: Counted;
  readonly outcomes: readonly EventOutcome[];
}

/** True if the outcome of a repeat may change the counts of contracts. */
export function outcomeCounts(event: Counted, outcome: EventOutcome): boolean {
  if (outcome.decisionName === null) return false;
  if (outcome.decisionName !== event.name) return true;
  const as = outcomeCountedAs(outcome.verdict, event.mode);
  return (as === 'denied' || as === 'observed') && as !== countedAs(event.verdict, event.mode);
}
