// The agents' streams of a node, with the memory for the updates that they send.
import type { StreamPorts } from '../agent/use-cases/stream.ts';
import { type AgentStreams, createAgentStreams } from '../agent/use-cases/streams.ts';
import { SentCopies } from '../deployment/use-cases/sent-copies.ts';
import { Updates } from '../deployment/use-cases/updates.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';

/** @param node the node's id, as actors know it */
export const agentStreamsOf = (ports: StreamPorts & Pick<AppPorts, 'store'>, node: string): AgentStreams =>
  createAgentStreams({ ...ports, updates: new Updates(ports.store), copies: new SentCopies() }, node);
