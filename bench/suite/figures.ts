// Makes figures: medians, ratios to a bound, and verdicts where the rounds allow one.
import type { Figure, Histogram, Target } from './results.ts';
import { medianOf, spreadOf } from './statistics.ts';

/** Fewer rounds give no verdict. */
export const leastRounds = 3;
/** Cores of other work on the machine above which a run gives no verdict. */
export const maxOtherCores = 0.1;
/** Share of a core above which the busiest loader of a closed loop is the limit. */
export const maxLoaderShare = 0.85;

/** Greatest delay of sends in an open loop that still gives a verdict: 99th percentile, milliseconds. */
export const maxLagMs = 20;

/** As `maxLagMs`, for a latency in milliseconds with a target: at most half of the target, of which a delay is part. */
export const maxLagOf = (target: Target | undefined): number =>
  target !== undefined && target.of === 'value' && 'at_most' in target
    ? Math.min(maxLagMs, target.at_most / 2)
    : maxLagMs;

/** Calls of a round that a percentile needs: of fewer, it is the time of the slowest one. 100 for the 99th. */
export const leastCallsOf = (percentile: number): number => Math.round(100 / (100 - percentile));

type Calls = Pick<Figure, 'id' | 'rounds' | 'histogram'>;

const percentileOfId = (id: string): number => Number(/_p(\d+)$/.exec(id)?.[1]);

/** Its percentile, which the id names, comes from too few calls in a round for a verdict. */
export const hasFewCalls = ({ id, rounds, histogram }: Calls): boolean =>
  histogram !== null && histogram.count < rounds.length * leastCallsOf(percentileOfId(id));

function callsText({ id, rounds, histogram }: Calls): string {
  const calls = Math.floor((histogram?.count ?? 0) / rounds.length);
  return `${calls} calls a round, too few for a verdict: ${leastCallsOf(percentileOfId(id))}`;
}

/** The parts of a figure that a rival's figure shares with the hub's. */
export interface FigureForm {
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  readonly better: 'lower' | 'higher';
}

export interface Measured extends FigureForm {
  /** One value per round; null where a round could not be measured. */
  readonly rounds: readonly (number | null)[];
  /** With a round that could not be measured, null, there is no bound. */
  readonly bound?: { readonly what: string; readonly rounds: readonly (number | null)[] };
  readonly target?: Target;
  /** The target must hold in each round, not in the median alone. Default: true for a target of 0. */
  readonly isJudgedByWorst?: boolean;
  /** The client or other work was the limit of this figure. Default: false. */
  readonly isDisturbed?: boolean;
  readonly histogram?: Histogram;
}

/** One lost frame in one round is a lost frame, whatever the median is. */
const isNone = (target: Target | null): boolean =>
  target !== null && target.of === 'value' && 'at_most' in target && target.at_most === 0;

interface Judgement {
  readonly isDisturbed: boolean;
  readonly isJudgedByWorst: boolean;
}

function verdictOf(
  figure: Omit<Figure, 'verdict'>,
  { isDisturbed, isJudgedByWorst }: Judgement,
): Figure['verdict'] {
  const { target, ratio, median, rounds } = figure;
  if (target === null) return 'no_target';
  const worst = 'at_most' in target ? Math.max(...rounds) : Math.min(...rounds);
  const value = target.of === 'ratio' ? ratio : median === null || !isJudgedByWorst ? median : worst;
  if (value === null || isDisturbed || rounds.length < leastRounds || hasFewCalls(figure))
    return 'no_verdict';
  const isMet = 'at_most' in target ? value <= target.at_most : value >= target.at_least;
  return isMet ? 'met' : 'missed';
}

/** Empty with a round that could not be measured. */
function measuredRounds(values: readonly (number | null)[]): number[] {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === values.length ? numbers : [];
}

/** Null without a bound, or where it could not be measured. */
function boundOf(bound: Measured['bound']): Figure['bound'] {
  const rounds = measuredRounds(bound?.rounds ?? []);
  return bound === undefined || rounds.length === 0
    ? null
    : { what: bound.what, rounds, median: medianOf(rounds) };
}

/** The figure as a results file holds it. A figure with an unmeasured round has no rounds at all. */
export function figureOf(measured: Measured): Figure {
  const { id, what, unit, better, target = null, isDisturbed = false, histogram = null } = measured;
  const { isJudgedByWorst = isNone(target) } = measured;
  const rounds = measuredRounds(measured.rounds);
  const median = rounds.length === 0 ? null : medianOf(rounds);
  const bound = boundOf(measured.bound);
  const isFew = target !== null && hasFewCalls({ id, rounds, histogram });
  const figure = {
    id,
    what: isFew ? `${what} (${callsText({ id, rounds, histogram })})` : what,
    unit,
    better,
    rounds,
    median,
    spread: spreadOf(rounds),
    bound,
    ratio: median === null || bound === null || !(bound.median > 0) ? null : median / bound.median,
    target,
    histogram,
  };
  return { ...figure, verdict: verdictOf(figure, { isDisturbed, isJudgedByWorst }) };
}

/** The suite's exit code: 1 for a missed target, else 3 for a target without verdict, else 0. */
export function exitCodeOf(figures: readonly Figure[]): 0 | 1 | 3 {
  if (figures.some(({ verdict }) => verdict === 'missed')) return 1;
  return figures.some(({ verdict }) => verdict === 'no_verdict') ? 3 : 0;
}
