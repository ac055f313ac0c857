// A run from the list, its key, and the test of a run against the range of the page: the list's route has none.
import type { HostedReply } from '../../lib/hosted.ts';
import type { Span } from '../../lib/range.ts';

export type Run = HostedReply<'hostedListRuns'>['runs'][number];

export const runKey = (agent: string, session: string): string => JSON.stringify([agent, session]);

/** True for a run that was active in the span, in one environment or in any. */
export const isInRange = (
  { environment, started_at: start, last_activity_at: last }: Run,
  { from, until }: Pick<Span, 'from' | 'until'>,
  env: string | undefined,
): boolean => (!env || environment === env) && Date.parse(last) >= from && Date.parse(start) < until;
