// The owner of an environment: what as many simulated agents take in it, on a virtual clock and without sockets
// (test/bench/fleet-simulation.ts). Each round is a minute with a deployment that all agents report, while 5 % leave
// and come back.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { figureOf } from '../suite/figures.ts';
import { addedByEach } from '../suite/machine.ts';
import type { Scenario } from '../suite/results.ts';
import { root } from '../suite/root.ts';
import type { RunOptions } from './scenario.ts';

const program = join(root, 'test/bench/fleet-simulation.ts');
const nodeArguments = [
  '--expose-gc',
  '--max-old-space-size=8192',
  '--conditions=reeve-source',
  '--import',
  'tsx',
];

interface Minute {
  readonly missed: number;
  readonly bytesOfAgent: number;
  readonly processorMs: number;
}

/** The first minute warms up. */
async function simulate(agents: number, minutes: number): Promise<readonly Minute[]> {
  const args = [...nodeArguments, program, String(agents), String(minutes + 1)];
  const simulation = promisify(execFile)(process.execPath, args, { cwd: root });
  const end = (): void => void simulation.child.kill('SIGKILL');
  process.once('exit', end);
  const { stdout } = await simulation.finally(() => process.off('exit', end));
  const lines = stdout.trim().split('\n');
  return lines.slice(1).map((line) => JSON.parse(line) as Minute);
}

export async function runOwner({ agents, rounds, report }: RunOptions): Promise<Scenario> {
  report(`simulating ${agents} agents`, 0);
  const minutes = await simulate(agents, rounds);
  return {
    name: 'owner',
    parameters: { agents },
    skipped: null,
    limited_by: 'none',
    load: { hub_cores: null, client_cores: null, other_cores: null, hub_rss_bytes: null },
    figures: [
      figureOf({
        id: 'owner.memory',
        what: 'heap and buffers of an agent in its environment, without its stream',
        unit: 'bytes per agent',
        better: 'lower',
        rounds: minutes.map(({ bytesOfAgent }) => addedByEach(bytesOfAgent, 1)),
        target: { at_most: 6144, of: 'value' },
      }),
      figureOf({
        id: 'owner.processor_time',
        what: 'processor time of a deployment, its reports and 5 % of the agents that come back',
        unit: 'µs per agent',
        better: 'lower',
        rounds: minutes.map(({ processorMs }) => (processorMs * 1000) / agents),
      }),
      figureOf({
        id: 'owner.missed',
        what: 'agents that did not get a deployment',
        unit: 'agents',
        better: 'lower',
        rounds: minutes.map(({ missed }) => missed),
        target: { at_most: 0, of: 'value' },
      }),
    ],
    rivals: [],
  };
}
