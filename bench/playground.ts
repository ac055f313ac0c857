// Time to try one call in the playground over HTTP: 100 contracts that all look at its tool and all pass, one call after another as an
// editor sends them while somebody tries values; and beside it texts that were never compiled before. Hub and client share this process.
// Prints p50 and p99 per round, and whether the p99 of a known text is within 5 ms. Usage: node dist/bench/playground.js [--rounds R] [--calls N] [--json]
import { parseArgs } from 'node:util';
import { startHub } from '../src/bootstrap/hub.ts';
import { setUp } from './admin.ts';
import { benchFolder } from './folder.ts';
import { isMet, lineOf, median, percentile, round } from './numbers.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '500' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Math.max(3, Number(options.rounds));
const calls = Number(options.calls);
const contracts = 100;
const goalMs = 5;

const conditions = [
  'args.path: {matches: "\\\\.(env|pem|key)$"}',
  'args.path: {contains_any: ["/etc/shadow", "/root/.ssh"]}',
  'args.command: {matches: "\\\\brm\\\\s+-[a-z]*[rf]"}',
  'all: [{environment: {equals: production}}, {principal.role: {in: [intern, guest]}}]',
  'args.body: {matches: "(?i)drop\\\\s+table|truncate\\\\s+\\\\w+"}',
  'any: [{args.size: {gt: 1000000}}, {args.path: {starts_with: "/proc/"}}]',
];
const text = (salt: number): string => {
  const rules = Array.from(
    { length: contracts },
    (_, i) =>
      `  - {id: c${i}, type: pre, tool: "${i % 3 ? '*' : 'write_*'}", when: {${conditions[i % conditions.length]}}, then: {effect: deny, message: "Denied {args.path}"}}`,
  );
  return `# ${salt}\napiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: bench}\ndefaults: {mode: enforce}\ncontracts:\n${rules.join('\n')}\n`;
};

const folder = benchFolder();
const hub = await startHub(folder.config);
const admin = await setUp(`http://127.0.0.1:${hub.port}`);
let salt = 0;

/** Milliseconds of one call, from the request to the parsed answer. */
async function tryOut(yaml_content: string, i: number): Promise<number> {
  const before = performance.now();
  const answer = await admin.call<{ verdict: string; contracts_evaluated: readonly unknown[] }>(
    'POST',
    '/api/v1/bundles/evaluate',
    {
      yaml_content,
      tool_name: `write_${i % 7}`,
      tool_args: { path: `/workspace/${i}.md`, command: `cat ${i}`, body: `numbers of ${i}`, size: 4096 + i },
      principal: { role: 'analyst' },
    },
  );
  const ms = performance.now() - before;
  if (answer.verdict !== 'allow' || answer.contracts_evaluated.length !== contracts)
    throw new Error('every call is meant to be looked at, and passed, by every contract');
  return ms;
}

async function measure(next: () => string, count: number): Promise<{ p50: number; p99: number }> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await tryOut(next(), i));
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

const results = [];
// The first round only warms up.
for (let i = 0; i <= rounds; i++) {
  const known = text(salt++);
  const made = {
    known: await measure(() => known, calls),
    unknown: await measure(() => text(salt++), Math.ceil(calls / 10)),
  };
  if (i > 0) results.push(made);
}
await hub.stop();
folder.remove();

const verdict = {
  what: `median p99 of a call against ${contracts} contracts of a known text`,
  value: round(median(results.map(({ known }) => known.p99)), 2),
  unit: ' ms',
  atMost: goalMs,
};
if (!isMet(verdict)) process.exitCode = 1;
if (options.json) process.stdout.write(`${JSON.stringify({ contracts, calls, goalMs, verdict, results })}\n`);
else {
  const out = (line: string) => process.stdout.write(`${line}\n`);
  const ms = (value: number) => `${value.toFixed(2)} ms`.padStart(10);
  for (const [i, { known, unknown }] of results.entries()) {
    out(`round ${i + 1}  known   p50 ${ms(known.p50)}  p99 ${ms(known.p99)}`);
    out(`round ${i + 1}  unknown p50 ${ms(unknown.p50)}  p99 ${ms(unknown.p99)}`);
  }
  out(lineOf(verdict));
}
