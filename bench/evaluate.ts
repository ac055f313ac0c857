// Time to decide one call against 100 contracts that all look at its tool, beside a bare walk over the same number of conditions.
// Run: npx tsx bench/evaluate.ts
import { compileBundle } from '../src/domain/evaluate/compile.ts';
import { evaluateCall } from '../src/domain/evaluate/live.ts';
import { dryRun } from '../src/domain/evaluate/playground.ts';

const conditions = [
  'args.path: {matches: "\\\\.(env|pem|key)$"}',
  'args.path: {contains_any: ["/etc/shadow", "/root/.ssh"]}',
  'args.command: {matches: "\\\\brm\\\\s+-[a-z]*[rf]"}',
  'all: [{environment: {equals: production}}, {principal.role: {in: [intern, guest]}}]',
  'args.body: {matches: "(?i)drop\\\\s+table|truncate\\\\s+\\\\w+"}',
  'any: [{args.size: {gt: 1000000}}, {args.path: {starts_with: "/proc/"}}]',
  'not: {args.path: {exists: true}}',
  'args.body: {matches_any: ["AKIA[0-9A-Z]{16}", "-----BEGIN [A-Z ]*PRIVATE KEY", "\\\\d{3}-\\\\d{2}-\\\\d{4}"]}',
];
const rules = Array.from({ length: 100 }, (_, i) => {
  const when = conditions[i % conditions.length];
  return `  - {id: c${i}, type: pre, tool: "${i % 3 ? '*' : 'write_*'}", when: {${when}}, then: {effect: deny, message: "Denied {args.path}"}}`;
});
const yaml = `apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: bench}\ndefaults: {mode: enforce}\ncontracts:\n${rules.join('\n')}\n`;

const started = performance.now();
const compiled = compileBundle(yaml);
if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
const { bundle } = compiled;
const out = (line: string) => process.stdout.write(`${line}\n`);
out(`compile 100 contracts: ${(performance.now() - started).toFixed(1)} ms`);

const call = {
  tool: 'write_file',
  args: {
    path: '/workspace/reports/2026/summary-of-quarter.md',
    command: 'cat reports/summary.md',
    body: 'The quarterly numbers are attached; see table 4 for the split by region and the notes below it.',
    size: 4096,
  },
  environment: 'production',
  principal: { user_id: 'u1', role: 'analyst' },
};

function measure(name: string, run: () => unknown): void {
  for (let i = 0; i < 5_000; i++) run();
  const times: number[] = [];
  for (let i = 0; i < 20_000; i++) {
    const before = performance.now();
    run();
    times.push(performance.now() - before);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => `${((times[Math.floor(times.length * share)] ?? 0) * 1000).toFixed(1)} µs`;
  out(`${name.padEnd(34)} p50 ${at(0.5)}  p99 ${at(0.99)}`);
}

if (evaluateCall(bundle, call).verdict !== 'allow')
  throw new Error('the call is meant to pass every contract');
measure('evaluateCall, 100 contracts', () => evaluateCall(bundle, call));
measure('dryRun, 100 contracts', () => dryRun(bundle, call));
const natives = Array.from({ length: 100 }, () => /\.(env|pem|key)$/);
measure(
  'bound: 100 native pattern tests',
  () => natives.filter((regex) => regex.test(call.args.path)).length,
);
