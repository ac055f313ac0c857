// The agents' streams of a node, and what a dashboard's stream begins with.
import { environmentKey } from '../../../actors/protocol.ts';
import type { SentCopies } from '../../deployment/use-cases/sent-copies.ts';
import type { Updates } from '../../deployment/use-cases/updates.ts';
import { requireAgentId } from '../../shared/agent-ids.ts';
import type { Announcement } from '../../shared/announcement.ts';
import { createSharedReads } from '../../shared/concurrency/shared-reads.ts';
import { type Env, isAgentId } from '../../shared/ids.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { isolationChanges, isolationOf } from '../../tenant/rules/settings.ts';
import { AgentStream, type StreamPorts } from './stream.ts';
import { SharedTerms, type StreamRequest } from './stream-terms.ts';

export interface AgentStreams {
  /** Tells the agent's actor of the stream. @throws HubError bad_request (the agent's id), and what the actor throws */
  admit(request: StreamRequest): Promise<AgentStream>;
  /** The fleet's numbers of every environment that returns them now: the others announce theirs at the next change. */
  fleetNow(tenantId: string, envs: readonly Env[]): Promise<readonly Announcement[]>;
}

/** @param node the node's id, as actors know it */
export function createAgentStreams(
  ports: StreamPorts & Pick<AppPorts, 'store'> & { readonly updates: Updates; readonly copies: SentCopies },
  node: string,
): AgentStreams {
  const { actors, store, updates, copies } = ports;
  const shared = {
    ports,
    id: node,
    updates,
    copies,
    startedAt: ports.clock.now(),
    isolations: createSharedReads(async (tenantId) =>
      isolationChanges(tenantId, isolationOf(await store.settings.get(tenantId, 'tools'))),
    ),
  };
  const terms = new SharedTerms();
  return {
    admit(request) {
      const stream = new AgentStream(shared, request, terms.of(request));
      // Thousands connect at once: only ids outside of the rule wait for the store.
      if (isAgentId(request.agentId)) return stream.admit();
      return requireAgentId(store.agents, request.tenantId, request.agentId).then(() => stream.admit());
    },

    async fleetNow(tenantId, envs) {
      const answers = await Promise.allSettled(
        envs.map((env) => actors.ask('environment', environmentKey(tenantId, env), 'fleet', null)),
      );
      return envs.flatMap((env, i) => {
        const answer = answers[i];
        return answer?.status === 'fulfilled'
          ? [{ kind: 'fleetChanged', tenantId, env, numbers: answer.value } as const]
          : [];
      });
    },
  };
}
