// Lines that removal takes out of exports: their number, and their last place. Runs on the writer.
import type { Database } from '../database.ts';

/** Removes the outcomes of an event, and returns their ids. */
export function removeOutcomes(db: Database, segment: number, position: number): readonly number[] {
  const ids = db
    .all('SELECT id FROM outcomes WHERE segment = ? AND position = ?', [segment, position])
    .map(([id]) => Number(id));
  if (ids.length === 0) return ids;
  db.run('DELETE FROM outcomes WHERE segment = ? AND position = ?', [segment, position]);
  db.run('UPDATE store SET outcome_removed = max(outcome_removed, ?)', [Math.max(...ids)]);
  return ids;
}

/** Lines of one kind that one step removes. */
export class RemovedLines {
  #count = 0;
  #lastPlace = 0;
  #lastOutcome = 0;

  /** @param place of an event (events/segment.ts), or the number of an approval's line */
  add(place: number, outcomes: readonly number[] = []): void {
    this.#count += 1 + outcomes.length;
    this.#lastPlace = Math.max(this.#lastPlace, place);
    this.#lastOutcome = Math.max(this.#lastOutcome, ...outcomes);
  }

  write(db: Database, tenantId: string, kind: 'events' | 'approvals' = 'events'): void {
    if (this.#count === 0) return;
    db.run(
      `INSERT INTO export_removals VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         removed = removed + excluded.removed, last_place = max(last_place, excluded.last_place),
         last_outcome = max(last_outcome, excluded.last_outcome)`,
      [tenantId, kind, this.#count, this.#lastPlace, this.#lastOutcome],
    );
  }
}
