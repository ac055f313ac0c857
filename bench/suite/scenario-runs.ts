// Runs scenarios one after another, with progress and the time left on stderr. Among several, a scenario that cannot
// run does not end the others.
import { scenarios } from '../scenarios/index.ts';
import { skippedScenario } from '../scenarios/scenario.ts';
import { type Arguments, type RunSettings, UsageFault } from './arguments.ts';
import { CannotRun } from './failure.ts';
import { exitCodeOf, hasFewCalls, leastRounds } from './figures.ts';
import { formatDuration, formatScenario } from './print.ts';
import type { Figure, Scenario } from './results.ts';

export type Report = (text: string, share: number) => void;

/** Prints progress with the time left, by the share of the run that is done. */
export function progressOf(name: string): Report {
  const began = performance.now();
  return (text, share) => {
    const elapsed = (performance.now() - began) / 1000;
    const left = share > 0 && share < 1 ? `, ${formatDuration((elapsed / share) * (1 - share))} left` : '';
    process.stderr.write(`${name}: ${text}${left}\n`);
  };
}

export interface ScenarioRun {
  readonly scenario: string;
  /** In place of the defaults; options on the command line come first. Default: none */
  readonly settings?: Partial<RunSettings>;
  /** False: a figure with too few rounds for a verdict has no target. Default: true */
  readonly needsVerdicts?: boolean;
  /** A percentile with too few calls for a verdict has no target. Default: false */
  readonly isShort?: boolean;
}

/** Where the default size takes hours, also with `--full`. */
const largestSizes: { readonly [scenario: string]: Partial<RunSettings> } = {
  // The stand-in for MongoDB takes a minute for them.
  move: { rows: 3000 },
};

export const runsOf = (names: readonly string[]): readonly ScenarioRun[] =>
  names.map((scenario) => ({ scenario, settings: largestSizes[scenario] ?? {} }));

/** A run that is too short by design can end with 0: what it cannot decide has no target. */
export function withoutShortTargets(
  scenario: Scenario,
  { needsVerdicts = true, isShort = false }: Pick<ScenarioRun, 'needsVerdicts' | 'isShort'>,
): Scenario {
  const isTooShort = (figure: Figure): boolean =>
    (!needsVerdicts && figure.rounds.length < leastRounds) ||
    (isShort && (figure.rounds.length === 0 || hasFewCalls(figure)));
  return {
    ...scenario,
    figures: scenario.figures.map((figure) =>
      isTooShort(figure) ? { ...figure, target: null, verdict: 'no_target' } : figure,
    ),
  };
}

export interface MeasuredRuns {
  readonly scenarios: readonly Scenario[];
  /** Of the suite: 1 for a missed target, else 2 for a scenario that could not run, else as `exitCodeOf`. */
  readonly code: number;
}

interface RunContext {
  readonly args: Arguments;
  /** A built checkout. */
  readonly hub: string;
  /** Called after each scenario with the results so far. */
  readonly onScenario?: (scenarios: readonly Scenario[]) => void;
}

type SizedRun = Pick<RunSettings, 'rounds' | 'seconds'>;

/** Seconds that starting servers and filling stores take beside the rounds, roughly. */
const startSeconds = 10;
const weightOf = ({ rounds, seconds }: SizedRun): number => startSeconds + rounds * seconds;

export const settingsOf = ({ settings = {} }: ScenarioRun, args: Arguments): Arguments => ({
  ...args,
  ...settings,
  ...args.sizes,
});

async function runScenario(run: ScenarioRun, { args, hub }: RunContext): Promise<Scenario> {
  const { scenario: name } = run;
  const program = scenarios[name];
  if (!program) throw new Error(`There is no scenario ${name}.`);
  if (args.url !== null && program.ownHub !== undefined) {
    return skippedScenario(name, `it does not measure a hub of others: ${program.ownHub}`);
  }
  process.stderr.write(`${name}: ${program.about}\n`);
  const measured = await program.run({ ...settingsOf(run, args), hub, report: progressOf(name) });
  const scenario = withoutShortTargets(measured, run);
  if (args.url === null) return scenario;
  return { ...scenario, parameters: { ...scenario.parameters, url: new URL(args.url).origin } };
}

/** The scenario as skipped, with the reason. @throws UsageFault as it came */
function failedScenario(name: string, error: unknown): Scenario {
  if (error instanceof UsageFault) throw error;
  const message = error instanceof Error ? error.message : String(error);
  const detail = error instanceof Error && !(error instanceof CannotRun) ? error.stack : message;
  process.stderr.write(`${name} could not run: ${detail}\n`);
  return skippedScenario(name, `it could not run: ${message}`);
}

/** @throws UsageFault; and the error of the only scenario */
export async function measureScenarios(
  runs: readonly ScenarioRun[],
  context: RunContext,
): Promise<MeasuredRuns> {
  const results: Scenario[] = [];
  let failures = 0;
  const weights = runs.map((run) => weightOf(settingsOf(run, context.args)));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const reportWhole = progressOf('bench');
  let done = 0;
  for (const [n, run] of runs.entries()) {
    let scenario: Scenario;
    try {
      scenario = await runScenario(run, context);
    } catch (error) {
      if (runs.length === 1) throw error;
      scenario = failedScenario(run.scenario, error);
      failures++;
    }
    results.push(scenario);
    context.onScenario?.(results);
    process.stdout.write(formatScenario(scenario));
    done += weights[n] ?? 0;
    if (runs.length > 1) reportWhole(`${n + 1} of ${runs.length} scenarios`, done / whole);
  }
  const code = exitCodeOf(results.flatMap(({ figures }) => figures));
  return { scenarios: results, code: failures > 0 && code !== 1 ? 2 : code };
}
