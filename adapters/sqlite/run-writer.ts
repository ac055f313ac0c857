// Joins the facts of stored events to their runs. Runs on the writer. The facts that commits add to one run are joined
// in memory until UsageWriter.flush writes them.
import type { RunFacts } from '../../src/run/record.ts';
import { joinFacts, placedAt, standingOf } from '../../src/run/rules/run.ts';
import { type Database, givenText, storedText } from './database.ts';
import type { EncodedBatch, SessionFacts } from './events/encode.ts';

interface AddedRun {
  readonly tenantId: string;
  readonly agent: string;
  readonly session: string;
  readonly facts: RunFacts;
  readonly receivedAt: number;
  readonly sample: boolean;
}

// Rows come as one JSON list. Times are multiplied by a power of two that makes whole numbers of them, so that none is
// rounded on its way through the text.
const scale = 4096;
const selectFacts = `SELECT j.key, r.facts FROM json_each(?) j CROSS JOIN runs r
  ON r.tenant_id = j.value->>0 AND r.agent = j.value->>1 AND r.session = j.value->>2`;
const upsertRuns = `INSERT INTO runs
    (tenant_id, agent, session, env, standing, facts, started_at, last_at, received_at, sample)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, (value->>6) / ${scale}.0,
    (value->>7) / ${scale}.0, value->>8, value->>9 FROM json_each(?) WHERE true
  ON CONFLICT (tenant_id, agent, session) DO UPDATE SET env = excluded.env, standing = excluded.standing,
    facts = excluded.facts, started_at = min(started_at, excluded.started_at), last_at = max(last_at, excluded.last_at),
    received_at = max(received_at, excluded.received_at), sample = max(sample, excluded.sample)`;

export type RunSource = Pick<EncodedBatch, 'tenantId' | 'receivedAt' | 'sample'>;

export class RunWriter {
  readonly #db: Database;
  #added = new Map<string, AddedRun>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** @param base the place from which those in the facts count */
  add({ tenantId, receivedAt, sample }: RunSource, agent: string, base: number, runs: SessionFacts): void {
    for (const [session, facts] of runs) {
      const key = `${tenantId} ${agent.length} ${agent}${session}`;
      const before = this.#added.get(key);
      const placed = placedAt(facts, base);
      this.#added.set(key, {
        tenantId,
        agent,
        session,
        facts: before ? joinFacts(before.facts, placed) : placed,
        receivedAt: Math.max(before?.receivedAt ?? 0, receivedAt),
        sample: sample || before?.sample === true,
      });
      this.#db.onUndo(() => {
        if (before) this.#added.set(key, before);
        else this.#added.delete(key);
      });
    }
  }

  get size(): number {
    return this.#added.size;
  }

  /** Writes the gathered facts. To be called in a transaction, after its other writes. */
  flush(): void {
    const gathered = this.#added;
    if (gathered.size === 0) return;
    this.#added = new Map();
    this.#db.onUndo(() => {
      this.#added = gathered;
    });
    const added = [...gathered.values()];
    const keys = added.map(({ tenantId, agent, session }) => [
      tenantId,
      storedText(agent),
      storedText(session),
    ]);
    const stored = new Map<number, RunFacts>();
    for (const [key, facts] of this.#db.all(selectFacts, [JSON.stringify(keys)]))
      if (typeof facts === 'string') stored.set(Number(key), JSON.parse(givenText(facts)) as RunFacts);
    const rows = added.map(({ facts, receivedAt, sample }, i) => {
      const before = stored.get(i);
      const joined = before ? joinFacts(before, facts) : facts;
      return [
        ...(keys[i] ?? []),
        joined.env,
        standingOf(joined),
        JSON.stringify(joined),
        joined.startedAt * scale,
        joined.lastAt * scale,
        receivedAt,
        sample ? 1 : 0,
      ];
    });
    this.#db.run(upsertRuns, [JSON.stringify(rows)]);
  }
}
