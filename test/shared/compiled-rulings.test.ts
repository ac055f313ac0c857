// Rulings of many patterns: compiled once, in turns of the event loop, and judged in turns.
import { expect, it } from 'vitest';
import type { ManifestContract } from '../../src/event/record.ts';
import { CompiledRulings, JudgeSteps, weightOf } from '../../src/shared/compiled-rulings.ts';
import { governing, mayOverlap, rulingOfManifest } from '../../src/usage/rules.ts';

const contract = (id: string, tool: readonly string[], mode = 'enforce'): ManifestContract => ({
  id,
  type: 'pre',
  tool,
  mode,
});
const globs = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `*tool?${from + i}_*`);
const manyGlobs = { contracts: Array.from({ length: 20 }, (_, i) => contract(`c${i}`, globs(100, 100 * i))) };

/** Turns of the event loop that others get while the work lasts. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isRunning = true;
  const turn = (): void => {
    turns++;
    if (isRunning) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isRunning = false;
  return turns;
}

it('are compiled once for one key, and leave turns to others', async () => {
  const rulings = new CompiledRulings();
  let makes = 0;
  const make = () => {
    makes++;
    return rulingOfManifest(manyGlobs);
  };
  expect(await turnsDuring(() => rulings.of('digest', make))).toBeGreaterThan(1);
  expect(await rulings.of('digest', make)).toBe(await rulings.of('digest', make));
  await rulings.of('another', make);
  expect(makes).toBe(2);
});

it('are judged in turns', async () => {
  const ruling = rulingOfManifest(manyGlobs);
  const steps = new JudgeSteps();
  const judge = async () => {
    for (let i = 0; i < 100; i++) await steps.take(weightOf(ruling));
  };
  expect(await turnsDuring(judge)).toBeGreaterThan(5);
});

it('are read up to the bounds of a manifest where one stored before is larger', () => {
  const stored = { contracts: [contract('first', globs(1999)), contract('second', ['last', 'beyond'])] };
  const ruling = rulingOfManifest(stored);
  expect(governing(ruling, 'last')?.contractName).toBe('second');
  expect(governing(ruling, 'beyond')).toBeNull();
  const long = { contracts: [contract('long', ['x'.repeat(65_536)]), contract('next', ['tool'])] };
  expect(governing(rulingOfManifest(long), 'tool')).toBeNull();
});

it('name the first contract that enforces, else the first that observes', () => {
  const contracts = [
    contract('a', ['x', 'y'], 'observe'),
    contract('b', ['y'], 'observe'),
    contract('c', ['x']),
  ];
  const ruling = rulingOfManifest({ contracts });
  expect(['x', 'y', 'z'].map((tool) => governing(ruling, tool)?.contractName)).toEqual(['c', 'a', undefined]);
});

it('are taken to overlap where too many patterns would be compared', () => {
  const lists = [
    Array.from({ length: 101 }, (_, i) => `a${i}`),
    Array.from({ length: 100 }, (_, i) => `b${i}`),
  ];
  expect(mayOverlap(lists)).toBe(true);
  expect(mayOverlap(lists.map((list) => list.slice(0, 100)))).toBe(false);
  expect(mayOverlap([['a'], ['b'], ['b*']])).toBe(true);
});
