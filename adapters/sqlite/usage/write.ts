// Keeps the summaries of events (schema/events.ts) true in the commits that store events. Runs on the writer.
// What a commit adds is gathered and written once at its end, because the batches of a commit share most rows.
import { contractMarks, type EventOutcome } from '../../../src/domain/event.ts';
import { type Database, givenText, storedText } from '../database.ts';
import { type Counted, type CountedRun, countedIn, outcomesOf, runOf } from '../events/segment.ts';
import {
  addPlaced,
  type ContractUsageChange,
  type ContractUsageRow,
  contractChanges,
  contractRow,
  entryOf,
  hourOf,
  minuteOf,
  type Place,
  type ToolRow,
  type VersionRow,
} from './rows.ts';

/** Minutes that the statistics by minute reach back at least: a day, and what a clock may be off. */
const minutesKept = 26 * 60;

// Rows come as one JSON list, because many small statements would cost more than what they do. Times are multiplied by
// a power of two that makes whole numbers of them, so that none is rounded on its way through the text.
const scale = 4096;
const column = (i: number): string => `value->>${i}`;
const columns = (count: number): string => Array.from({ length: count }, (_, i) => column(i)).join(', ');
const time = (i: number): string => `(${column(i)}) / ${scale}.0`;
const addTools = `INSERT INTO tool_hours (tenant, agent, hour, env, tool, events, allowed, denied, observed, last_ts)
  SELECT ${columns(9)}, ${time(9)} FROM json_each(?) WHERE true
  ON CONFLICT DO UPDATE SET events = events + excluded.events, allowed = allowed + excluded.allowed,
    denied = denied + excluded.denied, observed = observed + excluded.observed, last_ts = max(last_ts, excluded.last_ts)`;
const seenTools = `INSERT INTO agent_tools (tenant, agent, env, tool, last_hour)
  SELECT ${column(0)}, ${column(1)}, ${column(3)}, ${column(4)}, ${column(2)} FROM json_each(?) WHERE true
  ON CONFLICT DO UPDATE SET last_hour = excluded.last_hour WHERE excluded.last_hour > last_hour`;
const addVersions = `INSERT INTO agent_hours (tenant, hour, agent, env, version, events, first_ts, last_ts)
  SELECT ${columns(6)}, ${time(6)}, ${time(7)} FROM json_each(?) WHERE true
  ON CONFLICT DO UPDATE SET events = events + excluded.events,
    first_ts = min(first_ts, excluded.first_ts), last_ts = max(last_ts, excluded.last_ts)`;
const addContracts = (table: ContractUsageRow['table']) => `INSERT INTO ${table}
    (tenant, start, env, name, events, denied, observed, last_ts)
  SELECT ${columns(7)}, ${time(7)} FROM json_each(?) WHERE true
  ON CONFLICT DO UPDATE SET events = events + excluded.events, denied = denied + excluded.denied,
    observed = observed + excluded.observed, last_ts = max(last_ts, excluded.last_ts)`;

interface Added {
  readonly place: Place;
  readonly runs: readonly CountedRun[];
  readonly receivedAt: number;
}

export class UsageWriter {
  readonly #db: Database;
  #added: Added[] = [];
  #changes: ContractUsageChange[] = [];
  /** By tenant: the minute from which on all minutes are counted. */
  readonly #minutesFrom = new Map<number, number>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Counts what an older version stored. Once, before anything else. */
  load(): void {
    const db = this.#db;
    if (db.get('SELECT counted FROM store')?.[0] === 1) return;
    db.atomically(() => {
      let last = 0;
      for (;;) {
        const rows = db.all(
          `SELECT id, tenant, env, agent, max_ts, received_at, tallies, outcomes FROM segments
             WHERE id > ? AND sample = 0
             ORDER BY id LIMIT 200`,
          [last],
        );
        for (const [id, tenant, env, agent, ts, receivedAt, tallies, outcomes] of rows) {
          last = Number(id);
          const place = {
            tenant: Number(tenant),
            env: String(env),
            agent: givenText(String(agent)),
            hour: hourOf(Number(ts)),
          };
          const counted = countedIn(db, { id: last, tallies: String(tallies) });
          this.add(
            place,
            counted.flatMap((event) => (event ? runOf(event) : [])),
            Number(receivedAt),
          );
          if (Number(outcomes) > 0) this.#addAllOutcomes(place, last, counted);
        }
        this.flush();
        if (rows.length === 0) break;
      }
      db.run('UPDATE store SET counted = 1');
    });
  }

