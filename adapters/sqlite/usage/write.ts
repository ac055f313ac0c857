// Keeps the summaries of events (schema/events.ts) and runs true. Runs on the writer. Additions of several commits are
// gathered and written together, because they share most rows. `store.counted_through` is written with them: a start
// counts the segments behind it once more (`load`), so that a crash loses nothing and counts nothing twice.

import { contractMarks, type EventOutcome } from '../../../src/event/record.ts';
import type { Env } from '../../../src/shared/ids.ts';
import { type Database, givenText, type Row } from '../database.ts';
import { sessionFacts } from '../events/encode.ts';
import {
  type Counted,
  type CountedRun,
  countedIn,
  placeOf,
  runOf,
  segmentEventsOf,
} from '../events/segment.ts';
import { NoteWriter } from '../note-writer.ts';
import { type RunSource, RunWriter } from '../run-writer.ts';
import { RowWriter } from './row-writer.ts';
import {
  addPlaced,
  type ContractUsageChange,
  type ContractUsageRow,
  contractChanges,
  contractRow,
  entryOf,
  hourOf,
  joinChanges,
  minuteOf,
  type Place,
  runsOfContracts,
  type ToolRow,
  type VersionRow,
} from './rows.ts';

/** Minutes that the statistics by minute reach back at least: a day, and the largest error of a clock. */
const minutesKept = 26 * 60;

/** Groups of events and runs that are gathered, at most: bounds how long their commit takes. */
const maxGathered = 250;
/** Entries of the audit chain, for the same reason. */
const maxEntries = 5_000;

/** A stored segment that the summaries do not count yet. */
interface Uncounted extends RunSource {
  readonly id: number;
  readonly place: Place;
}

const selectSegments = `SELECT s.id, s.tenant, t.tenant_id, s.env, s.agent, s.max_ts, s.received_at, s.sample
  FROM segments s JOIN tenant_numbers t ON t.number = s.tenant`;

const readUncounted = ([id, tenant, tenantId, env, agent, ts, receivedAt, sample]: Row): Uncounted => ({
  id: Number(id),
  place: {
    tenant: Number(tenant),
    env: String(env),
    agent: givenText(String(agent)),
    hour: hourOf(Number(ts)),
  },
  tenantId: String(tenantId),
  receivedAt: Number(receivedAt),
  sample: sample === 1,
});

interface Added {
  readonly place: Place;
  readonly runs: readonly CountedRun[];
  readonly receivedAt: number;
}

/** Gathered changes, added up by row. */
const noRows = () => ({
  tools: new Map<string, ToolRow>(),
  versions: new Map<string, VersionRow>(),
  contracts: new Map<string, ContractUsageRow>(),
});

export class UsageWriter {
  readonly #db: Database;
  readonly #writer: RowWriter;
  readonly runs: RunWriter;
  readonly notes: NoteWriter;
  #added: Added[] = [];
  /** Those of `#added` before this place are folded into `#rows`: they are committed. */
  #folded = 0;
  #rows = noRows();
  #changes: ContractUsageChange[] = [];
  /** The newest segment that is gathered or written. */
  #newest = 0;
  #isDue = false;
  /** By tenant: the minute from which on all minutes are counted. */
  readonly #minutesFrom = new Map<number, number>();

  constructor(db: Database) {
    this.#db = db;
    this.#writer = new RowWriter(db);
    this.runs = new RunWriter(db);
    this.notes = new NoteWriter(db);
  }

  /** Counts stored events that are not counted yet. Once, before anything else. */
  load(): void {
    const db = this.#db;
    this.#newest = Number(db.get('SELECT counted_through FROM store')?.[0]);
    db.atomically(() => {
      this.notes.load();
      this.#countLater();
    });
  }

