// npm run bench: the benchmark suite. Results on stdout, progress on stderr.
import { accessSync, constants, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { runGuard } from './guard/against-base.ts';
import { runBands, runCounts } from './guard/counts.ts';
import { cleanCommit, runFalseAlarms } from './guard/false-alarms.ts';
import { rivalsOf } from './rivals/index.ts';
import { runRivals } from './rivals/install.ts';
import { scenarios } from './scenarios/index.ts';
import { nightlyRunsOf } from './scenarios/nightly.ts';
import { shortRuns } from './scenarios/short.ts';
import { type Arguments, helpText, parseArguments, UsageFault, unknownName } from './suite/arguments.ts';
import { ensureBuild, readCommit, readVersions } from './suite/build.ts';
import { compareResults, exitCodeOfComparisons, formatComparison } from './suite/compare.ts';
import { replaceTables, tablesOf, tablesPage } from './suite/documents.ts';
import { CannotRun } from './suite/failure.ts';
import { checkBuild, checkSlowDowns } from './suite/hub.ts';
import { endBySignals, isInterrupted } from './suite/interrupt.ts';
import { describeMachine } from './suite/machine.ts';
import { cleanRun, readAccess, signIn } from './suite/remote.ts';
import { reportOf } from './suite/report.ts';
import { parseResults, type Results, resultsSchemaName, type Scenario } from './suite/results.ts';
import { root } from './suite/root.ts';
import {
  checkPredictions,
  exitCodeOfChecks,
  formatChecks,
  formatPredictions,
  measuredSizes,
  predictScale,
} from './suite/scale.ts';
import { measureScenarios, progressOf, runsOf, type ScenarioRun } from './suite/scenario-runs.ts';
import { costsOf, formatDisturbances } from './suite/stream-costs.ts';
import { checkUsage } from './suite/usage-check.ts';

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

interface Measurement {
  readonly scenarios: readonly Scenario[];
  readonly code: number;
}

/** @throws CannotRun for a file that could not be written after the run */
function checkFile(file: string | null): void {
  if (file === null) return;
  const folder = dirname(resolve(file));
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new Error('it is a folder');
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new CannotRun(`${file} cannot be written: ${error instanceof Error ? error.message : error}.`);
  }
}

/** Measures on a built hub (the guard's needs no web console), and writes the results where `--json` asks for them. */
async function measure(
  args: Arguments,
  run: (hub: string, save: (scenarios: readonly Scenario[]) => void) => Promise<Measurement>,
): Promise<number> {
  for (const file of [args.json, args.html]) checkFile(file);
  if (args.falseAlarms !== null) cleanCommit(resolve(args.hub ?? root));
  if (args.hub === null && args.url === null) ensureBuild(args.guard ? 'build:quick' : 'build');
  const hub = resolve(args.hub ?? root);
  if (args.url === null) checkBuild(hub);
  const began = performance.now();
  const started = new Date().toISOString();
  const machine = await describeMachine();
  const save = (measured: readonly Scenario[]): void => {
    const file: Results = {
      schema: resultsSchemaName,
      started_at: started,
      seconds: (performance.now() - began) / 1000,
      command: ['bench', ...process.argv.slice(2)],
      seed: args.seed,
      // The checkout says nothing about a hub that runs elsewhere.
      commit: args.url === null ? readCommit(hub) : { sha: null, dirty: null },
      versions: readVersions(args.url === null ? hub : null),
      machine,
      scenarios: [...measured],
    };
    if (args.html !== null) writeFileSync(args.html, reportOf([{ name: 'this run', results: file }]));
    if (args.json !== null) writeFileSync(args.json, `${JSON.stringify(file, null, 1)}\n`);
  };
  const { scenarios: measured, code } = await run(hub, save);
  save(measured);
  return code;
}

const runScenarios = (runs: readonly ScenarioRun[], args: Arguments): Promise<number> =>
  measure(args, (hub, save) => measureScenarios(runs, { args, hub, onScenario: save }));

/** Scenarios with costs of streams. A cluster is among them where the environment names its servers. */
const scaledScenarios = (): readonly string[] => {
  const { MONGODB_URL, REDIS_URL } = process.env;
  return ['idle', 'storm', 'fanout', 'owner', ...(MONGODB_URL && REDIS_URL ? ['cluster'] : [])];
};

