// Files and addresses in the texts of tools: long texts are read in time that grows with their length.
import { describe, expect, it } from 'vitest';
import { patchArguments, urlArguments } from '../../src/cli/gate/arguments.ts';
import { cpuMs } from '../cpu.ts';

const long = (part: string): string => part.repeat(1_000_000 / part.length);

describe('a text of a megabyte', () => {
  it.each([
    [`*** Add File: a${long(' ')}b`, `a${long(' ')}b`],
    [`*** Add File:${long(' ')}b `, 'b'],
    [`*** Add${long(' ')}: b`, 'b'],
  ])('is read once as a line of a patch', { timeout: 600_000 }, (line, path) => {
    const read = () => expect(patchArguments({ command: line })).toEqual({ command: line, paths: [path] });
    expect(cpuMs(read)).toBeLessThan(2_000);
  });

  it('is read once for its addresses', { timeout: 600_000 }, () => {
    for (const prompt of [long('a.'), long('a.a-1+'), `${long('a.')}:/ x`]) {
      const read = () => expect(urlArguments({ prompt })).toEqual({ prompt });
      expect(cpuMs(read)).toBeLessThan(2_000);
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
