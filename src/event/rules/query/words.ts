// Comparison of a query's terms with texts: whole words, beginnings of words, phrases and wildcards. Pure.
import { foldedText } from '../../../shared/search-text.ts';
import type { QueryValue } from './parse.ts';

export type TextTest = (text: string) => boolean;

const isWordPart = (character: string): boolean => /[\p{L}\p{M}\p{N}]/u.test(character);
const wordPart = String.raw`[\p{L}\p{M}\p{N}]`;
export const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

const redactedMark = '[REDACTED]';
/** Stands for a redacted part: no query contains it. */
const gap = '\u0000';

/** The text with a gap for each redacted part; null if the whole text is redacted. */
export function visibleText(text: string): string | null {
  if (!text.includes('REDACTED')) return text;
  const visible = text.replaceAll(redactedMark, gap);
  return visible === gap ? null : visible;
}

/**
 * A word or phrase in a longer text, in any case. A phrase is a run of characters. A word stands alone: before and
 * after it is no letter or digit; with `*` at its end it may go on.
 */
export function wordTest({ text, isQuoted }: QueryValue): TextTest {
  const folded = foldedText(text);
  if (isQuoted) return (value) => foldedText(value).includes(folded);
  const isPrefix = folded.endsWith('*');
  const word = isPrefix ? folded.slice(0, -1) : folded;
  const characters = [...word];
  const [first = '', last = ''] = [characters.at(0), characters.at(-1)];
  const before = isWordPart(first) ? `(?<!${wordPart})` : '';
  const after = !isPrefix && isWordPart(last) ? `(?!${wordPart})` : '';
  const pattern = new RegExp(`${before}${escapeRegExp(word)}${after}`, 'u');
  return (value) => {
    const foldedValue = foldedText(value);
    return foldedValue.includes(word) && pattern.test(foldedValue);
  };
}

/** Equality of the whole text, in its case; `*` stands for any characters. Takes time in proportion to the text. */
export function globTest({ text, isQuoted }: QueryValue): TextTest {
  if (isQuoted || !text.includes('*')) return (value) => value === text;
  const parts = text.split('*');
  const head = parts[0] ?? '';
  const tail = parts.at(-1) ?? '';
  const inner = parts.slice(1, -1).filter((part) => part !== '');
  return (value) => {
    if (value.length < head.length + tail.length || !value.startsWith(head) || !value.endsWith(tail))
      return false;
    const end = value.length - tail.length;
    let at = head.length;
    for (const part of inner) {
      const next = value.indexOf(part, at);
      if (next < 0 || next + part.length > end) return false;
      at = next + part.length;
    }
    return true;
  };
}

/** The longest run of characters that each matching text contains; empty for `*` alone. */
export const literalOf = ({ text, isQuoted }: QueryValue): string =>
  isQuoted
    ? text
    : text.split('*').reduce((longest, part) => (part.length > longest.length ? part : longest), '');
