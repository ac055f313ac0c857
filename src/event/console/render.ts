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

/** Adds to the record's reply in place: copies of it slow down pages of events. */
export const render = (event: StoredEvent) =>
  Object.assign(eventRecord.render('console', event), {
    call_id: callIdOf(event),
    sent_by: event.sentBy ?? null,
    verdict: event.flat ? consoleVerdict(event.verdict) : event.verdict,
    timestamp: renderInstant(event.timestamp),
    outcomes: event.outcomes.map((outcome) => renderOutcome(outcome, event)),
  });
