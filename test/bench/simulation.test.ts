// A simulated fleet in one environment: nobody misses a deployment, and neither memory nor queues grow.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { root } from '../../bench/suite/root.ts';
import { runsOf } from '../runs.ts';
import { testProgram } from '../test-program.ts';
import type { FleetMinute } from './fleet-simulation.ts';

const agents = runsOf(100_000, 5000);
const minutes = 6;
const maxBytesOfAgent = 6 * 1024;

/** In a process of its own, whose memory holds nothing else. */
async function simulate(): Promise<readonly FleetMinute[]> {
  const program = await testProgram(join(root, 'test/bench/fleet-simulation.ts'));
  const args = ['--expose-gc', '--max-old-space-size=8192'];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...args, program, String(agents), String(minutes)],
    { cwd: root },
  );
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as FleetMinute);
}

describe('a fleet in one environment', () => {
  it('has every deployment, and costs no more after more minutes', async () => {
    const states = await simulate();
    expect(states).toHaveLength(minutes);
    for (const { connected, current, missed, bytesOfAgent, processorMs } of states) {
      expect(processorMs).toBeGreaterThan(0);
      expect({ connected, current, missed }).toEqual({ connected: agents, current: agents, missed: 0 });
      expect(bytesOfAgent).toBeLessThanOrEqual(maxBytesOfAgent);
    }
    const [second, last] = [states[1], states.at(-1)];
    // The log of an audience keeps frames up to a bound, which a small fleet has to carry too.
    const logShare = (100_000 * minutes) / agents;
    expect(last?.bytesOfAgent).toBeLessThanOrEqual((second?.bytesOfAgent ?? 0) * 1.1 + logShare);
    expect(last?.timers).toBeLessThanOrEqual((second?.timers ?? 0) + 5);
    expect(last?.activations).toBe(second?.activations);
  }, 1_200_000);
});
