// Events in the words of the console API.
import { renderInstant } from '../../shared/instant.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import { eventRecord } from '../record/fields.ts';
import { type EventOutcome, readConditions, type StoredEvent } from '../record.ts';
import { callIdOf, consoleVerdict } from '../rules/decision.ts';

export const renderOutcome = (
  { conditions, ...outcome }: EventOutcome,
  { agentId }: Pick<StoredEvent, 'agentId'>,
) => ({
  ...snakeKeys(outcome),
  ...omitUndefined({ conditions: readConditions(conditions) }),
  timestamp: renderInstant(outcome.timestamp),
  sent_by: outcome.sentBy === agentId ? null : (outcome.sentBy ?? null),
});

export function render(event: StoredEvent) {
  const { truncated, sample, ...reply } = eventRecord.render('console', event);
  return {
    ...reply,
    call_id: callIdOf(event),
    sent_by: event.sentBy ?? null,
    verdict: event.flat ? consoleVerdict(event.verdict) : event.verdict,
    timestamp: renderInstant(event.timestamp),
    ...(truncated ? { truncated } : {}),
    ...(sample ? { sample } : {}),
    outcomes: event.outcomes.map((outcome) => renderOutcome(outcome, event)),
  };
}
