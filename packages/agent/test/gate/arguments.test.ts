// Files and addresses in the texts of tools: long texts are read in time that grows with their length.
import { describe, expect, it } from 'vitest';
import { patchArguments, urlArguments } from '../../src/cli/gate/arguments.ts';
import { growth, maxGrowth } from '../cpu.ts';

const size = 250_000;
const repeated = (part: string, n: number): string => part.repeat(n / part.length);

describe('a text of a megabyte', () => {
  it.each([
    [(blanks: string) => `*** Add File: a${blanks}b`, (blanks: string) => `a${blanks}b`],
    [(blanks: string) => `*** Add File:${blanks}b `, () => 'b'],
    [(blanks: string) => `*** Add${blanks}: b`, () => 'b'],
  ])('is read once as a line of a patch', { timeout: 600_000 }, (lineOf, pathOf) => {
    const read = (n: number) => {
      const [command, path] = [lineOf(repeated(' ', n)), pathOf(repeated(' ', n))];
      expect(patchArguments({ command })).toEqual({ command, paths: [path] });
    };
    expect(growth(read, size)).toBeLessThan(maxGrowth);
  });

  it('is read once for its addresses', { timeout: 600_000 }, () => {
    for (const [part, end] of [
      ['a.', ''],
      ['a.a-1+', ''],
      ['a.', ':/ x'],
    ] as const) {
      const read = (n: number) => {
        const prompt = repeated(part, n) + end;
        expect(urlArguments({ prompt })).toEqual({ prompt });
      };
      expect(growth(read, size)).toBeLessThan(maxGrowth);
    }
  });
});

it('an address begins at the first letter of its run that stands behind a boundary', () => {
  const prompt = 'see (https://a.com/x), 1a.b://c "x://y"; _d://e -f://g 2h://i http:// a.http://k';
  expect(urlArguments({ prompt }).urls).toEqual([
    'https://a.com/x),',
    'b://c',
    'x://y',
    'f://g',
    'a.http://k',
  ]);
});
