// The parts of an event that counts are made of. Pure.
import type { StoredEvent } from '../record.ts';

export interface CountableEvent
  extends Pick<StoredEvent, 'timestamp' | 'verdict' | 'mode' | 'agentId' | 'toolName' | 'env' | 'outcomes'> {
  /** payload.decision_name. */
  readonly decisionName: string | null;
}

export function countableEventOf(event: StoredEvent): CountableEvent {
  const { timestamp, verdict, mode, agentId, toolName, env, outcomes, payload } = event;
  const name = payload?.decision_name;
  const decisionName = typeof name === 'string' ? name : null;
  return { timestamp, verdict, mode, agentId, toolName, env, decisionName, outcomes };
}
