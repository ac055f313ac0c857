// Some hundred calls of one seed through guard, proxy and gate: none runs that the reference refuses. Longer runs:
// npm run fuzz -- --agent --help.
import { expect, it } from 'vitest';
import { runsOf } from '../../../../test/runs.ts';
import { fuzzAgent } from './fuzz.ts';
import type { Surface } from './surfaces.ts';

/** Calls through each of the three surfaces. */
const steps = runsOf(400, 150);
const seed = '1';

it('a surface that runs every call is found', async () => {
  const open: Surface = {
    name: 'open',
    asks: true,
    call: async ({ tool, args }) => ({ executed: [{ tool, args }], sent: '', fault: null }),
    close() {},
  };
  const { findings } = await fuzzAgent({ seed, steps: 80, openSurfaces: () => [open] });
  expect(findings.length).toBeGreaterThan(10);
});

it(`no surface runs a call that the reference refuses (seed ${seed})`, { timeout: 120_000 }, async () => {
  const { findings, ran, refused } = await fuzzAgent({ seed, steps });
  expect(findings.slice(0, 3), `seed ${seed}`).toEqual([]);
  for (const surface of ['guard', 'proxy', 'gate']) {
    expect(ran[surface], `calls that ran through the ${surface}`).toBeGreaterThan(steps / 20);
    expect(refused[surface], `calls refused by the ${surface}`).toBeGreaterThan(steps / 10);
  }
});
