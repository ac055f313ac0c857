// Ingest as a fleet does it: senders with batches under fresh call ids, each repeated on another node until it is
// acknowledged or given up.
import { setMaxListeners } from 'node:events';
import type { Random } from '../../random.ts';
import type { Caller, Node } from './caller.ts';
import type { History } from './history.ts';
import { rest } from './trial.ts';

export interface IngestInput {
  readonly ids: readonly string[];
}

export interface LoadOptions {
  readonly senders: number;
  readonly batch: number;
  /** Between two batches of one sender, in ms. */
  readonly pauseMs: number;
  /** A sender pauses three times as long as its batch took, up to this. */
  readonly maxPauseMs?: number;
  readonly key: string;
  readonly caller: Caller;
  readonly history: History;
  readonly random: Random;
  readonly route: (random: Random) => Node | null;
  /** The event of a call id. Default: an allowed call without a session. */
  readonly eventOf?: (callId: string, agentId: string) => object;
  /** How often a batch is tried in all. */
  readonly attempts?: number;
  /** Ends it as well. */
  readonly ended?: AbortSignal;
}

export interface Load {
  /** Ends every sender after the batch it is at. */
  stop(): Promise<void>;
}

/** An audit event as an agent sends it. */
export const event = (call_id: string, agent_id: string) => ({
  call_id,
  agent_id,
  tool_name: 'read_file',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: new Date().toISOString(),
  payload: { args: { path: '/tmp/a' } },
});

export function ingest(options: LoadOptions): Load {
  const { caller, history, key, route, attempts = 8, eventOf = event } = options;
  const running = new AbortController();
  const signal = options.ended ? AbortSignal.any([running.signal, options.ended]) : running.signal;
  setMaxListeners(0, signal);
  const pause = (ms: number) => rest(ms, signal);

  async function sender(n: number): Promise<void> {
    const random = options.random.branch(`sender-${n}`);
    const agent = `agent-${n}`;
    await pause(random.between(0, options.pauseMs));
    let took = 0;
    for (let batch = 0; !signal.aborted; batch++) {
      const ids = Array.from(
        { length: options.batch },
        (_, i) => `${options.random.seed}/${n}/${batch}/${i}`,
      );
      // A repeat has the same call ids: an event whose first answer was lost must not be there twice.
      for (let attempt = 1; attempt <= attempts; attempt++) {
        const node = route(random);
        if (!node) {
          await pause(50);
          continue;
        }
        const body = { events: ids.map((id) => eventOf(id, agent)) };
        const call = await caller.note(history, 'ingest', { ids }, node, 'POST', '/api/v1/events', {
          key,
          agent,
          body,
        });
        took = call.ended - call.invoked;
        if (call.outcome === 'ok' || signal.aborted) break;
        await pause(random.between(50, 300) + Math.min(took, 500));
      }
      // A store on a busy machine must not be buried: kills, not queues, are what is tested here.
      await pause(
        Math.max(options.pauseMs, Math.min(3 * took, options.maxPauseMs ?? 10_000)) *
          random.between(0.5, 1.5),
      );
    }
  }

  const senders = Array.from({ length: options.senders }, (_, n) => sender(n));
  return {
    async stop() {
      running.abort();
      await Promise.all(senders);
    },
  };
}
