import { expect, it } from 'vitest';
import { findsIn, foldedText, searchedLetters } from '../../src/shared/search-text.ts';

const finds = (text: string, search: string): boolean => findsIn(text, foldedText(search));

it.each([
  ['Reads FILES', 'files'],
  ['café', 'CAFÉ'],
  ['ÉTÉ', 'été'],
  ['\u{10400}', '𐐨'],
  ['50 %', '%'],
])('%j is found by %j', (text, search) => {
  expect(finds(text, search)).toBe(true);
});

it.each([
  ['İstanbul', 'i'],
  ['ıstanbul', 'I'],
  ['STRASSE', 'straße'],
  ['ẞ', 'ß'],
  ['ﬁle', 'fi'],
  ['300 \u212a', 'k'],
  ['caf\u00e9', 'cafe\u0301'],
  ['ς', 'σ'],
  ['a', '.'],
])('%j is not found by %j', (text, search) => {
  expect(finds(text, search)).toBe(false);
});

it('the letters of a search are those that fold alike, of all there are', () => {
  const alike = new Map<string, string[]>();
  for (let code = 0; code < 0x110000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const letter = String.fromCodePoint(code);
    const folded = foldedText(letter);
    if (folded !== letter) alike.set(folded, [...(alike.get(folded) ?? [folded]), letter]);
  }
  expect(alike.size).toBeGreaterThan(1000);
  for (const [folded, letters] of alike) {
    expect([...(searchedLetters(folded)[0] ?? [])].sort()).toEqual(letters.sort());
  }
});