  /** Counts the segments that a crash kept from being counted: all of their outcomes are counted with others'. */
  #countLater(): void {
    for (const row of this.#db.all(`${selectSegments} WHERE s.id > ? ORDER BY s.id`, [this.#newest])) {
      const segment = readUncounted(row);
      if (!segment.sample) this.#countSegment(segment);
      const facts = sessionFacts(segmentEventsOf(this.#db, segment.id), {
        env: segment.place.env as Env,
        receivedAt: segment.receivedAt,
      });
      this.runs.add(segment, segment.place.agent, placeOf(segment.id, 0), facts);
      this.noteSegment(segment.id);
    }
    this.flush();
  }

  #countSegment({ id, place, receivedAt }: Uncounted): void {
    const runs = countedIn(this.#db, id).flatMap((event) => (event ? runOf(event) : []));
    this.add(place, runs, receivedAt);
  }

  /** Events that are stored in this transaction. @param runs none over more than one minute */
  add(place: Place, runs: readonly CountedRun[], receivedAt: number): void {
    const at = this.#added.push({ place, runs, receivedAt }) - 1;
    this.#db.onUndo(() => {
      this.#added.length = Math.min(this.#added.length, at);
    });
  }

  /** Counts the outcome that a repeat adds to a stored event. @param before outcomes from earlier repeats */
  addOutcome(
    { tenant, env }: Place,
    event: Counted,
    before: readonly EventOutcome[],
    outcome: EventOutcome,
  ): void {
    const name = outcome.decisionName;
    if (name === null) return;
    const contractMark = contractMarks(event, before).get(name);
    const now = contractMarks(event, [...before, outcome]).get(name);
    const added = (flag: 'denied' | 'observed'): number => (now?.[flag] && !contractMark?.[flag] ? 1 : 0);
    const change: ContractUsageChange = {
      tenant,
      env,
      name: contractRow(name),
      ts: event.ts,
      events: contractMark ? 0 : 1,
      denied: added('denied'),
      observed: added('observed'),
    };
    if (change.events + change.denied + change.observed === 0) return;
    const at = this.#changes.push(change) - 1;
    this.#db.onUndo(() => {
      this.#changes.length = Math.min(this.#changes.length, at);
    });
  }

  /**
   * Adds up what earlier commits gathered, so that a flush has little left to do. To be called in a transaction, before
   * its writes.
   */
  fold(): void {
    for (; this.#folded < this.#added.length; this.#folded++) {
      const added = this.#added[this.#folded];
      if (added) this.#foldOne(added);
    }
  }

  #foldOne({ place, runs, receivedAt }: Added): void {
    const { tools, versions, contracts } = this.#rows;
    this.#sweep(place.tenant, receivedAt);
    addPlaced(tools, versions, place, runs);
    const changes = runsOfContracts(runs).flatMap((run) => contractChanges(place, run, [], 1));
    for (const change of joinChanges(changes)) this.gather(contracts, change);
  }

  /** A segment is stored in this transaction, and its additions are gathered. */
  noteSegment(id: number): void {
    const before = this.#newest;
    this.#newest = Math.max(before, id);
    this.#db.onUndo(() => {
      this.#newest = before;
    });
  }

  /** Has this transaction write what is gathered: outcomes are not counted again after a crash. */
  flushSoon(): void {
    this.#isDue = true;
  }

  /**
   * Writes notes, and the other gathered changes if they are due. To be called in each transaction that stores events,
   * after its writes.
   */
  flushIfDue(): void {
    this.notes.flush();
    const isFull = this.#added.length >= maxGathered || this.runs.size >= maxGathered;
    if (this.#isDue || isFull || this.notes.size >= maxEntries) this.flush();
  }

  /** Writes what is gathered, of runs too. To be called in a transaction, after its other writes. */
  flush(): void {
    this.#isDue = false;
    this.notes.flush();
    this.notes.flushEntries();
    this.runs.flush();
    this.fold();
    const [added, changes, { tools, versions, contracts }] = [this.#added, this.#changes, this.#rows];
    [this.#added, this.#changes, this.#rows, this.#folded] = [[], [], noRows(), 0];
    this.#db.onUndo(() => {
      // The rows may hold what is undone with this transaction: they are made again.
      [this.#added, this.#changes, this.#rows, this.#folded] = [added, changes, noRows(), 0];
    });
    this.#db.run('UPDATE store SET counted_through = ?1 WHERE counted_through < ?1', [this.#newest]);
    if (added.length === 0 && changes.length === 0) return;
    for (const change of changes) this.gather(contracts, change);
    this.#writer.addPlaced(tools, versions);
    this.#writer.addContracts(contracts);
  }

  /** Adds a change to the rows that it changes: of its hour, and of its minute while minutes are kept. */
  gather(rows: Map<string, ContractUsageRow>, change: ContractUsageChange): void {
    const { tenant, env, name, ts, events, denied, observed } = change;
    const minute = minuteOf(ts);
    for (const [table, start] of [
      ['contract_hours', hourOf(ts)],
      ['contract_minutes', minute],
    ] as const) {
      if (table === 'contract_minutes' && minute < this.#minutesOf(tenant)) continue;
      const row = entryOf(rows, `${table} ${tenant} ${start} ${env} ${name}`, () => ({
        table,
        tenant,
        env,
        start,
        name,
        events: 0,
        denied: 0,
        observed: 0,
        last: ts,
      }));
      row.events += events;
      row.denied += denied;
      row.observed += observed;
      row.last = Math.max(row.last, ts);
    }
  }

  /** To be called when `agent_tools` is changed by others. */
  forgetTools(): void {
    this.#writer.forgetTools();
  }

  #minutesOf(tenant: number): number {
    const firstMinute = this.#minutesFrom.get(tenant);
    if (firstMinute !== undefined) return firstMinute;
    const stored = this.#db.get('SELECT minutes_from FROM tenant_numbers WHERE number = ?', [tenant])?.[0];
    const from = typeof stored === 'number' ? stored : Number.POSITIVE_INFINITY;
    this.#minutesFrom.set(tenant, from);
    return from;
  }

  /** Drops the minutes that are older than is kept, once a minute. */
  #sweep(tenant: number, receivedAt: number): void {
    const from = minuteOf(receivedAt) - minutesKept;
    const before = this.#minutesOf(tenant);
    if (before !== Number.POSITIVE_INFINITY && from <= before) return;
    this.#db.run('UPDATE tenant_numbers SET minutes_from = ? WHERE number = ?', [from, tenant]);
    this.#db.run('DELETE FROM contract_minutes WHERE tenant = ? AND start < ?', [tenant, from]);
    this.#minutesFrom.set(tenant, from);
    this.#db.onUndo(() => this.#minutesFrom.delete(tenant));
  }
}
