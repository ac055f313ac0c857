// Commands in the process of the tests meet what a process of their own would give them.
import { afterEach, expect, it, vi } from 'vitest';
import { runHere } from './run-here.ts';

afterEach(() => vi.unstubAllEnvs());

it('prints with and without an encoding, and learns when a text is written', async () => {
  const run = await runHere(async () => {
    await new Promise<void>((resolve) => process.stdout.write('a', () => resolve()));
    await new Promise<void>((resolve) => process.stderr.write('b', 'utf8', () => resolve()));
    return 3;
  });
  expect(run).toEqual({ code: 3, out: 'a', err: 'b' });
});

it.each([
  [false, 'of the developer'],
  [true, undefined],
])('has the variables of the tests unless its own are all (%s)', async (hasOnlyEnv, expected) => {
  vi.stubEnv('REEVE_TOKEN', 'of the developer');
  let variables = {};
  await runHere(
    async () => {
      variables = { own: process.env.REEVE_URL, theirs: process.env.REEVE_TOKEN };
      return 0;
    },
    { env: { REEVE_URL: 'http://hub' }, hasOnlyEnv },
  );
  expect(variables).toEqual({ own: 'http://hub', theirs: expected });
  expect([process.env.REEVE_URL, process.env.REEVE_TOKEN]).toEqual([undefined, 'of the developer']);
});
