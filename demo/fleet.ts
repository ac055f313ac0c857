// The fleet of the demo: four agents, each with a guard of its own over the hub's URL, and the calls they make. No
// model: their plans are written here.
import { randomUUID } from 'node:crypto';
import { DeniedError, Guard } from 'reeve-agent';
import { bundleName } from './contracts.ts';
import type { Tool } from './workshop.ts';

/** End of a call, in the words of the demo. */
export type Outcome = 'allowed' | 'denied' | 'redacted' | 'observed' | 'approved';

/** One call an agent makes, and how it must end for the demo to be right. */
export interface Planned {
  readonly agent: string;
  readonly tool: string;
  readonly args: { readonly [name: string]: string };
  /** More than one: a person decides. */
  readonly expected: readonly Outcome[];
}

export interface Ended {
  readonly outcome: Outcome;
  /** The contract that spoke up; null when none did. */
  readonly contract: string | null;
  /** Message from the contract, or the result of the tool. */
  readonly text: string;
}

const plan = (agent: string, tool: string, args: Planned['args'], ...expected: Outcome[]): Planned => ({
  agent,
  tool,
  args,
  expected,
});

export const plans: readonly Planned[] = [
  plan('scribe', 'read_file', { path: 'notes.txt' }, 'allowed'),
  plan('scribe', 'read_file', { path: '.env' }, 'denied'),
  plan('scribe', 'read_file', { path: '/etc/passwd' }, 'denied'),
  plan('scribe', 'run_command', { command: 'wc -l notes.txt' }, 'allowed'),
  plan('scribe', 'run_command', { command: 'rm notes.txt' }, 'denied'),
  plan('support', 'find_customer', { name: 'ann' }, 'redacted'),
  plan('support', 'write_file', { path: 'export.csv', text: 'name\nAnn\n' }, 'observed'),
  plan('crawler', 'fetch_page', { page: 'one', api_key: 'k-123' }, 'allowed'),
  plan('crawler', 'fetch_page', { page: 'two', api_key: 'k-123' }, 'allowed'),
  plan('crawler', 'fetch_page', { page: 'three', api_key: 'k-123' }, 'allowed'),
  plan('crawler', 'fetch_page', { page: 'four', api_key: 'k-123' }, 'denied'),
  plan('publisher', 'publish', { page: 'notes.txt', to: 'public' }, 'approved', 'denied'),
];

export class Fleet {
  readonly #guards: ReadonlyMap<string, Guard>;
  readonly #tools: { readonly [name: string]: Tool };
  /** The demo is one conversation of each agent: limits and runs count by it. */
  readonly #sessionId = randomUUID();

  private constructor(guards: ReadonlyMap<string, Guard>, tools: { readonly [name: string]: Tool }) {
    this.#guards = guards;
    this.#tools = tools;
  }

  /** Connects every agent; each has the deployed bundle, its signature checked, when this resolves. */
  static async connect(
    url: string,
    apiKey: string,
    tools: { readonly [name: string]: Tool },
  ): Promise<Fleet> {
    const guards = new Map<string, Guard>();
    const fleet = new Fleet(guards, tools);
    try {
      for (const agentId of new Set(plans.map((planned) => planned.agent))) {
        guards.set(agentId, await Guard.connect({ url, apiKey, agentId, bundleName, signing: 'first-seen' }));
      }
    } catch (failure) {
      await fleet.close();
      throw failure;
    }
    return fleet;
  }

  get agents(): readonly string[] {
    return [...this.#guards.keys()];
  }

  /** Makes one call, through the agent's guard. @throws what the tool throws, and the signal's reason */
  async call({ agent, tool, args }: Planned, signal: AbortSignal): Promise<Ended> {
    const guard = this.#guards.get(agent);
    const run = this.#tools[tool];
    if (!guard || !run) throw new Error(`there is no ${agent} or no ${tool}`);
    const mark = guard.events.mark();
    let fired: string | null = null;
    try {
      const result = await guard.run(tool, args, run, {
        sessionId: this.#sessionId,
        signal,
        onWarning: ([warning]) => {
          fired = warning?.contract ?? null;
        },
      });
      const text =
        typeof result === 'string' ? result.trim().replaceAll('\n', ' | ') : JSON.stringify(result);
      const records = guard.events.sinceMark(mark);
      const watched = records.find((record) => record.action === 'call_would_deny');
      const granted = records.find((record) => record.action === 'call_approval_granted');
      if (granted) return { outcome: 'approved', contract: granted.decision_name, text };
      if (watched) return { outcome: 'observed', contract: watched.decision_name, text };
      return { outcome: fired === null ? 'allowed' : 'redacted', contract: fired, text };
    } catch (failure) {
      if (!(failure instanceof DeniedError)) throw failure;
      return { outcome: 'denied', contract: failure.contract, text: failure.message };
    }
  }

  /** Delivers what the guards still hold, and ends their streams. @throws AggregateError */
  async close(): Promise<void> {
    const ended = await Promise.allSettled([...this.#guards.values()].map((guard) => guard.close()));
    const failures = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'not every agent could deliver its events');
  }
}
