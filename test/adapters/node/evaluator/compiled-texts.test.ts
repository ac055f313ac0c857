// A thread's memory of the texts that it compiled: bounded in bytes and by its heap, least recently used first
// out.
import { expect, it } from 'vitest';
import { CompiledTexts } from '../../../../adapters/node/evaluator/compiled-texts.ts';

/** Counts how often something is made. */
function counted(options: ConstructorParameters<typeof CompiledTexts>[0] = {}) {
  const texts = new CompiledTexts<string>({ heapBytes: () => 0, ...options });
  const compiledKeys: string[] = [];
  const ask = (key: string): string =>
    texts.of(key, 0, () => {
      compiledKeys.push(key);
      return key.toUpperCase();
    });
  return { texts, compiledKeys, ask };
}

it('makes a text once, and gives the same again', () => {
  const { compiledKeys, ask } = counted();
  expect([ask('a'), ask('b'), ask('a'), ask('b')]).toEqual(['A', 'B', 'A', 'B']);
  expect(compiledKeys).toEqual(['a', 'b']);
});

it('holds no more bytes than it may, and forgets what was used longest ago', () => {
  const { texts, compiledKeys, ask } = counted({ maxBytes: 24 });
  for (const key of ['aaaa', 'bbbb', 'cccc', 'aaaa', 'dddd']) ask(key);
  expect(texts.bytes).toBe(24);
  expect(compiledKeys).toEqual(['aaaa', 'bbbb', 'cccc', 'dddd']);
  ask('aaaa');
  expect(compiledKeys).toHaveLength(4);
  ask('bbbb');
  expect(compiledKeys.at(-1)).toBe('bbbb');
  ask('x'.repeat(13));
  expect(texts.bytes).toBe(24);
});

it('never holds more than it may, whatever comes', () => {
  const { texts, ask } = counted({ maxBytes: 1000 });
  for (let i = 0, seed = 7; i < 2000; i++) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    ask(`${seed % 50}`.padEnd(1 + (seed % 600), '.'));
    expect(texts.bytes).toBeLessThanOrEqual(1000);
  }
});

it('remembers nothing of what cannot be made', () => {
  const { texts } = counted();
  const fails = () =>
    texts.of('a', 0, () => {
      throw new Error('no');
    });
  expect(fails).toThrow('no');
  expect(fails).toThrow('no');
  expect(texts.bytes).toBe(0);
  expect(texts.of('a', 0, () => 'A')).toBe('A');
});

it('forgets everything when the heap is nearly full, before it makes the next', () => {
  let heap = 0;
  const { texts, compiledKeys, ask } = counted({ maxHeapBytes: 100, heapBytes: () => heap });
  ask('a');
  heap = 101;
  ask('a');
  expect(compiledKeys).toEqual(['a']);
  ask('b');
  heap = 0;
  ask('a');
  expect(compiledKeys).toEqual(['a', 'b', 'a']);
  expect(texts.bytes).toBe(4);
});
