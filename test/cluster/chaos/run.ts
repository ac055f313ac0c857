// The long form: every promise under many seeds, with progress, a table at the end, and exit code 1 when one was
// broken.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeReport, type Report, type Size } from './figures.ts';
import { type Fleet, startEmbedded, startFleet } from './fleet.ts';
import { suites as all, embedded } from './promises/index.ts';
import { attempt } from './trial.ts';

const help = `Breaks a cluster of three hubs on purpose, and checks that it keeps its promises.

Usage: npm run test:chaos -- [options]

  --seeds N       seeds 1 to N [1]; M-N: seeds M to N
  --seed S        this seed alone, whatever text it is
  --promises L    only these, by number, comma separated, in this order [all]
  --short         the sizes that the tests run, instead of the promises' own numbers
  --embedded      one embedded hub with kill -9, for the promises that it keeps too
  --logs FOLDER   what the nodes said, when a promise was broken
  --json          reports as JSON, one a line, on standard output
  --help          this text

A seed decides who is killed, cut and called, and when. The same seed plans the same again; what the processes make of it may differ.
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    seed: { type: 'string' },
    promises: { type: 'string' },
    short: { type: 'boolean', default: false },
    embedded: { type: 'boolean', default: false },
    logs: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const say = (text: string): void => void process.stderr.write(`${text}\n`);

function wanted(): { readonly seeds: readonly string[]; readonly suites: typeof all } {
  const [, from = '1', to = ''] = /^(?:(\d{1,4})-)?(\d{1,4})$/.exec(values.seeds) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (first < 1 || last < first) throw new Error('--seeds is a number, as 20, or a range, as 11-20');
  const seeds =
    values.seed === undefined
      ? Array.from({ length: last - first + 1 }, (_, i) => String(first + i))
      : [values.seed];
  const known = values.embedded ? embedded : all;
  if (values.promises === undefined) return { seeds, suites: known };
  const numbers = values.promises.split(',').map(Number);
  const suites = numbers.flatMap((number) => known.find(({ promise }) => promise === number) ?? []);
  if (suites.length !== numbers.length)
    throw new Error(`--promises: there is no such one in ${values.promises}`);
  return { seeds, suites };
}

async function keepLogs(folder: string, fleet: Fleet, { promise, seed }: Report): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [i, { name }] of fleet.nodes.entries()) {
    await writeFile(join(folder, `${promise}-${seed}-${name}.log`), fleet.output(i));
  }
}

/** A row per promise: how often it was kept, and the figures of its last run. */
function table(reports: readonly Report[]): string {
  const rows = new Map<number, Report[]>();
  for (const report of reports) rows.set(report.promise, [...(rows.get(report.promise) ?? []), report]);
  const lines = ['| Promise | kept | seconds a run | figures of the last run |', '|---|---|---|---|'];
  for (const [promise, runs] of [...rows].sort(([a], [b]) => a - b)) {
    const kept = runs.filter(({ violations }) => violations.length === 0).length;
    const seconds = runs.reduce((sum, run) => sum + run.seconds, 0) / runs.length;
    const figures = Object.entries(runs.at(-1)?.figures ?? {}).map(([name, value]) => `${name}: ${value}`);
    lines.push(
      `| ${promise}. ${runs[0]?.title} | ${kept} of ${runs.length} | ${seconds.toFixed(1)} | ${figures.join('; ')} |`,
    );
  }
  return lines.join('\n');
}

async function run(): Promise<void> {
  if (values.help) {
    process.stdout.write(help);
    return;
  }
  const { seeds, suites } = wanted();
  const size: Size = values.short ? 'short' : 'long';
  const start = () => (values.embedded ? startEmbedded() : startFleet());
  let fleet: Fleet | null = null;
  const reports: Report[] = [];
  const stop = async () => {
    await fleet?.close();
    process.exit(130);
  };
  process.once('SIGINT', () => void stop());
  process.once('SIGTERM', () => void stop());
  try {
    for (const seed of seeds) {
      for (const suite of suites) {
        fleet ??= await start();
        const report = await attempt(suite, fleet, seed, size);
        reports.push(report);
        say(describeReport(report));
        if (values.logs && report.violations.length > 0) await keepLogs(values.logs, fleet, report);
        if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
        // A fleet that cannot be mended must not spoil the runs that follow, nor what one seed has stored those of
        // another.
        const lost = report.violations.some((line) => line.startsWith('the fleet did not come back'));
        if (!lost && suite !== suites.at(-1)) continue;
        await fleet.close();
        fleet = null;
      }
    }
  } finally {
    await fleet?.close();
  }
  const broken = reports.filter(({ violations }) => violations.length > 0).length;
  say(`\n${table(reports)}\n\n${reports.length - broken} of ${reports.length} runs kept their promise.`);
  if (broken > 0) process.exitCode = 1;
}

run().catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
