// Adds gathered rows to the summaries of events (schema/events.ts). Runs on the writer.
import { type Database, storedText } from '../database.ts';
import { type ContractUsageRow, keyOf, type ToolRow, type VersionRow } from './rows.ts';

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

/** Tools of agents whose last hour is kept in memory. */
const maxToolHours = 50_000;

const toolRow = ({ tenant, agent, hour, env, tool, events, allowed, denied, observed, last }: ToolRow) => [
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
];

export class RowWriter {
  readonly #db: Database;
  /** The hour in which each tool of an agent was used last, as far as `agent_tools` is known to have it. */
  readonly #toolHours = new Map<string, number>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Adds to what is counted of agents' hours. */
  addPlaced(tools: ReadonlyMap<string, ToolRow>, versions: ReadonlyMap<string, VersionRow>): void {
    const db = this.#db;
    const used = [...tools.values()].map(toolRow);
    const newHours = [...tools.values()].filter((row) => this.#markTool(row));
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
      db.run(addTools, [JSON.stringify(used)]);
    }
    if (newHours.length > 0) db.run(seenTools, [JSON.stringify(newHours.map(toolRow))]);
    if (run.length > 0) db.run(addVersions, [JSON.stringify(run)]);
  }

  /** Notes that an agent used a tool in an hour. Returns false when `agent_tools` has this hour, or a later one. */
  #markTool({ tenant, agent, env, tool, hour }: ToolRow): boolean {
    const key = keyOf({ tenant, agent, env, hour: 0 }, tool);
    const before = this.#toolHours.get(key);
    if (before !== undefined && before >= hour) return false;
    if (this.#toolHours.size >= maxToolHours) this.#toolHours.clear();
    this.#toolHours.set(key, hour);
    this.#db.onUndo(() => this.#toolHours.clear());
    return true;
  }

  /** To be called when `agent_tools` is changed by others. */
  forgetTools(): void {
    this.#toolHours.clear();
  }

  /** Adds to the statistics of contracts. */
  addContracts(contracts: ReadonlyMap<string, ContractUsageRow>): void {
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
}
