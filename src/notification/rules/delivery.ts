// The state machine of deliveries, attempt by attempt. Pure: time is an argument.
import { dayMs, hourMs } from '../../shared/duration.ts';
import type { AttemptFailure, Delivery } from '../record.ts';

/** Result of one attempt. */
export type AttemptOutcome =
  | {
      readonly kind: 'delivered';
      /** The HTTP or SMTP status. */
      readonly status: number | null;
      /** Platform's id of the message; null where it returns none. */
      readonly messageId: string | null;
      /** Addresses that the mail server refused while it accepted others; absent without any. */
      readonly refused?: readonly string[];
    }
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      readonly failure: AttemptFailure;
      /** False: another attempt would end alike. */
      readonly mayRetry: boolean;
      /** Milliseconds that the receiver asked to be left alone. */
      readonly retryAfterMs?: number;
    };

/** A decision is tried for so long; a request only until its approval ends. */
export const giveUpMs = 72 * hourMs;
/** Attempts whose record is kept. */
export const keptAttempts = 20;

const firstWaitMs = 5_000;
const longestWaitMs = 6 * hourMs;
/** A receiver may ask for a longer wait than ours, up to this. */
const longestAskedMs = dayMs;

/**
 * 5 s, then three times as long each time up to six hours. A random part of up to a quarter is added, so that many
 * deliveries do not come at once.
 */
export function waitAfter(attempts: number, random: number): number {
  const wait = Math.min(longestWaitMs, firstWaitMs * 3 ** Math.min(attempts - 1, 20));
  return Math.round(wait * (1 + random / 4));
}

/** A request is of no use after its approval; one that somebody replays is delivered all the same. */
export const endsWithApproval = ({ event, run }: Pick<Delivery, 'event' | 'run'>): boolean =>
  event === 'requested' && run === 1;

export interface AttemptTimes {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly random: number;
}

/** The delivery after an attempt. */
export function afterAttempt(
  delivery: Delivery,
  outcome: AttemptOutcome,
  { startedAt, endedAt, random }: AttemptTimes,
): Delivery {
  const failure = outcome.kind === 'failed' ? outcome.failure : null;
  const attempt = {
    at: startedAt,
    status: outcome.status,
    failure,
    durationMs: Math.max(0, endedAt - startedAt),
  };
  const attempts = delivery.attempts + 1;
  const next = {
    ...delivery,
    attempts,
    updatedAt: endedAt,
    log: [...delivery.log, attempt].slice(-keptAttempts),
  };
  if (outcome.kind === 'delivered') {
    return { ...next, status: 'delivered', nextAt: null, messageId: outcome.messageId ?? delivery.messageId };
  }
  const retryAfterMs = Math.min(outcome.retryAfterMs ?? 0, longestAskedMs);
  const at = endedAt + Math.max(waitAfter(attempts, random), retryAfterMs);
  if (!outcome.mayRetry) return { ...next, status: 'dead', nextAt: null };
  if (at <= delivery.giveUpAt) return { ...next, nextAt: at };
  // A request waits for the end of its approval, which is then what ended it.
  if (endsWithApproval(delivery)) return { ...next, nextAt: Math.max(delivery.giveUpAt, endedAt) };
  return { ...next, status: 'dead', nextAt: null };
}

/** The delivery as it ends without a further attempt. */
export const ended = (delivery: Delivery, status: 'dead' | 'expired', now: number): Delivery => ({
  ...delivery,
  status,
  nextAt: null,
  updatedAt: now,
});

/** The delivery on its way once more, from its first attempt on. */
export const again = (delivery: Delivery, now: number): Delivery => ({
  ...delivery,
  status: 'waiting',
  attempts: 0,
  run: delivery.run + 1,
  nextAt: now,
  giveUpAt: now + giveUpMs,
  updatedAt: now,
});
