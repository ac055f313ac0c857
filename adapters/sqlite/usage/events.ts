// The events behind the summaries, one by one: for the ends of a time range that no whole hour or minute covers. Runs
// on the reader, in steps.

import type { EventOutcome } from '../../../src/event/record.ts';
import type { Env, EnvFilter } from '../../../src/shared/ids.ts';
import type { Database } from '../database.ts';
import { fittingCounts } from '../events/fitting.ts';
import type { Counted } from '../events/segment.ts';
import { walk } from '../events/walk.ts';
import type { Steps } from '../sync.ts';

/** Segments read before other reads are let in. */
export const segmentsPerStep = 32;

export interface CountedEvent {
  readonly env: Env;
  readonly agent: string;
  readonly event: Counted;
  readonly outcomes: readonly EventOutcome[];
}

/** Hands each event in [from, to) to `take`. */
export function* eachEvent(
  db: Database,
  tenantId: string,
  filter: {
    readonly env: EnvFilter;
    readonly agentId?: string;
    readonly from: number;
    readonly to: number;
    /** Only segments whose calls have repeats. */
    readonly repeated?: boolean;
  },
  take: (takeEvent: CountedEvent) => void,
): Steps<void> {
  const { env, agentId, from, to, repeated = false } = filter;
  if (from >= to) return;
  const eventFilter = { env, since: from, until: to, ...(agentId === undefined ? {} : { agentId }) };
  let read = 0;
  for (const segment of walk(db, tenantId, eventFilter, to)) {
    if (typeof segment === 'number') {
      yield;
      continue;
    }
    if (segment.sample || (repeated && segment.outcomes === 0)) continue;
    for (const { event, outcomes } of fittingCounts(db, segment, eventFilter)) {
      if (event.ts < to) take({ env: segment.env as Env, agent: segment.agent, event, outcomes });
    }
    if (++read % segmentsPerStep === 0) yield;
  }
}
