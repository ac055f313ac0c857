// `bench counts`: the guard's figures of this tree against bench/bands.json.
import type { Arguments } from '../suite/arguments.ts';
import { CannotRun } from '../suite/failure.ts';
import { exitCodeOf, figureOf, maxOtherCores } from '../suite/figures.ts';
import { formatNumber } from '../suite/numbers.ts';
import { formatScenario } from '../suite/print.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { medianOf } from '../suite/statistics.ts';
import { type Bands, bandsOf, readBands, writeBands } from './bands.ts';
import { type GuardRun, guardFigures, measureBuild } from './measure.ts';

/** Runs that a new band rests on, at least. */
const bandRuns = 20;

type Report = (text: string, share: number) => void;

/** Cores of other work, the median of the runs; null where a run could not measure them. */
function otherCoresOf(runs: readonly GuardRun[]): number | null {
  const cores = runs.map(({ otherCores }) => otherCores).filter((value) => value !== null);
  return cores.length === runs.length ? medianOf(cores) : null;
}

/** Other work on the machine leaves times without a verdict; counts have one all the same. */
export function figuresOfRuns(runs: readonly GuardRun[], bands: Bands): Figure[] {
  const hasOthers = (otherCoresOf(runs) ?? 0) > maxOtherCores;
  return guardFigures.map(({ id, what, unit, kind }) => {
    const band = bands[id];
    // Memory that streams give back makes a figure negative, which a results file cannot hold.
    const rounds = runs.flatMap(({ values }) => {
      const value = values[id];
      return value === undefined ? [] : [Math.max(0, value)];
    });
    const figure = { id, what, unit, better: 'lower', rounds } as const;
    if (!band) return figureOf(figure);
    const target = { at_most: Number((band.value * (1 + band.band)).toPrecision(4)), of: 'value' } as const;
    return figureOf({ ...figure, target, isDisturbed: kind === 'time' && hasOthers });
  });
}

/** Lines for counts that are better than their bands allow, which a later change could lose unnoticed. */
export const describeGains = (figures: readonly Figure[], bands: Bands): readonly string[] =>
  figures.flatMap(({ id, median, verdict }) => {
    const band = bands[id];
    if (!band || median === null || verdict !== 'met' || median >= band.value * (1 - band.band)) return [];
    return [
      `${id} is ${formatNumber(median)}, below its band of ${formatNumber(band.value)}. ` +
        'Record the gain: npm run bench -- counts --write-bands',
    ];
  });

/** One run after another, each on a fresh hub. */
export async function measureRuns(
  args: Arguments,
  hub: string,
  count: number,
  report: Report,
): Promise<GuardRun[]> {
  const runs: GuardRun[] = [];
  for (let n = 0; n < count; n++) {
    runs.push(await measureBuild({ folder: hub, slow: args.slow, seed: args.seed * 1_000_003 + n * 101 }));
    report(`run ${n + 1} of ${count}`, (n + 1) / count);
  }
  return runs;
}

export const scenarioOfRuns = (
  runs: readonly GuardRun[],
  bands: Bands,
  slow: readonly string[],
): Scenario => ({
  name: 'counts',
  parameters: slow.length === 0 ? {} : { slow: slow.join(',') },
  skipped: null,
  limited_by: (otherCoresOf(runs) ?? 0) > maxOtherCores ? 'others' : 'none',
  load: { hub_cores: null, client_cores: null, other_cores: otherCoresOf(runs), hub_rss_bytes: null },
  figures: figuresOfRuns(runs, bands),
  rivals: [],
});

/** Measures new bands and writes them. */
export async function runBands(args: Arguments, hub: string, report: Report): Promise<void> {
  if (args.slow.length > 0) throw new CannotRun('A slow-down is no basis for bands. Leave --slow out.');
  const runs = await measureRuns(args, hub, Math.max(bandRuns, args.rounds), report);
  const values = runs.map((run) => run.values);
  const bands = bandsOf(values, readBands(), new Date().toISOString().slice(0, 10));
  writeBands(bands);
  for (const [id, { value, band, noise }] of Object.entries(bands)) {
    const warning = noise > 2 * band ? ' The noise is wider than the band.' : '';
    process.stdout.write(
      `${id}: ${value} ± ${band * 100} %, noise ${(noise * 100).toFixed(1)} %.${warning}\n`,
    );
  }
}

/** @returns the scenario for the results file, and the exit code */
export async function runCounts(args: Arguments, hub: string, report: Report) {
  const bands = readBands();
  const runs = await measureRuns(args, hub, args.rounds, report);
  const scenario = scenarioOfRuns(runs, bands, args.slow);
  process.stdout.write(formatScenario(scenario));
  for (const line of describeGains(scenario.figures, bands)) process.stdout.write(`${line}\n`);
  return { scenario, code: exitCodeOf(scenario.figures) };
}
