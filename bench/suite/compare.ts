// Compares two results files: the change of each figure, its interval, and a word for it.
import { UsageFault } from './arguments.ts';
import { hasFewCalls } from './figures.ts';
import { formatNumber } from './numbers.ts';
import type { Figure, Machine, Results, Scenario } from './results.ts';
import { type Change, changeBetween, seededRandom } from './statistics.ts';

/** Fewer rounds on either side leave a change unclear. */
export const leastComparedRounds = 5;
/** A change beyond it, in the bad direction, fails the comparison. */
const margin = 0.1;
const overMargin = 'the interval reaches over the margin';

export interface Comparison {
  readonly id: string;
  readonly unit: string;
  readonly before: number | null;
  readonly after: number | null;
  /** Null where one side has no rounds. */
  readonly change: Change | null;
  /** `same`: the whole interval lies within the margin. `better`, `worse`: the whole interval lies beyond it. */
  readonly word: 'better' | 'worse' | 'same' | 'unclear';
  /** Reason for the word `unclear`; null for other words. */
  readonly reason: string | null;
}

const machineKeys = ['cpus', 'cpu_model', 'memory_bytes', 'kernel'] as const;
const isSameMachine = (before: Machine, after: Machine): boolean =>
  machineKeys.every((key) => before[key] === after[key]);

/**
 * A change of the figure towards worse is positive: of a rate, the change of the time per item. From 0, each increase
 * is infinite, and so lies beyond the margin.
 */
function wordOf({ low, high }: Change, better: Figure['better']): Comparison['word'] {
  const [best, worst] = better === 'lower' ? [low, high] : [1 / (1 + high) - 1, 1 / (1 + low) - 1];
  if (best > margin) return 'worse';
  if (worst < 1 / (1 + margin) - 1) return 'better';
  return best >= 1 / (1 + margin) - 1 && worst <= margin ? 'same' : 'unclear';
}

/** The ratio of each round to the bound of the same round; empty without a bound, or with one of 0. */
function ratiosOf({ rounds, bound }: Figure): readonly number[] {
  const ratios = bound === null ? [] : rounds.map((value, n) => value / (bound.rounds[n] ?? bound.median));
  return ratios.every(Number.isFinite) ? ratios : [];
}

const limitTexts: { readonly [limit in Scenario['limited_by']]?: string } = {
  client: 'the client',
  others: 'other work',
};

/** Rates and latencies. Processor times, counts and bytes hardly depend on other work. */
const isElapsed = ({ unit, what }: Figure): boolean =>
  !what.startsWith('processor time') &&
  (unit === 'ms' || unit === 's' || (unit.endsWith('/s') && unit !== 'µs/s'));

/** The reason that leaves a figure without a verdict; null: the hub was measured. */
function disturbanceOf(figure: Figure, { limited_by }: Scenario): string | null {
  const limit = limitTexts[limited_by] ?? null;
  if (!isElapsed(figure)) return null;
  if (figure.verdict === 'no_target') return limit;
  if (figure.verdict === 'no_verdict' && hasFewCalls(figure)) return limit ?? 'the number of calls';
  return figure.verdict === 'no_verdict' ? (limit ?? 'the client or other work') : null;
}

interface Pair {
  readonly figures: readonly [before: Figure, after: Figure];
  /** See `disturbanceOf`. */
  readonly disturbance: string | null;
  readonly isSameMachine: boolean;
}

function compareFigures(pair: Pair, random: () => number): Comparison {
  const { figures, disturbance, isSameMachine: sameMachine } = pair;
  const [before, after] = figures;
  const [first, second] = sameMachine ? [before.rounds, after.rounds] : [ratiosOf(before), ratiosOf(after)];
  const figure = {
    id: after.id,
    unit: sameMachine ? after.unit : '× bound',
    before: sameMachine ? before.median : before.ratio,
    after: sameMachine ? after.median : after.ratio,
  };
  if (first.length === 0 || second.length === 0) {
    const reason = sameMachine ? 'not measured on both sides' : 'another machine, and no bound';
    return { ...figure, change: null, word: 'unclear', reason };
  }
  const change = changeBetween(first, second, random);
  if (Math.min(first.length, second.length) < leastComparedRounds) {
    const reason = `fewer than ${leastComparedRounds} rounds a side`;
    return { ...figure, change, word: 'unclear', reason };
  }
  if (disturbance !== null) {
    return { ...figure, change, word: 'unclear', reason: `${disturbance} was the limit` };
  }
  const word = wordOf(change, after.better);
  return {
    ...figure,
    change,
    word,
    reason: word === 'unclear' ? overMargin : null,
  };
}

/** A slow-down is the subject of a comparison; longer rounds, and the base of a guard, change no meaning. */
const freeParameters: readonly string[] = ['slow', 'seconds', 'base'];

