// The agents that saw a definition, kept up to date without a write for each observation.
import { hourMs } from '../../shared/duration.ts';
import { type DefinitionAgent, maxAgentsOfDefinition } from '../record.ts';

/** Times of observations may be late by this, in milliseconds. */
const stalenessMs = hourMs;

export const isStale = (lastSeenAt: number | null, now: number): boolean =>
  lastSeenAt === null || now - lastSeenAt >= stalenessMs;

/** The agents after a observation; null if nothing is to be written. */
export function agentsAfter(
  agents: readonly DefinitionAgent[],
  agentId: string,
  now: number,
): readonly DefinitionAgent[] | null {
  const observer = agents.find((agent) => agent.agentId === agentId);
  if (!observer) {
    if (agents.length >= maxAgentsOfDefinition) return null;
    return [...agents, { agentId, firstSeenAt: now, lastSeenAt: now }];
  }
  if (!isStale(observer.lastSeenAt, now)) return null;
  return agents.map((agent) => (agent === observer ? { ...agent, lastSeenAt: now } : agent));
}
