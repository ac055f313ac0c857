// Judges an outage of Redis or of the store: refused in the right words, over in time, unnoticed by streams. Pure.
import type { Followed } from '../follower.ts';
import type { Call } from '../history.ts';

export interface Outage {
  readonly service: 'redis' | 'store';
  /** Epoch ms: killed, asked to come back, answering again; and when the next outage or the end of the traffic came. */
  readonly from: number;
  readonly until: number;
  readonly back: number;
  readonly next: number;
  /** Per node: ms from its return until the node took a batch and a deploy and was ready. */
  readonly recovered: readonly number[];
}

const recoverMs = 10_000;
/** A request may be under way for longer than this nowhere. */
const answerMs = 12_000;

/** @param calls `ingest` and `deploy` @param streams those that must not notice an outage of Redis */
export function checkOutage(
  outage: Outage,
  calls: readonly Call[],
  streams: readonly Pick<Followed, 'name' | 'connections'>[],
): string[] {
  const { service, from, until, back, next, recovered } = outage;
  const violations: string[] = [];
  const odd = new Map<string, number>();
  const refused = new Map<string, number>();
  for (const call of calls) {
    const { op, invoked, ended } = call;
    if (invoked >= from && invoked <= until && ended - invoked > answerMs)
      violations.push(`${service} down: an answer took ${ended - invoked} ms`);
    const late = invoked >= back + recoverMs && ended < next && call.outcome !== 'ok';
    if (late)
      violations.push(`${service} back: a ${op} was answered ${word(call)} ${invoked - back} ms later`);
    if (ended < from || ended > until) continue;
    // Work under way may have been done before.
    if (invoked < from && call.outcome === 'ok') continue;
    if (isRefusal(call)) refused.set(op, (refused.get(op) ?? 0) + 1);
    else odd.set(`${op}: ${word(call)}`, (odd.get(`${op}: ${word(call)}`) ?? 0) + 1);
  }
  for (const [text, times] of odd)
    violations.push(`${service} down: ${times} requests were answered so: ${text}`);
  for (const op of ['ingest', 'deploy']) {
    if (!refused.has(op)) violations.push(`${service} down: no ${op} was refused`);
  }
  if (!calls.some(({ op, invoked, ended }) => op === 'ingest' && invoked <= from && ended > from))
    violations.push(`${service}: no batch was under way when it was killed`);
  for (const ms of recovered) {
    if (ms > recoverMs) violations.push(`${service} back: a node recovered after ${Math.round(ms)} ms`);
  }
  if (service === 'redis') {
    const during = (at: number | null): boolean => at !== null && at >= from && at < next;
    const ended = streams.filter(({ connections }) => connections.some(({ endedAt }) => during(endedAt)));
    if (ended.length > 0)
      violations.push(`redis down: ${ended.length} of ${streams.length} agents' streams ended`);
  }
  return violations;
}

const word = ({ status, retryAfter, output }: Call): string =>
  status === 0 ? String(output) : `${status}${retryAfter === null ? ' without Retry-After' : ''}`;

const isRefusal = ({ status, retryAfter }: Call): boolean =>
  status === 503 && retryAfter !== null && retryAfter >= 1;
