// `bench --guard`: this tree beside the build of an earlier commit, in alternate rounds on one machine.
import type { Arguments } from '../suite/arguments.ts';
import {
  type Comparison,
  compareScenarios,
  exitCodeOfComparisons,
  formatComparison,
  mayBeWorse,
} from '../suite/compare.ts';
import type { Scenario } from '../suite/results.ts';
import { ensureBaseBuild, resolveBase } from './base-build.ts';
import { scenarioOfRuns } from './counts.ts';
import { type GuardRun, measureBuild, shortSizes } from './measure.ts';

const leastRounds = 7;

type Report = (text: string, share: number) => void;

export interface Sides {
  readonly base: readonly GuardRun[];
  readonly tree: readonly GuardRun[];
}

/** Measures both sides once per round; odd rounds begin with the base, even ones with the tree. */
export async function alternate(
  rounds: number,
  measure: (side: keyof Sides, round: number) => Promise<GuardRun>,
): Promise<Sides> {
  const sides: { readonly [side in keyof Sides]: GuardRun[] } = { base: [], tree: [] };
  for (let n = 0; n < rounds; n++) {
    const order = n % 2 === 0 ? (['base', 'tree'] as const) : (['tree', 'base'] as const);
    for (const side of order) sides[side].push(await measure(side, n));
  }
  return sides;
}

export function compareSides({ base, tree }: Sides, seed: number): readonly Comparison[] {
  const [before, after] = [base, tree].map((runs) => [scenarioOfRuns(runs, {}, [])]);
  return compareScenarios(before ?? [], after ?? [], { isSameMachine: true, seed });
}

/** As of `compare`, but 0 where figures are only unclear because they may be better. */
export const exitCodeOfGuard = (comparisons: readonly Comparison[]): 0 | 1 | 3 =>
  exitCodeOfComparisons(comparisons.filter(mayBeWorse));

interface Folders {
  readonly base: string;
  readonly tree: string;
}

/** Measures two builds in alternate rounds. Slow-downs act on the tree alone. */
export async function compareBuilds(args: Arguments, folders: Folders, report: Report) {
  const rounds = Math.max(leastRounds, args.rounds);
  let done = 0;
  const sides = await alternate(rounds, async (side, n) => {
    const slow = side === 'tree' ? args.slow : [];
    const seed = args.seed * 1_000_003 + n * 101;
    const run = await measureBuild({ folder: folders[side], slow, seed, sizes: shortSizes });
    report(`${side} ${n + 1} of ${rounds}`, ++done / (2 * rounds));
    return run;
  });
  return { sides, comparisons: compareSides(sides, args.seed) };
}

/** @returns the tree's scenario for the results file, and the exit code */
export async function runGuard(args: Arguments, hub: string, report: Report) {
  const sha = resolveBase(args.base);
  const folders = { base: ensureBaseBuild(sha), tree: hub };
  process.stderr.write(`guard: this tree beside ${sha}\n`);
  const { sides, comparisons } = await compareBuilds(args, folders, report);
  for (const comparison of comparisons) process.stdout.write(formatComparison(comparison));
  const scenario: Scenario = scenarioOfRuns(sides.tree, {}, args.slow);
  return { scenario, code: exitCodeOfGuard(comparisons) };
}
