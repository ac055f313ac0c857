// Additions to an event from its repeats: outcomes, and facts about runs. Runs on the writer.
import type { AuditNote } from '../../../src/audit/record.ts';
import { toOutcomeJson } from '../../../src/event/record/json.ts';
import { type EventOutcome, maxOutcomes, outcomeKey } from '../../../src/event/record.ts';
import type { RunFacts } from '../../../src/run/record.ts';
import { joinFacts, placedAt } from '../../../src/run/rules/run.ts';
import type { Database } from '../database.ts';
import { entryOf, outcomeCounts } from '../usage/rows.ts';
import type { UsageWriter } from '../usage/write.ts';
import { codeOfEntry, placeOfEntry } from './calls.ts';
import { type Report, verdictOfCode } from './encode.ts';
import { lastSegment, positionOf, readOutcome, segmentOf } from './segment.ts';
import type { SegmentCache } from './segment-cache.ts';

/** Facts from repeats about runs, joined: a run is written once for a batch. */
class RunReports {
  readonly byAgent = new Map<string, Map<string, RunFacts>>();

  add(agent: string, session: string, facts: RunFacts): void {
    const sessions = entryOf(this.byAgent, agent, () => new Map<string, RunFacts>());
    const before = sessions.get(session);
    sessions.set(session, before ? joinFacts(before, facts) : facts);
  }
}

/** Facts from a batch's repeats about its runs, and notes for the audit chain. */
export interface Told {
  readonly outcomes: RunReports;
  readonly notes: AuditNote[];
  /** Number of added outcomes. */
  added: number;
}

export const nothingTold = (): Told => ({ outcomes: new RunReports(), notes: [], added: 0 });

/** Makes the function that adds the outcome of a repeat to the stored event, unless the event has it already. */
export function outcomeWriter(db: Database, cache: SegmentCache, usage: UsageWriter) {
  /** Counts a contract that a repeat names: once for its call. */
  function countOutcome(segment: number, position: number, outcome: EventOutcome): void {
    if (outcome.decisionName === null) return;
    const { place, events } = cache.countsOf(segment);
    const event = events[position];
    if (!place || !event || !outcomeCounts(event, outcome)) return;
    const storedOutcomes = db.all(
      'SELECT outcome FROM outcomes WHERE segment = ? AND position = ? ORDER BY id',
      [segment, position],
    );
    // The last one is the one that was added just now.
    const before = storedOutcomes.slice(0, -1).map(([text]) => readOutcome(String(text)));
    usage.addOutcome(place, event, before, outcome);
  }

  /**
   * @param entry the index entry of the stored event @param env of the repeat: a call in another environment gets
   *   nothing, because its readers may not see the repeat @param tally takes the repeat's facts about runs
   */
  return (entry: number, { outcome, agent, run, note }: Report, env: string, tally: Told): void => {
    const place = placeOfEntry(entry);
    const key = outcomeKey(outcome.verdict, outcome.decisionName);
    const storedVerdict = verdictOfCode(codeOfEntry(entry));
    // Only a repeat with the stored verdict needs the stored event.
    if ((storedVerdict === null || storedVerdict === outcome.verdict) && cache.storedKey(place) === key)
      return;
    const segment = segmentOf(place);
    if (cache.envOf(segment) !== env) return;
    const [count] = db.get('SELECT count(*) FROM outcomes WHERE segment = ? AND position = ?', [
      segment,
      positionOf(place),
    ]) ?? [0];
    if (Number(count) >= maxOutcomes) return;
    // Ids rise, also when the newest outcome was removed: exports read in their order.
    const added = db.run(
      `INSERT OR IGNORE INTO outcomes (id, segment, position, key, outcome, after_segment)
         SELECT 1 + max(ifnull((SELECT max(id) FROM outcomes), 0), outcome_removed), ?, ?, ?, ?,
           ${lastSegment} FROM store`,
      [segment, positionOf(place), key, JSON.stringify(toOutcomeJson(outcome))],
    );
    if (added === 0) return;
    tally.added++;
    usage.flushSoon();
    if (run) tally.outcomes.add(agent, run[0], placedAt(run[1], place));
    if (note) tally.notes.push(note);
    countOutcome(segment, positionOf(place), outcome);
    const later = db.get('SELECT later FROM segments WHERE id = ?', [segment])?.[0];
    const verdicts = new Set(typeof later === 'string' ? (JSON.parse(later) as string[]) : []);
    verdicts.add(outcome.verdict);
    db.run('UPDATE segments SET outcomes = outcomes + 1, later = ? WHERE id = ?', [
      JSON.stringify([...verdicts]),
      segment,
    ]);
  };
}
