// One at a time, once more when asked for meanwhile, and none once it has ended.
import { expect, it } from 'vitest';
import { singleFlight } from '../../../src/shared/concurrency/single-flight.ts';

/** Work that ends when it is let go. */
function held() {
  const gates: (() => void)[] = [];
  let ended = false;
  const turns = singleFlight(
    () => new Promise<void>((resolve) => gates.push(resolve)),
    () => ended,
  );
  return { turns, gates, end: () => (ended = true) };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('come one at a time; one follows however often it was asked for, and who asked waits for it', async () => {
  const { turns, gates } = held();
  expect(turns.busy).toBe(false);
  const asked = [turns.ask(), turns.ask()];
  await turn();
  let done = false;
  asked.push(
    turns.ask(),
    turns.ask().then(() => {
      done = true;
    }),
  );
  expect([gates.length, turns.busy]).toEqual([1, true]);
  gates[0]?.();
  await turn();
  expect([gates.length, done]).toEqual([2, false]);
  gates[1]?.();
  await Promise.all(asked);
  expect([gates.length, done, turns.busy]).toEqual([2, true, false]);
});

it('lose nothing that is asked for as the last one ends', async () => {
  let count = 0;
  const turns = singleFlight(
    async () => void count++,
    () => false,
  );
  for (let steps = 0; steps < 8; steps++) {
    const before = count;
    void turns.ask();
    for (let i = 0; i < steps; i++) await Promise.resolve();
    await turns.ask();
    expect(count).toBeGreaterThan(before);
    // Whatever step the first was at, the second was either with it before it began, or had one of its own.
    const since = count;
    await turns.ask();
    expect(count).toBe(since + 1);
  }
});

it('do not begin once it has ended; the one under way is waited for', async () => {
  const { turns, gates, end } = held();
  void turns.ask();
  await turn();
  end();
  let done = false;
  const last = turns.idle().then(() => {
    done = true;
  });
  void turns.ask();
  await turn();
  expect(done).toBe(false);
  gates[0]?.();
  await last;
  await turns.ask();
  await turns.idle();
  expect([gates.length, turns.busy]).toEqual([1, false]);
});
