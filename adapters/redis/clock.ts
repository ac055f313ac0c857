// The time that all nodes of a cluster go by: Redis's, which a node asks for now and then and counts on from by its own
// monotonic clock. Nodes whose clocks differ would time out each other's approvals, and store events behind the place
// up to which others have read. Nodes would also take each other's unfinished requests for abandoned ones.
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Link } from './link.ts';

export interface ClusterClock extends Clock {
  /**
   * Goes by the time of this Redis from now on, also while it is away.
   * @throws HubError('unavailable') when Redis does not return its time
   */
  follow(link: Pick<Link, 'send'>): Promise<{ stop(): void }>;
}

const askEveryMs = 5_000;
/** Requests for the first time; the quickest answer contains the best one. */
const firstAsks = 5;
/** Smallest change in the difference between a machine's clock and Redis's that is logged, in milliseconds. */
const toldMs = 1_000;
/** A correction backwards of less than this, in milliseconds, stops the time for as long: times never go back. */
const standsMs = 1_000;

/** @param own this machine's clock, which counts until Redis is followed */
export function clusterClock(own: Clock, log: Log): ClusterClock {
  /** Redis's time less this node's monotonic clock. */
  let offset: number | null = null;
  let last = 0;
  let lastNow = 0;

  /** A difference that is still possible stays as it is: a slow answer does not move the time. */
  async function ask(link: Pick<Link, 'send'>): Promise<void> {
    const before = own.monotonic();
    const answer = await link.send(['TIME']);
    const after = own.monotonic();
    const [seconds, micros] = Array.isArray(answer) ? answer.map(Number) : [];
    const at = (seconds ?? Number.NaN) * 1000 + (micros ?? Number.NaN) / 1000;
    if (!Number.isFinite(at)) return;
    const [lowest, highest] = [at - after, at - before];
    offset = Math.min(Math.max(offset ?? (lowest + highest) / 2, lowest), highest);
    const differsMs = Math.round(own.monotonic() + offset - own.now());
    if (Math.abs(differsMs - lastNow) < toldMs) return;
    lastNow = differsMs;
    log.warn(
      { differs_ms: differsMs },
      'the clock of this machine differs from the clock of Redis, which the hub uses',
    );
  }

  return {
    ...own,
    now() {
      if (offset === null) return own.now();
      const now = Math.floor(own.monotonic() + offset);
      if (now > last || last - now >= standsMs) last = now;
      return last;
    },
    async follow(link) {
      for (let i = 0; i < firstAsks; i++) await ask(link);
      let asking = false;
      const timer = own.every(askEveryMs, () => {
        if (asking) return;
        asking = true;
        ask(link)
          // Its links log that Redis is away. Until it is back the monotonic clock counts on.
          .catch(() => {})
          .finally(() => {
            asking = false;
          });
      });
      return { stop: () => timer.cancel() };
    },
  };
}
