// How long a coding assistant waits for `reeve-agent gate`: from the start of the process to its end, with a hundred
// contracts that all look at the call, and beside it a Node process that does nothing, in turns.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMet, lineOf, median, percentile, printer, round, type Verdict } from './numbers.ts';

const usage = `Usage: npm run build && node dist/bench/gate.js [options]
  --calls N   processes that are started (50)
  --json      one line of JSON instead of text
`;

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '50' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
printer(usage, values);

const library = fileURLToPath(import.meta.resolve('reeve-agent/package.json'));
const program = join(dirname(library), 'dist/esm/cli/main.js');
const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
const contracts = join(folder, 'contracts.yaml');
writeFileSync(
  contracts,
  `apiVersion: service/v1\nkind: ContractBundle\nmetadata: { name: bench }\ndefaults: { mode: enforce }\ncontracts:
  - { id: many, type: session, limits: { max_tool_calls: 100000000 }, then: { effect: deny, message: enough } }
${Array.from(
  { length: 100 },
  (_, i) =>
    `  - { id: no-${i}, type: pre, tool: "*", when: { args.command: { matches: "secret ${i}\\\\b" } }, then: { effect: deny, message: no } }\n`,
).join('')}`,
);
const call = {
  hook_event_name: 'PreToolUse',
  session_id: 'bench',
  cwd: folder,
  tool_name: 'Bash',
  tool_input: { command: 'git commit -m "fix: a & b"' },
};

function time(args: readonly string[], input: string): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [...args], { input });
  if (status !== 0) throw new Error(`exit code ${status}: ${stderr}`);
  return performance.now() - start;
}

const gate = [
  program,
  'gate',
  '--format',
  'claude-code',
  '--contracts',
  contracts,
  '--state',
  join(folder, 'state'),
];
const lists = { gate: [] as number[], bare: [] as number[] };
// The first call reads the contracts.
time(gate, JSON.stringify(call));
for (let i = 0; i < Number(values.calls); i++) {
  lists.gate.push(time(gate, JSON.stringify(call)));
  lists.bare.push(time(['-e', '0'], ''));
}
rmSync(folder, { recursive: true });
const words = (list: readonly number[]) =>
  `median ${round(median(list))} ms, p95 ${round(percentile(list, 0.95))} ms`;
const verdict: Verdict = {
  what: 'start to verdict, median',
  value: round(median(lists.gate)),
  unit: ' ms',
  atMost: 150,
};
const report = values.json
  ? JSON.stringify({ ...verdict, bare: round(median(lists.bare)) })
  : [`  gate: ${words(lists.gate)}; Node alone: ${words(lists.bare)}`, lineOf(verdict)].join('\n');
process.stdout.write(`${report}\n`);
process.exitCode = isMet(verdict) ? 0 : 1;
