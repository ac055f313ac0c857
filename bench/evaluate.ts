// Time to decide one call against 100 contracts that all look at its tool and all pass, so that none is skipped, beside
// a bound of the same run: the same 100 conditions written by hand in the host language with its own patterns, without
// records, modes or messages. On a machine with other work a p99 tells of that work: `machine` is a loop that only
// waits as long as an evaluation's p50 takes. Prints p50 and p99 per round, and whether p99 is within 0.2 ms.
import { compileBundle, dryRun, evaluateCall } from 'reeve-agent/rules';
import { bundleOf } from './contract-bundle.ts';
import { median } from './numbers.ts';
import { readOptions } from './options.ts';

const {
  rounds,
  calls: repeats,
  json,
} = readOptions({
  program: 'evaluate',
  options: {
    rounds: { about: 'rounds', default: 5, atLeast: 3 },
    calls: { about: 'calls of a round', default: 20_000 },
  },
});
const contracts = 100;
const goalMs = 0.2;

interface Call {
  readonly tool: string;
  readonly environment: string;
  readonly principal: { readonly role: string };
  readonly args: {
    readonly path: string;
    readonly command: string;
    readonly body: string;
    readonly size: number;
  };
}

/** Conditions of many shapes; each with the same test written by hand. */
const conditions: readonly [yaml: string, byHand: (call: Call) => boolean][] = [
  ['args.path: {matches: "\\\\.(env|pem|key)$"}', ({ args }) => /\.(env|pem|key)$/.test(args.path)],
  [
    'args.path: {contains_any: ["/etc/shadow", "/root/.ssh"]}',
    ({ args }) => ['/etc/shadow', '/root/.ssh'].some((part) => args.path.includes(part)),
  ],
  [
    'args.command: {matches: "\\\\brm\\\\s+-[a-z]*[rf]"}',
    ({ args }) => /\brm\s+-[a-z]*[rf]/.test(args.command),
  ],
  [
    'all: [{environment: {equals: production}}, {principal.role: {in: [intern, guest]}}]',
    ({ environment, principal }) =>
      environment === 'production' && ['intern', 'guest'].includes(principal.role),
  ],
  [
    'args.body: {matches: "(?i)drop\\\\s+table|truncate\\\\s+\\\\w+"}',
    ({ args }) => /drop\s+table|truncate\s+\w+/i.test(args.body),
  ],
  [
    'any: [{args.size: {gt: 1000000}}, {args.path: {starts_with: "/proc/"}}]',
    ({ args }) => args.size > 1_000_000 || args.path.startsWith('/proc/'),
  ],
  ['not: {args.path: {exists: true}}', ({ args }) => args.path === undefined],
  [
    'args.body: {matches_any: ["AKIA[0-9A-Z]{16}", "-----BEGIN [A-Z ]*PRIVATE KEY", "\\\\d{3}-\\\\d{2}-\\\\d{4}"]}',
    ({ args }) =>
      [/AKIA[0-9A-Z]{16}/, /-----BEGIN [A-Z ]*PRIVATE KEY/, /\d{3}-\d{2}-\d{4}/].some((one) =>
        one.test(args.body),
      ),
  ],
];
const judges = Array.from(
  { length: contracts },
  (_, i) => conditions[i % conditions.length] ?? (['', () => false] as const),
);
const byHand = judges.map(([, judge]) => judge);

const started = performance.now();
const compiled = compileBundle(bundleOf(judges.map(([when]) => when)));
if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
const { bundle } = compiled;
const compileMs = performance.now() - started;

/** Calls that differ, as an agent's do: the same texts again and again would measure caches. */
const calls: Call[] = Array.from({ length: 1_000 }, (_, i) => ({
  tool: `write_${i % 7}`,
  environment: i % 2 ? 'production' : 'staging',
  principal: { role: 'analyst' },
  args: {
    path: `/workspace/reports/${2000 + i}/summary-of-quarter-${i % 4}.md`,
    command: `cat reports/${i}/summary.md`,
    body: `The quarterly numbers of ${i} are attached; see table ${i % 9} for the split by region and the notes below it.`,
    size: 4_096 + i,
  },
}));
const counters = { attempts: 1, executions: 0, toolExecutions: 0 };
for (const call of calls) {
  const { verdict, records } = evaluateCall(bundle, call, { counters });
  if (verdict !== 'allow' || records.length !== contracts || byHand.some((test) => test(call)))
    throw new Error('every call is meant to be looked at, and passed, by every contract');
}

const subjects: { readonly [name: string]: (call: Call) => unknown } = {
  evaluateCall: (call) => evaluateCall(bundle, call, { counters }),
  dryRun: (call) => dryRun(bundle, call),
  bound: (call) => byHand.filter((test) => test(call)).length,
  machine: () => {
    for (const end = performance.now() + evaluationMs; performance.now() < end; );
  },
};
/** What `machine` waits; known after the first round. */
let evaluationMs = 0;

function measure(run: (call: Call) => unknown): { p50: number; p99: number } {
  const times = new Float64Array(repeats);
  for (let i = 0; i < repeats; i++) {
    const call = calls[i % calls.length] as Call;
    const before = performance.now();
    run(call);
    times[i] = performance.now() - before;
  }
  times.sort();
  const at = (share: number) => times[Math.floor(repeats * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

const results = Array.from({ length: rounds + 1 }, () => {
  const round = Object.entries(subjects).map(([name, run]) => {
    const times = measure(run);
    if (name === 'evaluateCall') evaluationMs = times.p50;
    return [name, times] as const;
  });
  return Object.fromEntries(round);
}).slice(1); // The first round only warms up.

const middle = (name: string): number => median(results.map((round) => round[name]?.p99 ?? 0));
const p99 = middle('evaluateCall');
const noise = middle('machine');
if (json) process.stdout.write(`${JSON.stringify({ contracts, compileMs, goalMs, p99, noise, results })}\n`);
else {
  const out = (line: string) => process.stdout.write(`${line}\n`);
  const us = (ms = 0) => `${(ms * 1000).toFixed(1)} µs`.padStart(10);
  out(`compile ${contracts} contracts: ${compileMs.toFixed(1)} ms; then ${repeats} calls a round`);
  for (const [i, round] of results.entries())
    for (const [name, times] of Object.entries(round)) {
      const ratio = (times.p50 / (round.bound?.p50 ?? 1)).toFixed(1);
      const peer = name === 'bound' || name === 'machine' ? '' : `  ${ratio} times the bound's p50`;
      out(`round ${i + 1}  ${name.padEnd(12)} p50 ${us(times.p50)}  p99 ${us(times.p99)}${peer}`);
    }
  const verdict = p99 <= goalMs ? 'met' : noise > goalMs ? 'cannot be told beside other work' : 'not met';
  out(
    `median p99 of evaluateCall ${us(p99).trim()}, of the machine ${us(noise).trim()}; the goal of ${us(goalMs).trim()}: ${verdict}`,
  );
}
