// Keeps the summaries of events true when events are removed. Runs on the writer, in the transaction that removes them.

import { contractMarks } from '../../../src/event/record.ts';
import { minuteMs } from '../../../src/shared/duration.ts';
import type { Database } from '../database.ts';
import { type Counted, countedIn, outcomesOf, runOf, segmentSpanMs } from '../events/segment.ts';
import {
  addPlaced,
  allEvents,
  type ContractUsageRow,
  contractChanges,
  contractRow,
  entryOf,
  hourOf,
  type Place,
  type Removed,
  type ToolRow,
  type VersionRow,
} from './rows.ts';
import type { UsageWriter } from './write.ts';

/** Events that were removed from the segments of a place: an agent's in one hour. */
export interface RemovedFrom {
  readonly place: Place;
  readonly events: Removed[];
}

/** Versions and tools of an agent's hour whose times a removed event may have held. */
interface Sought {
  readonly firstOf: Set<string>;
  readonly lastOf: Set<string>;
  readonly lastOfTool: Set<string>;
}

/** The times in their place. */
interface Found {
  readonly firstOf: Map<string, number>;
  readonly lastOf: Map<string, number>;
  readonly lastOfTool: Map<string, number>;
}

/** Rows of contracts in one span of time. */
interface RowsOfTime {
  readonly tenant: number;
  readonly env: string;
  /** Epoch milliseconds. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly names: Set<string>;
}

/** Segments that are read at first, and at most, at a time. */
const [firstSegments, mostSegments] = [16, 1024];
/** So few names are looked up for every segment. */
const fewNames = 8;

/** Takes away the names of which no segment that ends at `max` or before can hold a newer event. */
function forgetFound(names: Set<string>, newestByName: ReadonlyMap<string, number>, max: number): void {
  for (const name of names) if ((newestByName.get(name) ?? -Infinity) >= max) names.delete(name);
}

export class UsageRemover {
  readonly #db: Database;
  readonly #usage: UsageWriter;

  constructor(db: Database, usage: UsageWriter) {
    this.#db = db;
    this.#usage = usage;
  }

  remove(removed: Iterable<RemovedFrom>): void {
    this.#usage.flush();
    this.#usage.forgetTools();
    const contracts = new Map<string, ContractUsageRow>();
    for (const { place, events } of removed) {
      this.#subtractPlaced(place, events);
      for (const { event, outcomes } of events) {
        for (const change of contractChanges(place, runOf(event), outcomes, -1))
          this.#usage.gather(contracts, change);
      }
    }
    const sought = new Map<string, RowsOfTime & { readonly table: string; readonly start: number }>();
    for (const row of contracts.values()) {
      if (!this.#subtract(row)) continue;
      const { table, tenant, start, env, name } = row;
      const width = table === 'contract_hours' ? segmentSpanMs : minuteMs;
      const [from, to] = [start * width, (start + 1) * width];
      const make = () => ({ table, start, tenant, env, from, to, names: new Set<string>() });
      entryOf(sought, JSON.stringify([table, tenant, start, env]), make).names.add(name);
    }
    for (const rows of sought.values()) {
      const newest = this.#newestOf(rows);
      const { table, tenant, start, env, from, names } = rows;
      for (const name of names)
        this.#db.run(
          `UPDATE ${table} SET last_ts = ? WHERE tenant = ? AND start = ? AND env = ? AND name = ?`,
          [newest.get(name) ?? from, tenant, start, env, name],
        );
    }
  }

  /** Corrects when an agent used a tool last, after an hour of it went. */
  #correctLast({ tenant, agent, env }: Place, tool: string): void {
    const key = [tenant, agent, env, tool];
    const where = 'WHERE tenant = ? AND agent = ? AND env = ? AND tool = ?';
    const last = this.#db.get(`SELECT max(hour) FROM tool_hours ${where}`, key)?.[0];
    if (typeof last === 'number')
      this.#db.run(`UPDATE agent_tools SET last_hour = ? ${where}`, [last, ...key]);
    else this.#db.run(`DELETE FROM agent_tools ${where}`, key);
  }

