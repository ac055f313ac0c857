// `bench --guard --false-alarms N`: a clean tree beside another build of its own commit, N times, as CI runs the guard.
// Nothing differs, so each figure that a run calls worse is a false alarm.
import type { Arguments } from '../suite/arguments.ts';
import { readCommit } from '../suite/build.ts';
import { CannotRun } from '../suite/failure.ts';
import { exitCodeOf, figureOf } from '../suite/figures.ts';
import { describeCommit, type Results, type Scenario } from '../suite/results.ts';
import { compareBuilds, undecidedOf } from './against-base.ts';
import { readBands } from './bands.ts';
import { ensureBaseBuild, isSameProgram } from './base-build.ts';
import { figuresOfRuns, measureRuns } from './counts.ts';

/** So many runs may have one alarm. Fewer runs give no verdict. */
const runsOfAlarm = 50;

/** One run of a part of the guard. */
export interface PartResult {
  /** As the suite ends. */
  readonly code: 0 | 1 | 3;
  readonly worse: readonly string[];
}

/** Exit code without a verdict: CI measures once more, and the second run decides. */
const repeatedCode = 3;

export interface GuardPart {
  readonly name: string;
  readonly measure: (run: number) => Promise<PartResult>;
}

export interface AlarmRun {
  /** Figures that the run called worse, after the repeat. */
  readonly worse: readonly string[];
}

export async function measureAlarms(parts: readonly GuardPart[], run: number): Promise<AlarmRun> {
  const worse: string[] = [];
  for (const { measure } of parts) {
    const first = await measure(2 * run);
    const result = first.code === repeatedCode ? await measure(2 * run + 1) : first;
    if (result.code === 1) worse.push(...result.worse);
  }
  return { worse };
}

export const alarmsOf = (runs: readonly AlarmRun[]): number =>
  runs.filter(({ worse }) => worse.length > 0).length;

/** 3 with fewer than 50 runs, else 1 for more than one alarm in 50 runs. */
export const exitCodeOfAlarms = (runs: readonly AlarmRun[]): 0 | 1 | 3 => {
  if (runs.length < runsOfAlarm) return 3;
  return alarmsOf(runs) * runsOfAlarm > runs.length ? 1 : 0;
};

export function formatAlarms(runs: readonly AlarmRun[]): string {
  const count = alarmsOf(runs);
  const ids = runs.flatMap(({ worse }) => worse);
  const figures = [...new Set(ids)].map((id) => `  ${id}: ${ids.filter((one) => one === id).length}`);
  const limit = `at most 1 in ${runsOfAlarm} is allowed`;
  const verdict = runs.length < runsOfAlarm ? `no verdict from fewer than ${runsOfAlarm} runs` : limit;
  return [`False alarms: ${count} in ${runs.length} runs; ${verdict}`, ...figures, ''].join('\n');
}

const scenarioName = 'false_alarms';

/** The parameter that names the figures of a run with an alarm. */
const alarmName = (run: number): string => `alarm_${run + 1}`;

export const alarmScenario = (runs: readonly AlarmRun[]): Scenario => ({
  name: scenarioName,
  parameters: {
    runs: runs.length,
    alarms: alarmsOf(runs),
    ...Object.fromEntries(
      runs.flatMap(({ worse }, n) => (worse.length > 0 ? [[alarmName(n), worse.join(', ')]] : [])),
    ),
  },
  skipped: null,
  limited_by: 'none',
  load: { hub_cores: null, client_cores: null, other_cores: null, hub_rss_bytes: null },
  figures: [
    figureOf({
      id: 'false_alarms.figures',
      what: 'figures that each run called worse although nothing differs',
      unit: 'figures',
      better: 'lower',
      rounds: runs.map(({ worse }) => worse.length),
    }),
  ],
  rivals: [],
});

/**
 * Runs of a results file, which a further command goes on from.
 * @param sha the commit that is measured; the file may be of another one with the same hub and suite
 * @throws CannotRun for a file of something else, which would be lost
 */
