// Agents that an API key speaks for. A key without a pattern speaks for every agent of its environment. Keeps promise
// P52.
import { compileGlob } from 'reeve-agent/rules';

/** The agents that a key may act for. */
export interface AgentScope {
  /** An agent id, or a glob over agent ids; null: every agent. */
  readonly agentPattern: string | null;
}

/** The test of agent ids, compiled once for many. */
export const scopeTest = ({ agentPattern }: AgentScope): ((agentId: string) => boolean) =>
  agentPattern === null ? () => true : compileGlob(agentPattern);

/** The only agent of the scope; null where there may be several. */
export const onlyAgent = ({ agentPattern }: AgentScope): string | null =>
  agentPattern === null || /[*?[]/.test(agentPattern) ? null : agentPattern;