function checkParameters(before: Scenario, after: Scenario): void {
  const names = new Set([...Object.keys(before.parameters), ...Object.keys(after.parameters)]);
  const others = [...names].filter((name) => !freeParameters.includes(name));
  const different = others.find((name) => before.parameters[name] !== after.parameters[name]);
  if (different === undefined) return;
  const values = `${before.parameters[different]} and ${after.parameters[different]}`;
  throw new UsageFault(`${after.name} ran with different ${different} (${values}). Measure both alike.`);
}

const withoutTwin = (id: string, reason: string, figure?: Figure): Comparison => ({
  id,
  unit: figure?.unit ?? '',
  before: figure?.median ?? null,
  after: null,
  change: null,
  word: 'unclear',
  reason,
});

/** The reason why a side has no figures of a scenario; null: it has figures. */
const absenceOf = (scenario: Scenario | undefined, side: string): string | null => {
  if (scenario === undefined) return `not in the ${side} file`;
  return scenario.skipped === null ? null : `skipped in the ${side} file: ${scenario.skipped}`;
};

interface ScenarioPair {
  readonly name: string;
  readonly before: Scenario | undefined;
  readonly after: Scenario | undefined;
}

/** The figures that both sides have, and what one side alone has. A figure that is new after is left out. */
function pairScenarios({ name, before, after }: ScenarioPair) {
  const absences = [absenceOf(before, 'first'), absenceOf(after, 'second')];
  const absence = absences.find((reason) => reason !== null);
  if (!before || !after || absence) {
    const isOneSided = absences.some((reason) => reason === null);
    return { pairs: [], absent: absence && isOneSided ? [withoutTwin(name, absence)] : [] };
  }
  checkParameters(before, after);
  const pairs = after.figures.flatMap((figure) => {
    const twin = before.figures.find(({ id }) => id === figure.id);
    const disturbance = twin ? (disturbanceOf(twin, before) ?? disturbanceOf(figure, after)) : null;
    return twin ? [{ figures: [twin, figure] as const, disturbance }] : [];
  });
  const absent = before.figures
    .filter(({ id }) => !after.figures.some((figure) => figure.id === id))
    .map((figure) => withoutTwin(figure.id, 'not in the second file', figure));
  return { pairs, absent };
}

/**
 * Compares each figure that both files have. A scenario that one file lacks, and a figure that the second file lacks,
 * is unclear.
 * @param seed decides the resamples of the bootstrap
 * @throws UsageFault if the files have no figure in common, or a scenario ran with different parameters
 */
export const compareResults = (before: Results, after: Results, seed = 1): readonly Comparison[] =>
  compareScenarios(before.scenarios, after.scenarios, {
    isSameMachine: isSameMachine(before.machine, after.machine),
    seed,
  });

/** As `compareResults`, for scenarios that are in no file. */
export function compareScenarios(
  before: readonly Scenario[],
  after: readonly Scenario[],
  how: { readonly isSameMachine: boolean; readonly seed: number },
): readonly Comparison[] {
  const random = seededRandom(how.seed);
  const names = [...new Set([...after, ...before].map(({ name }) => name))];
  const sides = names.map((name) => {
    const [earlier, later] = [before, after].map((side) => side.find((scenario) => scenario.name === name));
    return pairScenarios({ name, before: earlier, after: later });
  });
  const comparisons = sides
    .flatMap(({ pairs }) => pairs)
    .map((pair) => compareFigures({ ...pair, isSameMachine: how.isSameMachine }, random));
  if (comparisons.length === 0) throw new UsageFault('The two sides have no figure in common.');
  return [...comparisons, ...sides.flatMap(({ absent }) => absent)];
}

/** 1 for a figure that is worse, else 3 for an unclear one, else 0. */
export function exitCodeOfComparisons(comparisons: readonly Comparison[]): 0 | 1 | 3 {
  if (comparisons.some(({ word }) => word === 'worse')) return 1;
  return comparisons.some(({ word }) => word === 'unclear') ? 3 : 0;
}

/**
 * Of a figure for which lower is better: true for a worse one, and for an unclear one unless its whole interval lies
 * below the margin.
 */
export const mayBeWorse = ({ word, reason, change }: Comparison): boolean =>
  word === 'worse' ||
  (word === 'unclear' && !(reason === overMargin && change !== null && change.high <= margin));

const percent = (share: number): string =>
  share === Number.POSITIVE_INFINITY ? '+∞ %' : `${share >= 0 ? '+' : ''}${(share * 100).toFixed(1)} %`;

export function formatComparison({ id, unit, before, after, change, word, reason }: Comparison): string {
  const values =
    before === null && after === null ? '' : `: ${formatNumber(before)} → ${formatNumber(after)} ${unit}`;
  const interval = change
    ? `: ${percent(change.change)} [${percent(change.low)}, ${percent(change.high)}]`
    : '';
  return `${word.padEnd(8)}${id}${values}${interval}${reason === null ? '' : ` (${reason})`}\n`;
}
