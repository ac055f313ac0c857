// Gives segments without marks, or whose tallies do not contain the names of contracts, what `summarize` makes of their
// bodies. Can be begun again at any time.
import type { Database } from '../database.ts';
import { segmentEventsOf, summarize } from '../events/segment.ts';

/** Segments of one transaction: about 10 MB of bodies at most. */
const maxSegments = 40;

export function markSegments(db: Database): void {
  for (let last = 0; ; ) {
    const ids = db
      .all(
        `SELECT id FROM segments WHERE id > ? AND (marks IS NULL OR versions IS NULL
           OR json_array_length(tallies, '$[0]') < 5) ORDER BY id LIMIT ${maxSegments}`,
        [last],
      )
      .map(([id]) => Number(id));
    if (ids.length === 0) return;
    db.atomically(() => {
      for (const id of ids) {
        const { tallies, names, marks, versions } = summarize(segmentEventsOf(db, id));
        db.run('UPDATE segments SET tallies = ?, names = ?, marks = ?, versions = ? WHERE id = ?', [
          tallies,
          names,
          marks,
          versions,
          id,
        ]);
      }
    });
    last = ids.at(-1) ?? last;
  }
}
