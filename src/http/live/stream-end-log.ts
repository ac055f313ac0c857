// The log of streams that ended: one line for each tenant, environment and reason in 5 s, with the agent or the count.
import type { Clock, Timer } from '../../shared/ports/clock.ts';
import type { Log } from '../../shared/ports/log.ts';

const windowMs = 5000;

export interface StreamEnd {
  readonly tenantId: string;
  /** Null for streams over all environments. */
  readonly env: string | null;
  /** Null for dashboards. */
  readonly agentId: string | null;
  readonly reason: string;
}

export class StreamEndLog {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #log: Pick<Log, 'info'>;
  readonly #ends = new Map<string, { readonly end: StreamEnd; count: number }>();
  #timer: Timer | null = null;

  constructor(clock: Pick<Clock, 'after'>, log: Pick<Log, 'info'>) {
    this.#clock = clock;
    this.#log = log;
  }

  add(end: StreamEnd): void {
    const key = JSON.stringify([end.tenantId, end.env, end.reason]);
    const group = this.#ends.get(key);
    if (group) group.count++;
    else this.#ends.set(key, { end, count: 1 });
    this.#timer ??= this.#clock.after(windowMs, () => this.flush());
  }

  /** Logs what waits, now. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const { end, count } of this.#ends.values()) {
      const fields = { tenant_id: end.tenantId, env: end.env, reason: end.reason };
      if (count === 1) this.#log.info({ ...fields, agent_id: end.agentId }, 'a stream ended');
      else this.#log.info({ ...fields, streams: count }, 'streams ended');
    }
    this.#ends.clear();
  }
}
