// Keeps the summaries of events true when events are removed. Runs on the writer, in the transaction that removes them.
import { minuteMs } from '../../../src/domain/duration.ts';
import { contractMarks } from '../../../src/domain/event.ts';
import { type Database, givenText } from '../database.ts';
import { countedIn, outcomesOf, runOf, segmentSpanMs } from '../events/segment.ts';
import {
  addPlaced,
  allEvents,
  type ContractUsageRow,
  contractChanges,
  contractRow,
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

export function usageRemover(db: Database, usage: UsageWriter) {
  /** Corrects when an agent used a tool last, after an hour of it went. */
  function correctLast({ tenant, agent, env }: Place, tool: string): void {
    const key = [tenant, agent, env, tool];
    const where = 'WHERE tenant = ? AND agent = ? AND env = ? AND tool = ?';
    const last = db.get(`SELECT max(hour) FROM tool_hours ${where}`, key)?.[0];
    if (typeof last === 'number') db.run(`UPDATE agent_tools SET last_hour = ? ${where}`, [last, ...key]);
    else db.run(`DELETE FROM agent_tools ${where}`, key);
  }

  /** Counts what is left of an agent's hour. */
  function recount(place: Place): void {
    const { tenant, agent, hour, env } = place;
    const tools = new Map<string, ToolRow>();
    const versions = new Map<string, VersionRow>();
    const left = db.all(
      `SELECT id, tallies FROM segments INDEXED BY segments_agent
         WHERE tenant = ? AND agent = ? AND max_ts >= ? AND max_ts < ? AND env = ? AND sample = 0`,
      [tenant, agent, hour * segmentSpanMs, (hour + 1) * segmentSpanMs, env],
    );
    for (const [id, tallies] of left) {
      for (const event of countedIn(db, { id: Number(id), tallies: String(tallies) })) {
        if (event) addPlaced(tools, versions, place, runOf(event));
      }
    }
    const key = [tenant, agent, hour, env];
    const where = 'WHERE tenant = ? AND agent = ? AND hour = ? AND env = ?';
    const before = db.all(`SELECT tool FROM tool_hours ${where}`, key);
    db.run(`DELETE FROM tool_hours ${where}`, key);
    db.run(`DELETE FROM agent_hours ${where}`, key);
    usage.writePlaced(tools, versions);
    for (const [tool] of before) correctLast(place, givenText(String(tool)));
  }

  /** When the last event was that a row of contracts counts. */
  function newestOf(tenant: number, env: string, name: string, from: number, to: number): number {
    let newest = from;
    const rows = db.all(
      `SELECT id, tallies, outcomes FROM segments INDEXED BY segments_time
         WHERE tenant = ? AND max_ts >= ? AND max_ts < ? AND min_ts < ? AND env = ? AND sample = 0`,
      [tenant, from, (hourOf(from) + 1) * segmentSpanMs, to, env],
    );
    for (const [id, tallies, outcomes] of rows) {
      const said = Number(outcomes) > 0 ? outcomesOf(db, Number(id)) : null;
      const counted = countedIn(db, { id: Number(id), tallies: String(tallies) });
      for (const [position, event] of counted.entries()) {
        if (!event || event.ts < from || event.ts >= to) continue;
        const names = [...contractMarks(event, said?.get(position) ?? []).keys()].map(contractRow);
        if (name === allEvents || names.includes(name)) newest = Math.max(newest, event.ts);
      }
    }
    return newest;
  }

  function subtract({
    table,
    tenant,
    start,
    env,
    name,
    events,
    denied,
    observed,
    last,
  }: ContractUsageRow): void {
    const key = [tenant, start, env, name];
    const where = 'WHERE tenant = ? AND start = ? AND env = ? AND name = ?';
    db.run(`UPDATE ${table} SET events = events + ?, denied = denied + ?, observed = observed + ? ${where}`, [
      events,
      denied,
      observed,
      ...key,
    ]);
    db.run(`DELETE FROM ${table} ${where} AND events <= 0`, key);
    // Old events go first: hardly ever is the newest of a row that stays among them.
    const [stays] = db.get(`SELECT last_ts FROM ${table} ${where}`, key) ?? [];
    if (typeof stays !== 'number' || stays > last) return;
    const width = table === 'contract_hours' ? segmentSpanMs : minuteMs;
    const newest = newestOf(tenant, env, name, start * width, (start + 1) * width);
    db.run(`UPDATE ${table} SET last_ts = ? ${where}`, [newest, ...key]);
  }

  /** To be called when the segments are written anew. */
  return (removed: Iterable<RemovedFrom>): void => {
    usage.flush();
    const contracts = new Map<string, ContractUsageRow>();
    for (const { place, events } of removed) {
      recount(place);
      for (const { event, outcomes } of events) {
        for (const change of contractChanges(place, runOf(event), outcomes, -1))
          usage.gather(contracts, change);
      }
    }
    for (const row of contracts.values()) subtract(row);
  };
}
