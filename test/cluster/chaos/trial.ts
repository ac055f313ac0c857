// One run of one promise under one seed: on a fleet that is whole at its begin and again at its end. The promises are
// in promises/.
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { type Random, random } from '../../random.ts';
import { closeAll } from './crowd.ts';
import type { Report, Size } from './figures.ts';
import type { Fleet } from './fleet.ts';
import { History } from './history.ts';

export interface Trial {
  readonly fleet: Fleet;
  readonly random: Random;
  readonly size: Size;
  readonly history: History;
  /** Values of this size alone: `trial.of(12, 60)` is 12 in the short form, 60 in the long one. */
  of<T>(short: T, long: T): T;
  /** Ends when the run does, however it does. */
  readonly ended: AbortSignal;
  /** Does something beside the run until told to end; what it throws is thrown by `end`. */
  beside(task: (signal: AbortSignal) => Promise<void>): { end(): Promise<void> };
}

export interface Suite {
  /** 1 to 11. */
  readonly promise: number;
  readonly title: string;
  run(trial: Trial): Promise<Pick<Report, 'figures' | 'violations'>>;
}

/** Runs it. Never rejects: what stops a run is a violation of its own. */
export async function attempt(suite: Suite, fleet: Fleet, seed: string, size: Size): Promise<Report> {
  const begun = Date.now();
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const trial: Trial = {
    fleet,
    ended: over.signal,
    beside(task) {
      const own = new AbortController();
      setMaxListeners(0, own.signal);
      const done = task(AbortSignal.any([own.signal, over.signal])).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      return {
        async end() {
          own.abort();
          const failed = await done;
          if (failed) throw failed.error;
        },
      };
    },
    random: random(`${seed}/${suite.promise}`),
    size,
    history: new History(),
    of: (short, long) => (size === 'short' ? short : long),
  };
  let result: Pick<Report, 'figures' | 'violations'>;
  try {
    await fleet.heal();
    result = await suite.run(trial);
  } catch (error) {
    result = { figures: {}, violations: [`the run was stopped: ${said(error)}`] };
  } finally {
    over.abort();
    closeAll();
  }
  const healing = await fleet.heal(60_000).then(
    () => [],
    (error: unknown) => [`the fleet did not come back: ${said(error)}`],
  );
  return {
    promise: suite.promise,
    title: suite.title,
    seed,
    size,
    seconds: (Date.now() - begun) / 1000,
    figures: result.figures,
    violations: [...result.violations, ...healing],
    faults: fleet.told(begun),
  };
}

/** Waits so long, or until the signal. Never rejects. */
export const rest = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(Math.max(0, ms), undefined, { signal }).catch(() => {});

function said(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${said(error.cause)})`;
}
