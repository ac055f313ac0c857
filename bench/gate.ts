// How long a coding assistant waits for `reeve-agent gate`: from the start of the process to its end, with a hundred
// contracts that all look at the call, and beside it a Node process that does nothing, in turns.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { agentProgram, contractsFolder } from './library.ts';
import { isMet, lineOf, median, percentile, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';

const { calls, json } = readOptions({
  program: 'gate',
  options: {
    calls: { about: 'processes that are started', default: 50 },
  },
});

const program = agentProgram();
const { folder, contracts } = contractsFolder((i) => `args.command: { matches: "secret ${i}\\\\b" }`);
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
for (let i = 0; i < calls; i++) {
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
const report = json
  ? JSON.stringify({ ...verdict, bare: round(median(lists.bare)) })
  : [`  gate: ${words(lists.gate)}; Node alone: ${words(lists.bare)}`, lineOf(verdict)].join('\n');
process.stdout.write(`${report}\n`);
process.exitCode = isMet(verdict) ? 0 : 1;
