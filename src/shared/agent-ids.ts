// The identifier rule for agents that open streams or ask for approvals: other ids are good where they are registered.

import type { AgentStore } from '../agent/port.ts';
import { HubError } from './error.ts';
import { isAgentId } from './ids.ts';

/**
 * Reads the registration only of an id outside of the rule.
 * @throws HubError bad_request for such an id that is not registered
 */
export async function requireAgentId(
  agents: Pick<AgentStore, 'get'>,
  tenantId: string,
  agentId: string,
): Promise<void> {
  if (isAgentId(agentId) || (await agents.get(tenantId, agentId)) !== null) return;
  throw new HubError(
    'bad_request',
    'The agent id is not valid, so no agent can have it. An id has 1 to 128 characters: letters, digits, ' +
      "'.', '_' and '-', beginning with a letter or digit. Send a valid id in the agent-id header.",
  );
}
