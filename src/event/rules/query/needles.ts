// Patterns that the JSON text of a matching event contains: a store tests them before it parses an event. Pure.
import { searchedLetters } from '../../../shared/search-text.ts';
import type { Query, QueryTerm, QueryValue } from './parse.ts';
import { escapeRegExp, literalOf } from './words.ts';

/** A pattern without flags, in the syntax that JavaScript and PCRE share. */
export interface Needle {
  readonly pattern: string;
  /** Later reports about the event may match the term in place of the event itself. */
  readonly isInOutcomes: boolean;
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** A number may stand otherwise in JSON than it reads: `1e2` is 100. */
const mayBeNumber = (text: string): boolean => /^[-+.\de]+$/i.test(text);

/** The digits of a number wherever its point stands; empty if no digit is certain. */
function numberPattern(text: string): string {
  if (/e/i.test(text)) return '';
  const digits = text.replace(/\D/g, '').replace(/^0+|(?<!0)0+$/g, '');
  return [...digits].join('\\.?');
}

const anyCase = (text: string): string =>
  searchedLetters(text)
    .map((letters) => (letters.length === 1 ? escapeRegExp(letters[0] ?? '') : `[${letters.join('')}]`))
    .join('');

/** The pattern of one value; empty if none is certain. */
function valuePattern(value: QueryValue, isFolded: boolean): string {
  const literal = literalOf(value);
  if (mayBeNumber(literal)) return numberPattern(literal);
  const text = inJson(literal);
  return isFolded ? anyCase(text) : escapeRegExp(text);
}

/** Fields whose values the JSON text of an event contains. */
const inPayload: readonly (string | null)[] = [null, 'reason', 'bundle', 'run', 'call', 'args', 'principal'];

export function needleOf(term: QueryTerm): Needle | null {
  const { field, isNegated, operator, values } = term;
  if (isNegated || operator !== '=' || !inPayload.includes(field)) return null;
  const isFolded = field === null || field === 'reason';
  const patterns = values.map((value) => valuePattern(value, isFolded));
  if (patterns.length === 0 || patterns.includes('')) return null;
  return {
    pattern: patterns.length === 1 ? (patterns[0] ?? '') : `(?:${patterns.join('|')})`,
    isInOutcomes: isFolded,
  };
}

/** A pattern for each term that has one: all of them must match. */
export const needlesOf = ({ terms }: Query): readonly Needle[] =>
  terms.map(needleOf).filter((needle) => needle !== null);
