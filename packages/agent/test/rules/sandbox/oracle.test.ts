// The engine beside an older one that read the whole grammar of a shell: a call that leaves the older engine's sandbox
// leaves this one too. SANDBOX_CALLS and SANDBOX_SEED search longer, or elsewhere.
import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { runsOf } from '../../../../../test/runs.ts';
import { agentFiles } from '../../../src/guard/files.ts';
import type { SandboxRule } from '../../../src/rules/bundle/rule.ts';
import type { View } from '../../../src/rules/evaluate/call.ts';
import { no, type OperatorResult } from '../../../src/rules/evaluate/operator.ts';
import { newBudget } from '../../../src/rules/regex/regex.ts';
import { sandboxCompiler } from '../../../src/rules/sandbox/sandbox.ts';
import { anyCall } from './calls.ts';
import { sandboxCompiler as oracleCompiler } from './oracle/sandbox.ts';
import { createWorld } from './world.ts';

const calls = Number(process.env.SANDBOX_CALLS ?? runsOf(200_000, 2_500));
const seed = Number(process.env.SANDBOX_SEED ?? randomInt(2 ** 31));
const world = createWorld(true);
afterAll(() => world.remove());

const { work } = world;
const open = { within: null, notWithin: [], commands: null, domains: null, notDomains: [] };
const boxes: readonly Partial<SandboxRule>[] = [
  { within: [work] },
  { within: [work], notWithin: [`${work}/sub`, `${work}/secret`] },
  { within: ['/'], notWithin: [world.outside, '/etc'] },
  { domains: ['allowed.com', '*.allowed.com'] },
  { domains: ['*'], notDomains: ['evil.com'] },
  { notDomains: ['evil.com'] },
  { within: [work], domains: ['allowed.com'] },
  { commands: ['ls', 'git', 'mytool', 'bash', 'sudo', 'env', 'curl', 'tar', 'command', 'xargs'] },
  { commands: ['git', 'echo', 'mytool', 'timeout', 'npm'], within: [work], domains: ['allowed.com'] },
];
const ruleOf = (box: Partial<SandboxRule>): SandboxRule =>
  ({ id: 'box', type: 'sandbox', tools: ['t'], effect: 'deny', ...open, ...box }) as unknown as SandboxRule;
const viewOf = (args: Readonly<Record<string, unknown>>): View => ({
  call: { tool: 't', args },
  output: undefined,
  outputText: { text: undefined, isReadable: true },
  env: () => undefined,
  budget: newBudget(),
});

it(`is never more lenient, over ${calls} calls`, { timeout: 1_800_000 }, () => {
  console.log(`SANDBOX_SEED=${seed} SANDBOX_CALLS=${calls}`);
  const judges = [agentFiles(work), null].flatMap((files) => {
    const options = { toolArguments: {}, windows: false };
    const compile = sandboxCompiler(files ? { ...options, files } : options);
    const compileOracle = oracleCompiler({ ...options, files });
    return boxes.map((box) => ({
      name: `${JSON.stringify(box)} by ${files ? 'files' : 'text'}`,
      judge: compile(ruleOf(box)),
      oracle: compileOracle(ruleOf(box)),
    }));
  });
  const counts = { stays: 0, leaves: 0, refusedByOracle: 0 };
  const lenient: string[] = [];
  const samples = fc.sample(anyCall(world), { numRuns: calls, seed });
  for (const [i, args] of samples.entries()) {
    const { name, judge, oracle } = judges[i % judges.length] as (typeof judges)[number];
    const outcomes: readonly OperatorResult[] = [judge(viewOf(args)), oracle(viewOf(args))];
    counts[outcomes[0] === no ? 'stays' : 'leaves']++;
    if (outcomes[1] !== no) counts.refusedByOracle++;
    if (outcomes[0] === no && outcomes[1] !== no) lenient.push(`${name}: ${JSON.stringify(args)}`);
  }
  expect(lenient.slice(0, 40)).toEqual([]);
  // Both outcomes are common, or the comparison says nothing.
  expect(counts.stays).toBeGreaterThan(calls / 20);
  expect(counts.refusedByOracle).toBeGreaterThan(calls / 4);
});
