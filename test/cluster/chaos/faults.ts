// The schedule of faults: drawn whole from the seed before the run, so that a seed can be run again. Does it through
// the fleet.
import { setTimeout as wait } from 'node:timers/promises';
import type { Random } from '../../random.ts';
import type { Fleet } from './fleet.ts';

export interface PlannedKill {
  /** Since the begin of the run. */
  readonly atMs: number;
  readonly node: number;
  /** How long it stays away. */
  readonly awayMs: number;
}

/** One node after another, chosen by chance, every `every[0]` to `every[1]` ms. */
export function kills(
  random: Random,
  wishes: {
    readonly ms: number;
    readonly nodes: number;
    readonly every: readonly [number, number];
    readonly away: readonly [number, number];
  },
): PlannedKill[] {
  const plan: PlannedKill[] = [];
  for (let at = random.between(...wishes.every); at < wishes.ms; at += random.between(...wishes.every)) {
    plan.push({
      atMs: Math.round(at),
      node: random.int(wishes.nodes),
      awayMs: Math.round(random.between(...wishes.away)),
    });
  }
  return plan;
}

const busyMs = 10_000;

/**
 * Does the plan; where a node is not up when its turn comes, another that is dies in its place. Resolves with how many
 * were killed, when all are started again.
 * @param isBusy a kill waits until this holds, at most ten seconds; by default it waits for nothing
 */
export async function perform(
  fleet: Fleet,
  plan: readonly PlannedKill[],
  isBusy: () => boolean = () => true,
): Promise<number> {
  const begun = performance.now();
  const starting: Promise<void>[] = [];
  let done = 0;
  for (const { atMs, node, awayMs } of plan) {
    await wait(Math.max(0, atMs - (performance.now() - begun)));
    for (let waited = 0; waited < busyMs && !isBusy(); waited++) await wait(1);
    const { up } = fleet;
    // One is left, so that there is somebody to ask.
    const victim = up.includes(fleet.at(node)) ? fleet.at(node) : up.length > 1 ? up[0] : undefined;
    if (!victim) continue;
    const i = fleet.index(victim);
    done++;
    await fleet.kill(i);
    starting.push(wait(awayMs).then(() => fleet.start(i)));
  }
  await Promise.all(starting);
  return done;
}

/**
 * kill -9 of one node again and again, each time after it ran for a while: at whatever moment that is.
 * @param wishes.hasWorked true if enough was done before kill `n`, which waits for it; default: nothing is needed
 */
export async function killAgain(
  fleet: Fleet,
  random: Random,
  wishes: {
    readonly node: number;
    readonly times: number;
    readonly runs: readonly [number, number];
    readonly hasWorked?: (n: number) => boolean;
  },
): Promise<void> {
  for (let n = 0; n < wishes.times; n++) {
    await wait(random.between(...wishes.runs));
    while (wishes.hasWorked?.(n) === false) await wait(20);
    await fleet.kill(wishes.node);
    await fleet.start(wishes.node);
  }
}