  #addAllOutcomes(place: Place, segment: number, counted: readonly (Counted | null)[]): void {
    for (const [position, outcomes] of outcomesOf(this.#db, segment)) {
      const event = counted[position];
      if (!event) continue;
      for (const [i, outcome] of outcomes.entries()) {
        this.addOutcome(place, event, outcomes.slice(0, i), outcome);
      }
    }
  }

  /** Events that are stored in this transaction. @param runs none over more than one minute */
  add(place: Place, runs: readonly CountedRun[], receivedAt: number): void {
    const at = this.#added.push({ place, runs, receivedAt }) - 1;
    this.#db.onUndo(() => {
      this.#added.length = Math.min(this.#added.length, at);
    });
  }

  /** What a repeat said of a stored event. @param before what earlier repeats said */
  addOutcome(
    { tenant, env }: Place,
    event: Counted,
    before: readonly EventOutcome[],
    outcome: EventOutcome,
  ): void {
    const name = outcome.decision_name;
    if (name === null) return;
    const known = contractMarks(event, before).get(name);
    const now = contractMarks(event, [...before, outcome]).get(name);
    const added = (flag: 'denied' | 'observed'): number => (now?.[flag] && !known?.[flag] ? 1 : 0);
    const change: ContractUsageChange = {
      tenant,
      env,
      name: contractRow(name),
      ts: event.ts,
      events: known ? 0 : 1,
      denied: added('denied'),
      observed: added('observed'),
    };
    if (change.events + change.denied + change.observed === 0) return;
    const at = this.#changes.push(change) - 1;
    this.#db.onUndo(() => {
      this.#changes.length = Math.min(this.#changes.length, at);
    });
  }

  /** Writes what was gathered. To be called in the transaction, after its other writes. */
  flush(): void {
    const [added, changes] = [this.#added, this.#changes];
    if (added.length === 0 && changes.length === 0) return;
    [this.#added, this.#changes] = [[], []];
    const tools = new Map<string, ToolRow>();
    const versions = new Map<string, VersionRow>();
    const contracts = new Map<string, ContractUsageRow>();
    for (const { place, runs, receivedAt } of added) {
      this.#sweep(place.tenant, receivedAt);
      for (const run of runs) {
        addPlaced(tools, versions, place, run);
        for (const change of contractChanges(place, run, [], 1)) this.gather(contracts, change);
      }
    }
    for (const change of changes) this.gather(contracts, change);
    this.writePlaced(tools, versions);
    for (const table of ['contract_hours', 'contract_minutes'] as const) {
      const rows = [...contracts.values()]
        .filter((row) => row.table === table)
        .map(({ tenant, start, env, name, events, denied, observed, last }) => [
          tenant,
          start,
          env,
          storedText(name),
          events,
          denied,
          observed,
          last * scale,
        ]);
      if (rows.length > 0) this.#db.run(addContracts(table), [JSON.stringify(rows)]);
    }
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

  /** Adds to what is counted of agents' hours. */
  writePlaced(tools: ReadonlyMap<string, ToolRow>, versions: ReadonlyMap<string, VersionRow>): void {
    const db = this.#db;
    const used = [...tools.values()].map(
      ({ tenant, agent, hour, env, tool, events, allowed, denied, observed, last }) => [
        tenant,
        storedText(agent),
        hour,
        env,
        storedText(tool),
        events,
        allowed,
        denied,
        observed,
        last * scale,
      ],
    );
    const run = [...versions.values()].map(({ tenant, hour, agent, env, version, events, first, last }) => [
      tenant,
      hour,
      storedText(agent),
      env,
      storedText(version),
      events,
      first * scale,
      last * scale,
    ]);
    if (used.length > 0) {
      const rows = JSON.stringify(used);
      db.run(addTools, [rows]);
      db.run(seenTools, [rows]);
    }
    if (run.length > 0) db.run(addVersions, [JSON.stringify(run)]);
  }

  #minutesOf(tenant: number): number {
    const known = this.#minutesFrom.get(tenant);
    if (known !== undefined) return known;
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
