// Rounds of open loops beside a bound: who was the limit, and the figures of their latencies.
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import {
  figureOf,
  hasFewCalls,
  leastCallsOf,
  leastRounds,
  maxLagMs,
  maxLagOf,
  maxOtherCores,
} from '../suite/figures.ts';
import { mergeLatencies } from '../suite/histogram.ts';
import { coresOf, describeUsage, loadOf, medianOrNull } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { OpenLoopResult } from '../suite/open-loop.ts';
import type { Figure, Scenario, Target } from '../suite/results.ts';
import { medianOf } from '../suite/statistics.ts';
import { type RunOptions, slowParameter } from './scenario.ts';

export interface Sample extends OpenLoopResult {
  readonly usage: Usage;
}

/** Samples from one round, by name. */
export type Samples = { readonly [name: string]: Sample };

export interface OpenRound {
  readonly hub: Samples;
  /** Latencies of the bound, by name. */
  readonly bound: { readonly [name: string]: OpenLoopResult };
}

export interface OpenRounds {
  readonly measureHub: (n: number) => Promise<Samples>;
  readonly measureBound: (n: number) => Promise<OpenRound['bound']>;
}

/** Shorter rounds try a scenario: their 99th percentiles have no verdict. */
const leastTailSeconds = 5;

/** Longer than `seconds` where a 99th percentile needs it for a verdict. */
export const secondsOfTail = (perSecond: number, seconds: number): number =>
  seconds < leastTailSeconds ? seconds : Math.max(seconds, leastCallsOf(99) / perSecond);

/** Runs an open loop and notes what hub, clients and others used. */
export async function measureSample(
  hub: number | readonly number[],
  clients: readonly number[],
  loop: () => Promise<OpenLoopResult>,
): Promise<Sample> {
  const endUsage = startUsage(hub, clients);
  const result = await loop();
  return { ...result, usage: endUsage() };
}

/** Odd rounds measure the bound first, even ones last. */
export async function runOpenRounds(
  { rounds: count, quiet, report }: RunOptions,
  { measureHub, measureBound }: OpenRounds,
): Promise<readonly OpenRound[]> {
  const rounds: OpenRound[] = [];
  for (let n = 0; n < count; n++) {
    await waitUntilQuiet(quiet);
    const early = n % 2 === 1 ? await measureBound(n) : null;
    const hub = await measureHub(n);
    rounds.push({ hub, bound: early ?? (await measureBound(n)) });
    const [name = '', sample] = Object.entries(hub)[0] ?? [];
    const latency = sample === undefined ? 0 : percentileOf(sample.latencies, 99);
    const usage = sample === undefined ? '' : `; ${describeUsage(sample.usage)}`;
    report(`round ${n + 1} of ${count}: ${name} p99 ${latency.toFixed(1)} ms${usage}`, (n + 1) / count);
  }
  return rounds;
}

/** Milliseconds. @param latencies HdrHistogram V2, base64, microseconds */
export const percentileOf = (latencies: string, percentile: number): number =>
  decodeFromCompressedBase64(latencies).getValueAtPercentile(percentile) / 1000;

export interface LatencyForm {
  readonly id: string;
  readonly what: string;
  /** Of the round's samples. */
  readonly sample: string;
  /** Default: 99 */
  readonly percentile?: number;
  /** A latency of the bound, and what it is. */
  readonly bound?: { readonly name: string; readonly what: string };
  readonly target?: Target;
}

const hasOthers = (samples: readonly Sample[]): boolean => {
  const others = medianOrNull(samples.map(({ usage }) => coresOf(usage.otherMs, usage)));
  return others !== null && others > maxOtherCores;
};

const isClientLate = (samples: readonly Sample[], limitMs = maxLagMs): boolean =>
  medianOf(samples.map(({ lagMs }) => lagMs)) > limitMs;

/** Other work or a late client was the limit. */
export function samplesAreDisturbed(rounds: readonly OpenRound[]): boolean {
  const samples = rounds.flatMap(({ hub }) => Object.values(hub));
  return hasOthers(samples) || isClientLate(samples);
}

/** A percentile of a latency, with the percentile of the bound and the histogram of all rounds. */
export function latencyFigure(rounds: readonly OpenRound[], form: LatencyForm): Figure {
  const { id, what, sample, percentile = 99, bound, target } = form;
  const samples = rounds.map(({ hub }) => hub[sample]).filter((one) => one !== undefined);
  const boundRounds = rounds.map((round) => round.bound[bound?.name ?? '']?.latencies ?? '');
  return figureOf({
    id,
    what: `${what}, p${percentile} from the due times`,
    unit: 'ms',
    better: 'lower',
    rounds: samples.map(({ latencies }) => percentileOf(latencies, percentile)),
    ...(bound === undefined
      ? {}
      : {
          bound: {
            what: bound.what,
            rounds: boundRounds.map((latencies) => percentileOf(latencies, percentile)),
          },
        }),
    ...(target === undefined ? {} : { target }),
    isDisturbed: hasOthers(samples) || isClientLate(samples, maxLagOf(target)),
    histogram: mergeLatencies(samples.map(({ latencies }) => latencies)),
  });
}

/** The scenario of such rounds. */
export function openScenario(
  options: RunOptions,
  rounds: readonly OpenRound[],
  { name, parameters, figures }: Pick<Scenario, 'name' | 'parameters' | 'figures'>,
): Scenario {
  const samples = rounds.flatMap(({ hub }) => Object.values(hub));
  const others = hasOthers(samples);
  // A figure with a low target can have no verdict although the client is punctual enough for the others.
  const isLate =
    isClientLate(samples) ||
    figures.some(
      (figure) =>
        figure.verdict === 'no_verdict' && figure.rounds.length >= leastRounds && !hasFewCalls(figure),
    );
  return {
    name,
    parameters: { ...parameters, ...slowParameter(options) },
    skipped: null,
    limited_by: others ? 'others' : isLate ? 'client' : 'none',
    load: loadOf(samples.map(({ usage }) => usage)),
    figures,
    rivals: [],
  };
}
