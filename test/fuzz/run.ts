// The command: plays for a given time and seed, prints progress and findings, and ends with 1 when there were any.
import { parseArgs } from 'node:util';
import type { AgentProgress } from '../../packages/agent/test/fuzz/fuzz.ts';
import { described, type Finding } from './findings.ts';
import { fuzz, type Progress } from './fuzz.ts';

const help = `Plays random valid and broken requests of all routes, streams and sockets, from several tenants with several roles,
against a real hub process, and says where it broke a rule: a 5xx other than 503, a stall of the event loop over 250 ms,
memory over its bound, a byte of one tenant at another, an answer over 4 MiB, a connection without an answer or without an end.

Usage: npm run fuzz -- [options]

  --seconds N      how long [60]; connections that are left open may take 90 s more to be judged
  --steps N        steps of each player, however long they take, in place of a time
  --seed S         what is played; any text [1]
  --rate N         steps a second that each of the 14 players may do [60]
  --stall-ms N     how long the event loop may stand still [250]
  --only L         only these players, comma separated: acme0 to acme3, bolt0 to bolt3, core0 to core3, stranger0, stranger1
  --findings FILE  appends each new finding to FILE, a line of JSON
  --profile        names the functions that ran in a stall
  --agent          plays the agent's side instead: --steps calls [10000] through guard, MCP proxy and hook each, against random
                   contracts; a call that runs although an independent reference refuses it is a finding. Takes --seed and --json
  --json           progress, findings and the report as JSON, one a line, on standard output
  --help           this text

A player's step depends on the seed, its name and its number, and on what it was answered before. [acme1:532] in a trace is step 532
of acme1: the same seed plays it again, though what others do meanwhile may differ.
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    steps: { type: 'string' },
    seed: { type: 'string', default: '1' },
    rate: { type: 'string', default: '60' },
    'stall-ms': { type: 'string', default: '250' },
    only: { type: 'string' },
    findings: { type: 'string' },
    profile: { type: 'boolean', default: false },
    agent: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const print = (text: string): void => void process.stdout.write(`${text}\n`);

function number(name: 'seconds' | 'steps' | 'rate' | 'stall-ms', max: number): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  process.stderr.write(`--${name} is a whole number from 1 to ${max}\n`);
  process.exit(2);
}

function line({ seconds, steps, statuses, stallMs, rss, heap, findings }: Progress): string {
  const answers = Object.entries(statuses).map(([status, count]) => `${status}:${count}`);
  return (
    `${String(seconds).padStart(5)} s  ${steps} steps  stall ${stallMs} ms  resident ${rss} MiB  heap ${heap} MiB  ` +
    `${findings} findings  ${answers.join(' ')}`
  );
}

/** Prints the progress of the agent's side, at most every ten seconds. */
function agentProgress(steps: number): (progress: AgentProgress) => void {
  const startedAt = Date.now();
  let printedAt = startedAt;
  return ({ steps: done, findings }) => {
    if (Date.now() - printedAt < 10_000) return;
    printedAt = Date.now();
    const seconds = Math.round((printedAt - startedAt) / 1000);
    const secondsLeft = Math.round((seconds / done) * (steps - done));
    if (values.json) print(JSON.stringify({ progress: { seconds, secondsLeft, steps: done, findings } }));
    else
      print(`${String(seconds).padStart(5)} s  ${done} calls  ${findings} findings  ${secondsLeft} s left`);
  };
}

async function playAgent(): Promise<void> {
  const { fuzzAgent } = await import('../../packages/agent/test/fuzz/fuzz.ts');
  // Generated contracts often name selectors that never match.
  process.removeAllListeners('warning');
  const steps = values.steps === undefined ? 10_000 : number('steps', 10_000_000);
  if (!values.json) print(`seed ${values.seed}, ${steps} calls through each surface`);
  const { findings, ran, refused } = await fuzzAgent({
    seed: values.seed,
    steps,
    onProgress: agentProgress(steps),
    onFinding: (finding) =>
      print(JSON.stringify(values.json ? { finding } : finding, null, values.json ? 0 : 2)),
  });
  print(JSON.stringify({ seed: values.seed, steps, ran, refused, findings: findings.length }));
  process.exitCode = findings.length === 0 ? 0 : 1;
}

function told(event: Progress | Finding): void {
  if (values.json) print(JSON.stringify('kind' in event ? { finding: event } : { progress: event }));
  else print('kind' in event ? described(event) : line(event));
}

if (values.help) {
  process.stdout.write(help);
} else if (values.agent) {
  await playAgent();
} else {
  const report = await fuzz({
    seed: values.seed,
    seconds: number('seconds', 86_400),
    steps: values.steps === undefined ? null : number('steps', 10_000_000),
    rate: number('rate', 10_000),
    stallMs: number('stall-ms', 60_000),
    file: values.findings ?? null,
    profiled: values.profile,
    only: values.only?.split(',') ?? null,
    told,
  });
  if (values.json) print(JSON.stringify({ report }));
  else {
    print(line(report));
    print(
      `resident at most ${report.peakRss} MiB; heap after collections ${report.collected.join(', ')} MiB`,
    );
    if (report.unreached.length > 0) print(`never answered 2xx: ${report.unreached.join(', ')}`);
    for (const { kind, place, count, worst } of report.found)
      print(`${kind}: ${place} (${count}×${worst > 0 ? `, worst ${worst}` : ''})`);
    print(report.found.length === 0 ? 'nothing found' : `${report.found.length} findings`);
  }
  process.exitCode = report.found.length === 0 ? 0 : 1;
}
