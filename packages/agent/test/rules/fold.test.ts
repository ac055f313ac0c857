// Case folding against the regular expressions of JavaScript, which fold simply under the flags i and u (ECMA-262,
// Canonicalize).
import { describe, expect, it } from 'vitest';
import { foldCase } from '../../src/rules/fold.ts';

const cased: string[] = [];
for (let code = 0; code < 0x1f000; code++) {
  const character = code >= 0xd800 && code <= 0xdfff ? '' : String.fromCodePoint(code);
  if (character.toUpperCase() !== character || character.toLowerCase() !== character) cased.push(character);
}
const all = cased.join('');

describe('foldCase', () => {
  it('makes those characters equal that simple folding makes equal', () => {
    expect(cased.length).toBeGreaterThan(2000);
    const byFold = group(cased);
    for (const character of cased) {
      const equal = all.match(new RegExp(`\\u{${character.codePointAt(0)?.toString(16)}}`, 'giu')) ?? [];
      expect(byFold.get(foldCase(character))).toEqual(equal);
    }
  });

  it('folds texts character by character, and leaves scripts without case alone', () => {
    expect(foldCase('argument\u017f')).toBe('arguments');
    expect(foldCase('to\u212aEN')).toBe('token');
    expect(foldCase('Straße')).not.toBe(foldCase('STRASSE'));
    expect(foldCase('путь')).toBe(foldCase('ПУТЬ'));
    expect(foldCase('名前')).toBe('名前');
    expect(foldCase('ıd')).not.toBe(foldCase('id'));
  });
});

function group(characters: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const one of characters) groups.set(foldCase(one), [...(groups.get(foldCase(one)) ?? []), one]);
  return groups;
}
