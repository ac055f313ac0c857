// Long texts in one line: a cut is marked, and halves no character.
import { expect, it } from 'vitest';
import { endCut } from '../../src/dashboard/lib/text.ts';

it('cuts a long text before a character of two code units, with a mark', () => {
  expect(endCut('abc', 3)).toBe('abc');
  expect(endCut('abcd', 3)).toBe('abc…');
  expect(endCut('ab😀d', 3)).toBe('ab…');
  expect(endCut('a😀cd', 3)).toBe('a😀…');
});
