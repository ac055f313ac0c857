// Shared readings: how few there are, and that no answer is older than its question.
import { expect, it } from 'vitest';
import { createSharedReads } from '../../../src/shared/concurrency/shared-reads.ts';

function slowStore() {
  const begun: {
    readonly key: string;
    readonly answer: (value: string) => void;
    readonly fail: () => void;
  }[] = [];
  const read = createSharedReads(
    (key) =>
      new Promise<string>((answer, reject) => {
        begun.push({ key, answer, fail: () => reject(new Error('away')) });
      }),
  );
  return { begun, read };
}

it('is one for all who ask while another is under way, and begins after it', async () => {
  const { begun, read } = slowStore();
  const first = read('t');
  const later = [read('t'), read('t')];
  const other = read('u');
  expect(begun.map(({ key }) => key)).toEqual(['t', 'u']);
  begun[0]?.answer('old');
  begun[1]?.answer('of u');
  expect([await first, await other]).toEqual(['old', 'of u']);
  // Asked for while the second one of `t` is about to begin: it is read after that, too.
  expect(begun.map(({ key }) => key)).toEqual(['t', 'u', 't']);
  begun[2]?.answer('new');
  expect(await Promise.all(later)).toEqual(['new', 'new']);
});

it('fails those who shared it, and the next one is read again', async () => {
  const { begun, read } = slowStore();
  const first = read('t');
  const second = read('t');
  begun[0]?.fail();
  await expect(first).rejects.toThrow('away');
  begun[1]?.answer('here');
  expect(await second).toBe('here');
  const third = read('t');
  begun[2]?.answer('again');
  expect(await third).toBe('again');
});