export function earlierRuns({ commit, scenarios }: Results, sha: string): readonly AlarmRun[] {
  const { parameters, figures } = scenarios.find(({ name }) => name === scenarioName) ?? {};
  if (!parameters || !figures?.[0]) {
    throw new CannotRun('The file of --json exists and holds no false alarms. Name another file.');
  }
  if (commit.sha === null || commit.dirty !== false || !isSameProgram(commit.sha, sha)) {
    throw new CannotRun(
      `The file of --json holds false alarms of commit ${describeCommit(commit, 8)}, whose hub or suite is not ` +
        `that of ${sha.slice(0, 8)}. Name another file.`,
    );
  }
  return figures[0].rounds.map((_, n) => ({
    worse: String(parameters[alarmName(n)] ?? '')
      .split(', ')
      .filter(Boolean),
  }));
}

/** @throws CannotRun for a tree with changes, whose build can differ from that of its commit */
export function cleanCommit(hub: string): string {
  const { sha, dirty } = readCommit(hub);
  if (sha === null) throw new CannotRun(`${hub} is no clone, so it has no commit to compare with.`);
  if (dirty !== false) {
    throw new CannotRun('The tree has changes, which could be real alarms. Commit or stash the changes.');
  }
  return sha;
}

interface AlarmProgress {
  readonly report: (text: string, share: number) => void;
  readonly onRun: (scenarios: readonly Scenario[]) => void;
  /** What the file of `--json` holds, or null. */
  readonly earlier: Results | null;
}

/** @returns the scenario for the results file, and the exit code */
export async function runFalseAlarms(
  args: Arguments,
  hub: string,
  { report, onRun, earlier }: AlarmProgress,
) {
  const sha = cleanCommit(hub);
  const runs: AlarmRun[] = earlier === null ? [] : [...earlierRuns(earlier, sha)];
  if (runs.length > 0) process.stderr.write(`guard: going on after ${runs.length} runs of ${args.json}\n`);
  const base = ensureBaseBuild(sha);
  const bands = readBands();
  const total = args.falseAlarms ?? runsOfAlarm;
  // Without the share of the part: how often a part is repeated is not known before.
  const reportPart = (text: string): void =>
    report(`run ${runs.length + 1} of ${total}, ${text}`, runs.length / total);
  const reportUndecided = (ids: readonly string[]): void => {
    if (ids.length > 0) reportPart(`no verdict about ${ids.join(', ')}`);
  };
  const parts: readonly GuardPart[] = [
    {
      name: 'counts',
      async measure(run) {
        const seeded = { ...args, seed: args.seed + run };
        const measured = await measureRuns(seeded, hub, args.rounds, (text) => reportPart(`counts, ${text}`));
        const figures = figuresOfRuns(measured, bands);
        const worse = figures.filter(({ verdict }) => verdict === 'missed').map(({ id }) => id);
        reportUndecided(figures.filter(({ verdict }) => verdict === 'no_verdict').map(({ id }) => id));
        return { code: exitCodeOf(figures), worse };
      },
    },
    {
      name: 'base',
      async measure(run) {
        const seeded = { ...args, seed: args.seed + run };
        const { comparisons } = await compareBuilds(seeded, { base, tree: hub }, reportPart);
        const worse = comparisons.filter(({ word }) => word === 'worse').map(({ id }) => id);
        reportUndecided(undecidedOf(comparisons));
        // Figures without a verdict had further rounds; CI goes on with the counts of the same run.
        return { code: worse.length > 0 ? 1 : 0, worse };
      },
    },
  ];
  for (let n = runs.length; n < total; n++) {
    runs.push(await measureAlarms(parts, n));
    onRun([alarmScenario(runs)]);
    report(`run ${n + 1} of ${total}: ${runs.at(-1)?.worse.join(', ') || 'no alarm'}`, (n + 1) / total);
  }
  process.stdout.write(formatAlarms(runs));
  return { scenario: alarmScenario(runs), code: exitCodeOfAlarms(runs) };
}
