// How contracts decided, by name: whole hours and minutes from the summaries, the rest from the events. Runs on the
// reader, in steps.

import { contractMarks, countedAs } from '../../../src/event/record.ts';
import { minuteMs } from '../../../src/shared/duration.ts';
import type { EnvFilter } from '../../../src/shared/ids.ts';
import type { ContractNames, ContractUse } from '../../../src/usage/port.ts';
import { type Database, givenText, type Row } from '../database.ts';
import { segmentSpanMs } from '../events/segment.ts';
import type { Steps } from '../sync.ts';
import { envClause } from '../table.ts';
import { type CountedEvent, eachEvent } from './events.ts';
import { allEvents, contractRow, entryOf } from './rows.ts';

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

/** [since, until) as whole hours, whole minutes where these are kept, and the rest. */
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

/** Sums that grow by events and by rows of the summaries. */
class ContractSums {
  readonly byName = new Map<string, Sums>();
  readonly #entries: ContractNames['entries'] | undefined;

  constructor(entries: ContractNames['entries'] | undefined) {
    this.#entries = entries;
  }

  #add(name: string, { events, denied, observed, last }: Sums): void {
    const sum = entryOf(this.byName, name, () => ({ events: 0, denied: 0, observed: 0, last }));
    sum.events += events;
    sum.denied += denied;
    sum.observed += observed;
    sum.last = Math.max(sum.last, last);
  }

  addEvent({ event, outcomes }: CountedEvent): void {
    const as = countedAs(event.verdict, event.mode);
    const of = (denied: boolean, observed: boolean): Sums => ({
      events: 1,
      denied: denied ? 1 : 0,
      observed: observed ? 1 : 0,
      last: event.ts,
    });
    this.#add(allEvents, of(as === 'denied', as === 'observed'));
    for (const [name, mark] of contractMarks(event, outcomes, this.#entries)) {
      this.#add(contractRow(name), of(mark.denied, mark.observed));
    }
  }

  /** Rows count a call for each entry that it names: counts beyond the first are taken away again. */
  takeAway({ event, outcomes }: CountedEvent): void {
    const once = contractMarks(event, outcomes, this.#entries);
    const each = contractMarks(event, outcomes);
    if (each.size === once.size) return;
    for (const [name, { denied, observed }] of each) {
      const row = this.#entries?.get(name) ?? name;
      this.#add(contractRow(row), { events: -1, denied: -denied, observed: -observed, last: event.ts });
    }
    for (const [name, { denied, observed }] of once) {
      this.#add(contractRow(name), { events: 1, denied: +denied, observed: +observed, last: event.ts });
    }
  }

  /** @param row name, events, denied, observed, last */
  addRow([name, events, denied, observed, last]: Row): void {
    const contract = givenText(String(name));
    const entry = this.#entries?.get(contract.slice(contractRow('').length));
    this.#add(entry === undefined || contract === allEvents ? contract : contractRow(entry), {
      events: Number(events),
      denied: Number(denied),
      observed: Number(observed),
      last: Number(last),
    });
  }
}

/** Sums by the name of the row: all events, and each contract. */
export function* contractSums(
  db: Database,
  tenantId: string,
  env: EnvFilter,
  since: number,
  until: number,
  names?: ContractNames,
): Steps<ReadonlyMap<string, Readonly<Sums>>> {
  const sums = new ContractSums(names?.entries);
  const [number, from] =
    db.get('SELECT number, minutes_from FROM tenant_numbers WHERE tenant_id = ?', [tenantId]) ?? [];
  if (typeof number !== 'number') return sums.byName;
  for (const part of partsOf(since, until, typeof from === 'number' ? from : Number.POSITIVE_INFINITY)) {
    if (part.kind === 'events') {
      yield* eachEvent(db, tenantId, { env, from: part.from, to: part.to }, (counted) =>
        sums.addEvent(counted),
      );
      continue;
    }
    if (names?.mayOverlap) {
      const width = part.table === 'contract_hours' ? segmentSpanMs : minuteMs;
      const range = { env, from: part.from * width, to: part.to * width, repeated: true };
      yield* eachEvent(db, tenantId, range, (counted) => sums.takeAway(counted));
    }
    const where = envClause(env);
    const rows = db.all(
      `SELECT name, sum(events), sum(denied), sum(observed), max(last_ts) FROM ${part.table}
         WHERE tenant = ? AND start >= ? AND start < ? ${where.sql} GROUP BY name`,
      [number, part.from, part.to, ...where.params],
    );
    for (const row of rows) sums.addRow(row);
    yield;
  }
  return sums.byName;
}

export function* contractUses(
  db: Database,
  tenantId: string,
  env: EnvFilter,
  since: number,
  until: number,
  names?: ContractNames,
): Steps<{ readonly events: number; readonly contracts: readonly ContractUse[] }> {
  const sums = yield* contractSums(db, tenantId, env, since, until, names);
  const uses: ContractUse[] = [];
  for (const [name, { events, denied, observed, last }] of sums) {
    if (name === allEvents) continue;
    const contractName = name.slice(contractRow('').length);
    uses.push({
      name: contractName,
      calls: events,
      denials: denied,
      warnings: observed,
      lastTriggered: last,
    });
  }
  uses.sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
  return { events: sums.get(allEvents)?.events ?? 0, contracts: uses };
}
