// Events in the words of the console API.
import { iso } from '../../http/contract/render.ts';
import { renderInstant } from '../../shared/instant.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
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

export const render = (event: StoredEvent) => ({
  id: event.id,
  call_id: callIdOf(event),
  agent_id: event.agentId,
  sent_by: event.sentBy ?? null,
  tool_name: event.toolName,
  verdict: event.flat ? consoleVerdict(event.verdict) : event.verdict,
  mode: event.mode,
  timestamp: renderInstant(event.timestamp),
  payload: event.payload,
  env: event.env,
  created_at: iso(event.createdAt),
  ...(event.truncated ? { truncated: [...event.truncated] } : {}),
  ...(event.sample ? { sample: true as const } : {}),
  outcomes: event.outcomes.map((outcome) => renderOutcome(outcome, event)),
});
