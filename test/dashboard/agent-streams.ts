// Streams of agents that are there while a page is looked at.
import type { HubProcess } from '../e2e/process.ts';

/**
 * Streams that stay open until `close`. Each Response is held: fetch closes the stream of one that was collected as
 * garbage, and the agent would seem to have gone.
 */
export class AgentStreams {
  static readonly #held = new Set<Response>();
  readonly #stop = new AbortController();
  readonly #open: Response[] = [];
  readonly #hub: HubProcess;
  readonly #key: string;

  constructor(hub: HubProcess, key: string) {
    this.#hub = hub;
    this.#key = key;
  }

  /** @param query what follows `env=production` in the address, such as `&bundle_name=shop` */
  async open(agentId: string, query = '', path = '/api/v1/stream'): Promise<void> {
    const answer = await fetch(`${this.#hub.url}${path}?env=production${query}`, {
      headers: { Authorization: `Bearer ${this.#key}`, 'X-Service-Agent-Id': agentId },
      signal: this.#stop.signal,
    });
    if (answer.status !== 200) throw new Error(`the stream of ${agentId} was refused: ${answer.status}`);
    this.#open.push(answer);
    AgentStreams.#held.add(answer);
  }

  /** @returns how many were open */
  close(): number {
    this.#stop.abort();
    for (const answer of this.#open) AgentStreams.#held.delete(answer);
    return this.#open.splice(0).length;
  }
}
