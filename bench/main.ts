// npm run bench: the benchmark suite. Results on stdout, progress on stderr.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { runGuard } from './guard/against-base.ts';
import { runBands, runCounts } from './guard/counts.ts';
import { rivalsOf } from './rivals/index.ts';
import { runRivals } from './rivals/install.ts';
import { scenarios } from './scenarios/index.ts';
import { nightlyRuns } from './scenarios/nightly.ts';
import { skippedScenario } from './scenarios/scenario.ts';
import {
  type Arguments,
  helpText,
  parseArguments,
  type RunSettings,
  UsageFault,
  unknownName,
} from './suite/arguments.ts';
import { ensureBuild, readCommit, readVersions } from './suite/build.ts';
import { compareResults, exitCodeOfComparisons, formatComparison } from './suite/compare.ts';
import { replaceTables, tablesOf, tablesPage } from './suite/documents.ts';
import { CannotRun } from './suite/failure.ts';
import { exitCodeOf } from './suite/figures.ts';
import { describeMachine } from './suite/machine.ts';
import { formatDuration, formatScenario } from './suite/print.ts';
import { checkTarget, cleanRun, readAccess, signIn } from './suite/remote.ts';
import { reportOf } from './suite/report.ts';
import { parseResults, type Results, resultsSchemaName, type Scenario } from './suite/results.ts';
import { root } from './suite/root.ts';
import {
  checkPredictions,
  costsOf,
  exitCodeOfChecks,
  formatChecks,
  formatPredictions,
  maxMeasuredStreams,
  predictScale,
} from './suite/scale.ts';

type Report = (text: string, share: number) => void;

const commands: readonly (readonly [string, string])[] = [
  ...Object.entries(scenarios).map(([name, { about }]) => [name, about] as const),
  ['counts', 'counts of statements, bytes and encodings against bench/bands.json'],
  ['compare A B', 'compare two results files; ends with 1 when a figure is clearly more than 10 % worse'],
  ['rivals [install NAME…]', 'list other servers that --rivals measures, or build them into .cache/rivals'],
  ['docs FILE…', 'write the tables of docs/performance.md from results files'],
  ['scale [FILE…]', 'predict what --agents N take, from results files or from runs of at most 5,000 streams'],
  ['report FILE…', 'write one HTML file with tables and charts of one or several results files'],
];
const commandNames = [...Object.keys(scenarios), 'counts', 'compare', 'docs', 'report', 'rivals', 'scale'];

/** Prints progress with the time left, by the share of the run that is done. */
function progressOf(name: string): Report {
  const began = performance.now();
  return (text, share) => {
    const elapsed = (performance.now() - began) / 1000;
    const left = share > 0 && share < 1 ? `, ${formatDuration((elapsed / share) * (1 - share))} left` : '';
    process.stderr.write(`${name}: ${text}${left}\n`);
  };
}

interface Measurement {
  readonly scenarios: readonly Scenario[];
  readonly code: number;
}

/** Measures on a built hub (the guard's needs no web console), and writes the results where `--json` asks for them. */
async function measure(args: Arguments, run: (hub: string) => Promise<Measurement>): Promise<number> {
  if (args.hub === null && args.url === null) ensureBuild(args.guard ? 'build:quick' : 'build');
  const hub = resolve(args.hub ?? root);
  const began = performance.now();
  const started = new Date().toISOString();
  const machine = await describeMachine();
  const { scenarios, code } = await run(hub);
  const file: Results = {
    schema: resultsSchemaName,
    started_at: started,
    seconds: (performance.now() - began) / 1000,
    command: ['bench', ...process.argv.slice(2)],
    seed: args.seed,
    commit: readCommit(hub),
    versions: readVersions(hub),
    machine,
    scenarios: [...scenarios],
  };
  if (args.html !== null) writeFileSync(args.html, reportOf([{ name: 'this run', results: file }]));
  if (args.json !== null) writeFileSync(args.json, `${JSON.stringify(file, null, 1)}\n`);
  return code;
}

interface ScenarioRun {
  readonly scenario: string;
  /** In place of the options. Default: none */
  readonly settings?: Partial<RunSettings>;
}

const runsOf = (names: readonly string[]): readonly ScenarioRun[] => names.map((scenario) => ({ scenario }));

async function measureScenarios(
  runs: readonly ScenarioRun[],
  args: Arguments,
  hub: string,
): Promise<Scenario[]> {
  const results: Scenario[] = [];
  for (const { scenario: name, settings = {} } of runs) {
    const program = scenarios[name];
    if (!program) continue;
    const scenario =
      args.url !== null && program.ownHub !== undefined
        ? skippedScenario(name, `it does not measure a hub of others: ${program.ownHub}`)
        : await program.run({ ...args, ...settings, hub, report: progressOf(name) });
    results.push(scenario);
    process.stdout.write(formatScenario(scenario));
  }
  return results;
}

const runScenarios = (runs: readonly ScenarioRun[], args: Arguments): Promise<number> =>
  measure(args, async (hub) => {
    const results = await measureScenarios(runs, args, hub);
    return { scenarios: results, code: exitCodeOf(results.flatMap(({ figures }) => figures)) };
  });

