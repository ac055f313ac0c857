// `bench --guard`: this tree beside the build of an earlier commit, in alternate rounds on one machine.
import type { Arguments } from '../suite/arguments.ts';
import {
  type Comparison,
  compareScenarios,
  exitCodeOfComparisons,
  formatComparison,
  mayBeWorse,
} from '../suite/compare.ts';
import { figureOf } from '../suite/figures.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { ensureBaseBuild, resolveBase } from './base-build.ts';
import { scenarioOfRuns } from './counts.ts';
import { type GuardLoad, type GuardRun, guardFigures, measureBuild, shortSizes } from './measure.ts';

const leastRounds = 7;
/** At most, for figures without a verdict. With the builds, a comparison ends within five minutes. */
const furtherRounds = 5;

type Report = (text: string, share: number) => void;

export interface Sides {
  readonly base: readonly GuardRun[];
  readonly tree: readonly GuardRun[];
}

export interface RoundsOrder {
  readonly rounds: number;
  readonly seed: number;
  readonly measure: (side: keyof Sides, round: number, loads?: readonly GuardLoad[]) => Promise<GuardRun>;
}

/** Measures both sides once: odd rounds begin with the base, even ones with the tree. */
async function addRound(
  { base, tree }: Sides,
  n: number,
  measure: (side: keyof Sides) => Promise<GuardRun>,
): Promise<Sides> {
  if (n % 2 === 0) return { base: [...base, await measure('base')], tree: [...tree, await measure('tree')] };
  const run = await measure('tree');
  return { base: [...base, await measure('base')], tree: [...tree, run] };
}

/** Figures of both sides that may be worse, without a verdict. */
export const undecidedOf = (comparisons: readonly Comparison[]): readonly string[] =>
  comparisons
    .filter((one) => one.word === 'unclear' && one.change !== null && mayBeWorse(one))
    .map(({ id }) => id);

function undecidedLoads(comparisons: readonly Comparison[]): readonly GuardLoad[] {
  const ids = undecidedOf(comparisons);
  return [...new Set(guardFigures.filter(({ id }) => ids.includes(id)).map(({ load }) => load))];
}

/** Compares the sides in alternate rounds. Loads of figures without a verdict have further ones, one at a time. */
export async function compareInRounds({ rounds, seed, measure }: RoundsOrder) {
  let sides: Sides = { base: [], tree: [] };
  for (let n = 0; n < rounds; n++) sides = await addRound(sides, n, (side) => measure(side, n));
  let comparisons = compareSides(sides, seed);
  for (let n = rounds; n < rounds + furtherRounds; n++) {
    const loads = undecidedLoads(comparisons);
    if (loads.length === 0 || comparisons.some(({ word }) => word === 'worse')) break;
    sides = await addRound(sides, n, (side) => measure(side, n, loads));
    comparisons = compareSides(sides, seed);
  }
  return { sides, comparisons };
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
export function compareBuilds(args: Arguments, folders: Folders, report: Report) {
  const rounds = Math.max(leastRounds, args.rounds);
  let done = 0;
  return compareInRounds({
    rounds,
    seed: args.seed,
    measure: async (side, n, loads) => {
      const slow = side === 'tree' ? args.slow : [];
      const seed = args.seed * 1_000_003 + n * 101;
      const order = { folder: folders[side], slow, seed, sizes: shortSizes };
      const run = await measureBuild(loads ? { ...order, loads } : order);
      const text = loads ? `further round of ${loads.join(' and ')}` : `${n + 1} of ${rounds}`;
      report(`${side} ${text}`, Math.min(1, ++done / (2 * rounds)));
      return run;
    },
  });
}

/** JSON has no infinity. */
const finiteOrNull = (share: number): number | null => (Number.isFinite(share) ? share : null);

/** The tree's scenario for the results file, with the base as bound of each figure. @param sha of the base */
export function guardScenario(
  sides: Sides,
  comparisons: readonly Comparison[],
  { sha, slow }: { readonly sha: string; readonly slow: readonly string[] },
): Scenario {
  const base = scenarioOfRuns(sides.base, {}, []);
  const tree = scenarioOfRuns(sides.tree, {}, slow);
  const figures = tree.figures.map((figure): Figure => {
    const twin = base.figures.find(({ id }) => id === figure.id);
    const comparison = comparisons.find(({ id }) => id === figure.id);
    const { id, what, unit, better, rounds } = figure;
    const bound = { what: `the base, ${sha.slice(0, 8)}`, rounds: twin?.rounds ?? [] };
    const measured = figureOf({ id, what, unit, better, rounds, bound });
    if (!comparison) return measured;
    const { word, reason, change } = comparison;
    return {
      ...measured,
      comparison: {
        word,
        reason,
        change: change && {
          median: finiteOrNull(change.change),
          low: finiteOrNull(change.low),
          high: finiteOrNull(change.high),
        },
      },
    };
  });
  return { ...tree, parameters: { ...tree.parameters, base: sha }, figures };
}

/** @returns the scenario for the results file, and the exit code */
export async function runGuard(args: Arguments, hub: string, report: Report) {
  const sha = resolveBase(args.base);
  const folders = { base: ensureBaseBuild(sha), tree: hub };
  process.stderr.write(`guard: this tree beside ${sha}\n`);
  const { sides, comparisons } = await compareBuilds(args, folders, report);
  for (const comparison of comparisons) process.stdout.write(formatComparison(comparison));
  const scenario = guardScenario(sides, comparisons, { sha, slow: args.slow });
  return { scenario, code: exitCodeOfGuard(comparisons) };
}