  /**
   * Takes removed events from what is counted of an agent's hour. Counting what is left would read the whole hour for
   * every slice of a removal. So only a time that a removed event held is looked for, from its end of the hour.
   */
  #subtractPlaced(place: Place, removed: readonly Removed[]): void {
    const tools = new Map<string, ToolRow>();
    const versions = new Map<string, VersionRow>();
    addPlaced(
      tools,
      versions,
      place,
      removed.map(({ event }) => runOf(event)),
    );
    const { tenant, agent, hour, env } = place;
    const key = [tenant, agent, hour, env];
    const where = 'WHERE tenant = ? AND agent = ? AND hour = ? AND env = ?';
    const sought: Sought = { firstOf: new Set(), lastOf: new Set(), lastOfTool: new Set() };
    for (const { tool, events, allowed, denied, observed, last } of tools.values()) {
      const of = [...key, tool];
      this.#db.run(
        `UPDATE tool_hours SET events = events - ?, allowed = allowed - ?, denied = denied - ?, observed = observed - ?
           ${where} AND tool = ?`,
        [events, allowed, denied, observed, ...of],
      );
      this.#db.run(`DELETE FROM tool_hours ${where} AND tool = ? AND events <= 0`, of);
      const [stays] = this.#db.get(`SELECT last_ts FROM tool_hours ${where} AND tool = ?`, of) ?? [];
      if (typeof stays !== 'number') this.#correctLast(place, tool);
      else if (stays <= last) sought.lastOfTool.add(tool);
    }
    for (const { version, events, first, last } of versions.values()) {
      const of = [...key, version];
      this.#db.run(`UPDATE agent_hours SET events = events - ? ${where} AND version = ?`, [events, ...of]);
      this.#db.run(`DELETE FROM agent_hours ${where} AND version = ? AND events <= 0`, of);
      const stays = this.#db.get(`SELECT first_ts, last_ts FROM agent_hours ${where} AND version = ?`, of);
      if (stays && Number(stays[0]) >= first) sought.firstOf.add(version);
      if (stays && Number(stays[1]) <= last) sought.lastOf.add(version);
    }
    const times = this.#timesOf(place, sought);
    for (const [version, ts] of times.firstOf)
      this.#db.run(`UPDATE agent_hours SET first_ts = ? ${where} AND version = ?`, [ts, ...key, version]);
    for (const [version, ts] of times.lastOf)
      this.#db.run(`UPDATE agent_hours SET last_ts = ? ${where} AND version = ?`, [ts, ...key, version]);
    for (const [tool, ts] of times.lastOfTool)
      this.#db.run(`UPDATE tool_hours SET last_ts = ? ${where} AND tool = ?`, [ts, ...key, tool]);
  }

  /** The first or last times of versions and tools in an agent's hour; reads no more segments than contain them. */
  #timesOf({ tenant, agent, hour, env }: Place, sought: Sought): Found {
    const bounds: Found = { firstOf: new Map(), lastOf: new Map(), lastOfTool: new Map() };
    if (sought.firstOf.size + sought.lastOf.size + sought.lastOfTool.size === 0) return bounds;
    const spans = this.#db
      .all(
        `SELECT id, min_ts, max_ts FROM segments INDEXED BY segments_agent
           WHERE tenant = ? AND agent = ? AND max_ts >= ? AND max_ts < ? AND env = ? AND sample = 0`,
        [tenant, agent, hour * segmentSpanMs, (hour + 1) * segmentSpanMs, env],
      )
      .map(([id, min, max]) => ({ id: Number(id), min: Number(min), max: Number(max) }));
    const eventsOf = (id: number): (Counted | null)[] => countedIn(this.#db, id);
    for (const { id, min } of spans.sort((a, b) => a.min - b.min)) {
      if ([...sought.firstOf].every((version) => (bounds.firstOf.get(version) ?? Infinity) <= min)) break;
      for (const event of eventsOf(id)) {
        if (!event || !sought.firstOf.has(event.version)) continue;
        bounds.firstOf.set(event.version, Math.min(bounds.firstOf.get(event.version) ?? Infinity, event.ts));
      }
    }
    for (const { id, max } of spans.sort((a, b) => b.max - a.max)) {
      const isComplete = (of: ReadonlySet<string>, times: ReadonlyMap<string, number>): boolean =>
        [...of].every((name) => (times.get(name) ?? -Infinity) >= max);
      if (isComplete(sought.lastOf, bounds.lastOf) && isComplete(sought.lastOfTool, bounds.lastOfTool)) break;
      for (const event of eventsOf(id)) {
        if (!event) continue;
        for (const [name, of, times] of [
          [event.version, sought.lastOf, bounds.lastOf],
          [event.tool, sought.lastOfTool, bounds.lastOfTool],
        ] as const)
          if (of.has(name)) times.set(name, Math.max(times.get(name) ?? -Infinity, event.ts));
      }
    }
    return bounds;
  }

  /**
   * Time of the last event that each of these rows counts; newest segments first, no more than needed. One walk for
   * all: a slice may remove the newest of a thousand contracts.
   */
  #newestOf({ tenant, env, from, to, names }: RowsOfTime): Map<string, number> {
    const newestByName = new Map<string, number>();
    const left = new Set(names);
    let size = firstSegments;
    for (let offset = 0; left.size > 0; size = Math.min(2 * size, mostSegments)) {
      const rows = this.#db.all(
        `SELECT id, outcomes, max_ts FROM segments INDEXED BY segments_time
           WHERE tenant = ? AND max_ts >= ? AND max_ts < ? AND min_ts < ? AND env = ? AND sample = 0
           ORDER BY max_ts DESC, id DESC LIMIT ? OFFSET ?`,
        [tenant, from, (hourOf(from) + 1) * segmentSpanMs, to, env, size, offset],
      );
      for (const [id, outcomes, max] of rows) {
        if (left.size <= fewNames) forgetFound(left, newestByName, Number(max));
        if (left.size === 0) break;
        const outcomesById = Number(outcomes) > 0 ? outcomesOf(this.#db, Number(id)) : null;
        const counted = countedIn(this.#db, Number(id));
        for (const [position, event] of counted.entries()) {
          if (!event || event.ts < from || event.ts >= to) continue;
          const marks = contractMarks(event, outcomesById?.get(position) ?? []).keys();
          for (const name of [allEvents, ...[...marks].map(contractRow)])
            if (left.has(name)) newestByName.set(name, Math.max(newestByName.get(name) ?? from, event.ts));
        }
      }
      if (rows.length < size) break;
      forgetFound(left, newestByName, Number(rows.at(-1)?.[2]));
      offset += size;
    }
    return newestByName;
  }

  /** True if the newest event of the row was among those that go. */
  #subtract({ table, tenant, start, env, name, events, denied, observed, last }: ContractUsageRow): boolean {
    const key = [tenant, start, env, name];
    const where = 'WHERE tenant = ? AND start = ? AND env = ? AND name = ?';
    this.#db.run(
      `UPDATE ${table} SET events = events + ?, denied = denied + ?, observed = observed + ? ${where}`,
      [events, denied, observed, ...key],
    );
    this.#db.run(`DELETE FROM ${table} ${where} AND events <= 0`, key);
    // Old events go first: hardly ever is the newest of a row that stays among them.
    const [stays] = this.#db.get(`SELECT last_ts FROM ${table} ${where}`, key) ?? [];
    return typeof stays === 'number' && stays <= last;
  }
}