/** Of results files, or of short runs. */
async function runScale(files: readonly string[], args: Arguments): Promise<number> {
  const larger = args.check === null ? null : readResults(args.check);
  const print = (results: Parameters<typeof costsOf>[0]): number => {
    const costs = costsOf(results);
    process.stdout.write(formatPredictions(args.agents, predictScale(args.agents, costs)));
    process.stdout.write(formatDisturbances(results));
    if (larger === null) return 0;
    const checks = checkPredictions(costs, costsOf([larger]));
    process.stdout.write(formatChecks(checks));
    return exitCodeOfChecks(checks);
  };
  if (files.length > 0) return print(files.map(readResults));
  return measure(args, async (hub, onScenario) => {
    const runs = measuredSizes(args.agents).flatMap((agents) =>
      scaledScenarios().map((scenario) => ({ scenario, settings: { agents } })),
    );
    // Sizes of the command line come before those of a run.
    const { agents: _, ...sizes } = args.sizes;
    const measured = await measureScenarios(runs, { args: { ...args, sizes }, hub, onScenario });
    const code = print([measured]);
    return { ...measured, code: measured.code === 2 ? 2 : code };
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

async function runGuardCommand(args: Arguments): Promise<number> {
  const file = args.falseAlarms === null ? null : args.json;
  const earlier = file !== null && existsSync(file) ? readResults(file) : null;
  return measure(args, async (hub, onRun) => {
    if (args.falseAlarms !== null) {
      const alarms = { report: progressOf('guard'), onRun, earlier };
      const { scenario, code } = await runFalseAlarms(args, hub, alarms);
      return { scenarios: [scenario], code };
    }
    const { scenario, code } = await runGuard(args, hub, progressOf('guard'));
    return { scenarios: [scenario], code };
  });
}

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
  checkFile(html);
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
    const width = Math.max(...Object.keys(scenarios).map((name) => name.length)) + 2;
    for (const [name, { about }] of Object.entries(scenarios)) {
      process.stdout.write(`${name.padEnd(width)}${about}\n`);
    }
    return 0;
  }
  rivalsOf(args.rivals);
  checkSlowDowns(args.slow);
  checkUsage(args);
  const [command, ...rest] = args.words;
  if (args.guard) return runGuardCommand(args);
  if (args.nightly) return runScenarios(nightlyRunsOf(args.words), args);
  if (args.clean !== null && args.url !== null) return runClean(args.url, args.clean);
  if (command === undefined) {
    return runScenarios(args.full ? runsOf(Object.keys(scenarios)) : shortRuns, args);
  }
  if (command === 'report') return runReport(rest, args.html);
  if (command === 'scale') return runScale(rest, args);
  if (command === 'docs') return runDocs(rest);
  if (command === 'rivals') {
    runRivals(rest, (line) => void process.stdout.write(`${line}\n`));
    return 0;
  }
  if (command === 'compare') return runCompare(rest, args.seed);
  const unknown = args.words.find((word) => !scenarios[word]);
  if (unknown === undefined) return runScenarios(runsOf([...new Set(args.words)]), args);
  if (!commandNames.includes(unknown)) {
    throw new UsageFault(unknownName('scenario or command', unknown, commandNames));
  }
  if (command !== 'counts') throw new UsageFault(`${unknown} does not go with ${command}.`);
  if (rest.length > 0) throw new UsageFault(`counts takes no further word: ${rest[0]}.`);
  return runCountsCommand(args);
}

endBySignals();

function fail(error: unknown): void {
  if (isInterrupted()) return;
  const isPlain = error instanceof UsageFault || error instanceof CannotRun;
  const text = error instanceof Error ? (isPlain ? error.message : error.stack) : String(error);
  // Ctrl-C ends hubs too, and the end of one may be read before this process's own signal.
  setTimeout(() => {
    process.stderr.write(`${text}\n`);
    process.exit(2);
  }, 100);
}

// Node's own code, 1, stands for a missed target.
process.on('uncaughtException', fail);

run(process.argv.slice(2)).then((code) => {
  if (!isInterrupted()) process.exit(code);
}, fail);
