// The agent that a request with an API key is about, and whether its key may speak for that agent.
import { type AgentScope, scopeTest } from './agent-scope.ts';
import { HubError } from './error.ts';

interface KeyCaller extends AgentScope {
  readonly agentId: string | null;
}

/** The agent that a request is of; `default` when it names none. */
export const agentOf = (caller: KeyCaller): string => caller.agentId ?? 'default';

/** The same, for what is done in that agent's name. @throws HubError forbidden when the key is not bound to it */
export function actingAgent(caller: KeyCaller): string {
  const agentId = agentOf(caller);
  requireAgent(caller, agentId);
  return agentId;
}

/** @throws HubError forbidden when the key is bound to other agents */
export function requireAgent(scope: AgentScope, agentId: string): void {
  if (!scopeTest(scope)(agentId)) throw new HubError('forbidden', outsideScope(scope, agentId));
}

/** For figures that count every agent. @throws HubError forbidden when the key is bound to some agents */
export function requireAllAgents({ agentPattern }: AgentScope): void {
  if (agentPattern === null) return;
  throw new HubError(
    'forbidden',
    `This API key is restricted to agents that match '${agentPattern}', and the answer counts all agents. Use a key without a pattern.`,
  );
}

/** Error message for a key that is not bound to the agent. */
export const outsideScope = ({ agentPattern }: AgentScope, agentId: string): string =>
  `This API key is restricted to agents that match '${agentPattern}', and '${agentId}' does not match. Use a key for this agent.`;
