// The sweep over stored deadlines, on every node for the keys it owns: the guarantee behind the actors' timers (promise
// P6). Decides nothing: the sweep sends a message to the actor, whose write decides.
import { singleFlight } from '../../src/shared/concurrency/single-flight.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Tell } from './define.ts';

export interface SweepOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** 1 s by default. */
  readonly everyMs?: number;
  /** True for a key whose actor lives in this process; the owners of other keys send their messages. */
  readonly mine: (key: string) => boolean;
  /**
   * Messages to actors that are due at `now` (epoch ms); the caller bounds their number. A message may come again until
   * its work is done. The sweep sends a message again after 3 s, or in its next run if the sending failed. A slow store
   * must not get more work for being behind.
   */
  readonly due: (now: number) => Promise<readonly Tell[]>;
  /** Resolves when the actor has handled it; not waited for. */
  readonly tell: (tell: Tell) => Promise<unknown>;
  /** After every turn that did what it should. */
  readonly turned?: () => void;
}

export interface Sweep {
  /** One sweep now, after the one under way. Never throws: failures are logged and swept again. */
  run(): Promise<void>;
  /** No sweep begins any more; resolves when the one under way has ended. */
  stop(): Promise<void>;
}

const toldAgainMs = 3000;

const nameOf = ({ kind, key, type, body }: Tell): string => JSON.stringify([kind, key, type, body]);

export function startSweep(options: SweepOptions): Sweep {
  const { clock, log, mine, due, tell } = options;
  /** Times of recent messages (monotonic), by message. */
  const toldAt = new Map<string, number>();
  let stopped = false;

  const sweep = async (): Promise<void> => {
    try {
      const messages = await due(clock.now());
      const now = clock.monotonic();
      let warned = false;
      for (const [name, at] of toldAt) if (now - at >= toldAgainMs) toldAt.delete(name);
      for (const message of messages) {
        if (!mine(message.key)) continue;
        const name = nameOf(message);
        if (toldAt.has(name)) continue;
        toldAt.set(name, now);
        tell(message).catch((err: unknown) => {
          if (toldAt.get(name) === now) toldAt.delete(name);
          if (warned) return;
          warned = true;
          const { kind, key: actor, type } = message;
          log.warn({ err, kind, actor, type }, 'cannot deliver due messages; retrying');
        });
      }
      options.turned?.();
    } catch (err) {
      log.error({ err }, 'the deadline sweep failed');
    }
  };

  const sweeps = singleFlight(sweep, () => stopped);
  const timer = clock.every(options.everyMs ?? 1000, () => {
    if (!sweeps.busy) void sweeps.ask();
  });
  return {
    run: sweeps.ask,
    async stop() {
      stopped = true;
      timer.cancel();
      await sweeps.idle();
    },
  };
}