/** Of results files, or of short runs. */
async function runScale(files: readonly string[], args: Arguments): Promise<number> {
  const print = (results: readonly Pick<Results, 'scenarios'>[]): number => {
    const costs = costsOf(results);
    process.stdout.write(formatPredictions(args.agents, predictScale(args.agents, costs)));
    if (args.check === null) return 0;
    const checks = checkPredictions(costs, costsOf([readResults(args.check)]));
    process.stdout.write(formatChecks(checks));
    return exitCodeOfChecks(checks);
  };
  if (files.length > 0) return print(files.map(readResults));
  if (args.url !== null) throw new UsageFault('scale starts hubs of its own: it takes no --url.');
  return measure(args, async (hub) => {
    const streams = { ...args, agents: Math.min(args.agents, maxMeasuredStreams) };
    const results = await measureScenarios(runsOf(['idle', 'storm', 'fanout', 'owner']), streams, hub);
    return { scenarios: results, code: print([{ scenarios: results }]) };
  });
}

const runCountsCommand = (args: Arguments): Promise<number> =>
  measure(args, async (hub) => {
    if (args.writeBands) {
      await runBands(args, hub, progressOf('counts'));
      return { scenarios: [], code: 0 };
    }
    const { scenario, code } = await runCounts(args, hub, progressOf('counts'));
    return { scenarios: [scenario], code };
  });

const runGuardCommand = (args: Arguments): Promise<number> =>
  measure(args, async (hub) => {
    const { scenario, code } = await runGuard(args, hub, progressOf('guard'));
    return { scenarios: [scenario], code };
  });

function readResults(file: string): Results {
  try {
    return parseResults(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CannotRun(`${file} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

function runCompare(files: readonly string[], seed: number): number {
  const [before, after, ...rest] = files;
  if (before === undefined || after === undefined || rest.length > 0) {
    throw new UsageFault('compare takes two results files: compare before.json after.json.');
  }
  const comparisons = compareResults(readResults(before), readResults(after), seed);
  for (const comparison of comparisons) process.stdout.write(formatComparison(comparison));
  return exitCodeOfComparisons(comparisons);
}

async function runClean(url: string, runName: string): Promise<number> {
  const admin = await signIn(url, readAccess(process.env), runName);
  process.stdout.write(`Removed API keys of ${runName}: ${await cleanRun(admin, runName)}.\n`);
  return 0;
}

function runReport(files: readonly string[], html: string | null): number {
  if (files.length === 0 || html === null) {
    throw new UsageFault(
      'report takes results files and a name for the report: report run.json --html run.html.',
    );
  }
  writeFileSync(html, reportOf(files.map((file) => ({ name: basename(file), results: readResults(file) }))));
  return 0;
}

function runDocs(files: readonly string[]): number {
  if (files.length === 0) throw new UsageFault('docs takes results files: docs bench/reference/*.json.');
  const page = join(root, tablesPage);
  const tables = tablesOf(files.map((file) => ({ name: basename(file), results: readResults(file) })));
  writeFileSync(page, replaceTables(readFileSync(page, 'utf8'), tables));
  return 0;
}

async function run(argv: readonly string[]): Promise<number> {
  const args = parseArguments(argv);
  if (args.help) {
    process.stdout.write(helpText(commands));
    return 0;
  }
  if (args.list) {
    for (const [name, { about }] of Object.entries(scenarios)) process.stdout.write(`${name}  ${about}\n`);
    return 0;
  }
  rivalsOf(args.rivals);
  const [command, ...rest] = args.words;
  if (args.guard) {
    if (command !== undefined) throw new UsageFault(`--guard takes no command: ${command}.`);
    return runGuardCommand(args);
  }
  if (args.nightly) {
    if (command !== undefined) throw new UsageFault(`--nightly takes no command: ${command}.`);
    return runScenarios(nightlyRuns, args);
  }
  if (args.url !== null) checkTarget(args.url, args.yesLoad);
  if (args.clean !== null) {
    if (args.url === null) throw new UsageFault('--clean goes with --url.');
    return runClean(args.url, args.clean);
  }
  if (args.check !== null && command !== 'scale') throw new UsageFault('--check goes with scale.');
  if (args.base !== null) throw new UsageFault('--base goes with --guard.');
  if (command === undefined) return runScenarios(runsOf(Object.keys(scenarios)), args);
  if (command === 'report') return runReport(rest, args.html);
  if (command === 'scale') return runScale(rest, args);
  if (command === 'docs') return runDocs(rest);
  if (command === 'rivals') {
    runRivals(rest, (line) => void process.stdout.write(`${line}\n`));
    return 0;
  }
  if (command === 'compare') return runCompare(rest, args.seed);
  if (!commandNames.includes(command)) {
    throw new UsageFault(unknownName('scenario or command', command, commandNames));
  }
  if (rest.length > 0) throw new UsageFault(`${command} takes no further word: ${rest[0]}.`);
  return command === 'counts' ? runCountsCommand(args) : runScenarios(runsOf([command]), args);
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  // Hubs and their folders go with the process: see startBenchHub.
  process.once(signal, () => process.exit(code));
}

run(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    const isPlain = error instanceof UsageFault || error instanceof CannotRun;
    const text = error instanceof Error ? (isPlain ? error.message : error.stack) : String(error);
    process.stderr.write(`${text}\n`);
    process.exit(2);
  },
);
