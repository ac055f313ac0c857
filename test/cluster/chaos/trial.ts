// One run of one promise under one seed: on a fleet that is whole at its begin and again at its end. The promises are in promises/.

import type { Report, Size } from './figures.ts';
import type { Fleet } from './fleet.ts';
import { History } from './history.ts';
import { type Random, random } from './random.ts';

export interface Trial {
  readonly fleet: Fleet;
  readonly random: Random;
  readonly size: Size;
  readonly history: History;
  /** What only this size has: `trial.of(12, 60)` is 12 in the short form, 60 in the long one. */
  of<T>(short: T, long: T): T;
}

export interface Suite {
  /** 1 to 10. */
  readonly promise: number;
  readonly title: string;
  run(trial: Trial): Promise<Pick<Report, 'figures' | 'violations'>>;
}

/** Runs it. Never rejects: what stops a run is a violation of its own. */
export async function attempt(suite: Suite, fleet: Fleet, seed: string, size: Size): Promise<Report> {
  const begun = Date.now();
  const trial: Trial = {
    fleet,
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

function said(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${said(error.cause)})`;
}
