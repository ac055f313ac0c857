// The query language of the console: text to terms, with the position of a mistake and the text that was expected.
// Pure; runs in browsers and in the hub, so that both accept the same texts. docs/query.md describes the language.
import type { QueryField, QueryGrammar } from './fields.ts';

/** UTF-16 units of a query. */
export const maxQueryLength = 1_000;
export const maxQueryTerms = 20;

export type QueryOperator = '=' | '>' | '>=' | '<' | '<=';

export interface QueryValue {
  readonly text: string;
  /** Written in quotes: `*` is no wildcard, and words are one phrase. */
  readonly isQuoted: boolean;
}

/** A part of a path: a key, and whether any element of the list below it may match. */
export interface QueryPathPart {
  readonly key: string;
  readonly isList: boolean;
}

export interface QueryTerm {
  readonly isNegated: boolean;
  /** Null for a word or phrase without a field. */
  readonly field: string | null;
  /** Of a field of kind `path`. */
  readonly path?: readonly QueryPathPart[];
  readonly operator: QueryOperator;
  /** An event matches if one of them matches. */
  readonly values: readonly QueryValue[];
  /** Place of the term in the text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

/** An event matches if each term matches. */
export interface Query {
  readonly terms: readonly QueryTerm[];
}

/** The first mistake of a text. */
export interface QueryProblem {
  /** In UTF-16 units from the beginning. */
  readonly position: number;
  readonly length: number;
  /** The text that the parser expected, as the end of the sentence "Expected …". */
  readonly expected: string;
}

export type ParsedQuery = { readonly query: Query } | { readonly problem: QueryProblem };

class Mistake extends Error {
  readonly problem: QueryProblem;
  constructor(position: number, length: number, expected: string) {
    super(expected);
    this.problem = { position, length: Math.max(1, length), expected };
  }
}

const isSpace = (character: string): boolean => /\s/.test(character);
/** Ends a text without quotes. */
const isMark = (character: string): boolean => character === '"' || character === '(' || character === ')';

class Reader {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get next(): string {
    return this.#text.charAt(this.at);
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length;
  }

  skipSpaces(): void {
    while (!this.isAtEnd && isSpace(this.next)) this.at++;
  }

  /** Steps over the text if it is next. */
  take(text: string): boolean {
    if (!this.#text.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  takeWhile(accept: (character: string) => boolean): string {
    const start = this.at;
    while (!this.isAtEnd && accept(this.next)) this.at++;
    return this.#text.slice(start, this.at);
  }

  /** A text in quotes; `\"` and `\\` are a quote and a backslash. */
  quoted(): string {
    const start = this.at;
    this.at++;
    let content = '';
    for (;;) {
      if (this.isAtEnd) throw new Mistake(start, this.at - start, 'a closing quote');
      if (this.take('\\"')) content += '"';
      else if (this.take('\\\\')) content += '\\';
      else if (this.take('"')) return content;
      else {
        content += this.next;
        this.at++;
      }
    }
  }
}

/** The words of a field's choices, each with the word that it stands for. */
function choiceOf(field: QueryField, text: string): string | null {
  const word = text.toLowerCase();
  for (const [choice, synonyms] of Object.entries(field.choices ?? {})) {
    if (choice === word || synonyms.includes(word)) return choice;
  }
  return null;
}

const durationPattern = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/;
const durationUnits: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration; null for another text. A number alone has the unit milliseconds. */
export function durationMsOf(text: string): number | null {
  const [, digits, unit = 'ms'] = durationPattern.exec(text) ?? [];
  return digits === undefined ? null : Number(digits) * (durationUnits[unit] ?? 1);
}

const numberPattern = /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/i;
const timePattern = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:\d\d)?)?$/;

export type Comparable = { readonly kind: 'number' | 'time'; readonly value: number };

/** The number or time in a text; null for another text. */
export function comparableOf(text: string): Comparable | null {
  if (numberPattern.test(text)) return { kind: 'number', value: Number(text) };
  if (!timePattern.test(text)) return null;
  const value = Date.parse(/T.*[Z+-]/.test(text) || !text.includes('T') ? text : `${text}Z`);
  return Number.isNaN(value) ? null : { kind: 'time', value };
}

const keyEnd = (character: string): boolean =>
  isSpace(character) || isMark(character) || /[:.[\]]/.test(character);

/** The path behind `args` or `principal`, up to its colon. */
function readPath(reader: Reader, field: string): QueryPathPart[] {
  const parts: QueryPathPart[] = [];
  while (reader.take('.')) {
    const start = reader.at;
    const key = reader.next === '"' ? reader.quoted() : reader.takeWhile((one) => !keyEnd(one));
    if (key === '' && !reader.isAtEnd && reader.next !== '[') {
      throw new Mistake(start, 1, `the name of a value, such as ${field}.path`);
    }
    const isList = reader.take('[]');
    if (key === '' && !isList) throw new Mistake(start, 1, `the name of a value, such as ${field}.path`);
    parts.push({ key, isList });
  }
  if (parts.length === 0)
    throw new Mistake(reader.at, 1, `a dot and the name of a value, such as ${field}.path`);
  return parts;
}

const comparesNumbers = (kind: QueryField['kind']): boolean => kind === 'duration' || kind === 'path';

function checkedValue(
  field: QueryField | null,
  operator: QueryOperator,
  value: QueryValue,
  at: number,
): QueryValue {
  const { text, isQuoted } = value;
  const fail = (expected: string): never => {
    throw new Mistake(at, text.length, expected);
  };
  if (text === '') fail(isQuoted ? 'a text between the quotes' : 'a value');
  if (field === null || field.kind === 'words') {
    const star = isQuoted ? -1 : text.indexOf('*');
    if (star === 0 && text.length === 1) fail('letters before *');
    if (star >= 0 && star < text.length - 1) fail('* at the end of a word only');
    return value;
  }
  if (field.kind === 'choice') {
    const choice = choiceOf(field, text);
    return choice === null
      ? fail(`one of ${Object.keys(field.choices ?? {}).join(', ')}`)
      : { text: choice, isQuoted: false };
  }
  if (field.kind === 'duration' && durationMsOf(text) === null) fail('a duration, such as 2s, 150ms or 1m');
  if (field.kind === 'path' && operator !== '=' && comparableOf(text) === null) {
    fail('a number, or a time such as 2026-01-31T14:00:00Z');
  }
  // Quotes change only the meaning of a star.
  return { text, isQuoted: isQuoted && text.includes('*') && operator === '=' };
}

function readOperator(reader: Reader, field: QueryField): QueryOperator {
  const start = reader.at;
  const operator = (['>=', '<=', '>', '<'] as const).find((one) => reader.take(one)) ?? '=';
  if (operator !== '=' && !comparesNumbers(field.kind)) {
    throw new Mistake(start, operator.length, `a value; ${field.name} has no order`);
  }
  if (operator === '=' && field.kind === 'duration') {
    throw new Mistake(start, 1, '>, >=, < or <= and a duration, such as >2s');
  }
  return operator;
}

function readValue(reader: Reader, isInList: boolean): { readonly value: QueryValue; readonly at: number } {
  const at = reader.at;
  if (reader.next === '"') return { value: { text: reader.quoted(), isQuoted: true }, at };
  const text = reader.takeWhile((one) => !isSpace(one) && !isMark(one) && !(isInList && one === ','));
  return { value: { text, isQuoted: false }, at };
}

function readValues(reader: Reader, field: QueryField, operator: QueryOperator): QueryValue[] {
  const open = reader.at;
  if (!reader.take('(')) {
    const { value, at } = readValue(reader, false);
    return [checkedValue(field, operator, value, at)];
  }
  if (operator !== '=') throw new Mistake(open, 1, 'one value after a comparison');
  const values: QueryValue[] = [];
  for (;;) {
    reader.skipSpaces();
    const { value, at } = readValue(reader, true);
    const checked = checkedValue(field, operator, value, at);
    const isRepeated = values.some((one) => one.text === checked.text && one.isQuoted === checked.isQuoted);
    if (!isRepeated) values.push(checked);
    reader.skipSpaces();
    if (reader.take(')')) return values;
    if (reader.isAtEnd) throw new Mistake(open, reader.at - open, 'a closing bracket');
    if (!reader.take(',')) throw new Mistake(reader.at, 1, 'a comma or a closing bracket');
  }
}

function fieldsText({ fields }: QueryGrammar): string {
  const names = fields.map(({ name, kind }) => (kind === 'path' ? `${name}.…` : name));
  return `a field (${names.join(', ')}), or quotes around the text`;
}

const fieldName = /^[a-z_]+$/i;

/** The field at the reader's place with its path, up to and with the colon; null if a word stands there. */
function readField(reader: Reader, grammar: QueryGrammar) {
  const start = reader.at;
  const name = reader.takeWhile((one) => fieldName.test(one));
  const field = grammar.fields.find((one) => one.name === name.toLowerCase());
  if (name !== '' && field?.kind === 'path' && (reader.next === '.' || reader.next === ':')) {
    const path = readPath(reader, field.name);
    if (!reader.take(':')) throw new Mistake(reader.at, 1, 'a colon and a value');
    return { field, path };
  }
  if (name !== '' && reader.take(':')) {
    if (!field) throw new Mistake(start, name.length, fieldsText(grammar));
    return { field };
  }
  reader.at = start;
  return null;
}

function readTerm(reader: Reader, grammar: QueryGrammar): QueryTerm {
  const start = reader.at;
  const isNegated = reader.take('-');
  if (reader.isAtEnd || isSpace(reader.next)) throw new Mistake(start, 1, 'a term after -');
  const namedField = readField(reader, grammar);
  if (namedField) {
    const operator = readOperator(reader, namedField.field);
    const values = readValues(reader, namedField.field, operator);
    const { field, path } = namedField;
    return {
      isNegated,
      field: field.name,
      ...(path ? { path } : {}),
      operator,
      values,
      start,
      end: reader.at,
    };
  }
  const wordStart = reader.at;
  const { value, at } = readValue(reader, false);
  if (value.text === '' && !value.isQuoted) throw new Mistake(at, 1, 'a word, a field or a quote');
  const colon = value.isQuoted ? -1 : value.text.indexOf(':');
  if (colon >= 0) throw new Mistake(wordStart, colon, fieldsText(grammar));
  return {
    isNegated,
    field: null,
    operator: '=',
    values: [checkedValue(null, '=', value, at)],
    start,
    end: reader.at,
  };
}

/** Reads a query. Safe for any text; never throws. */
export function parseQuery(text: string, grammar: QueryGrammar): ParsedQuery {
  if (text.length > maxQueryLength) {
    const length = text.length - maxQueryLength;
    return {
      problem: { position: maxQueryLength, length, expected: `at most ${maxQueryLength} characters` },
    };
  }
  const reader = new Reader(text);
  const terms: QueryTerm[] = [];
  try {
    for (reader.skipSpaces(); !reader.isAtEnd; reader.skipSpaces()) {
      if (terms.length === maxQueryTerms) {
        throw new Mistake(reader.at, text.length - reader.at, `at most ${maxQueryTerms} terms`);
      }
      terms.push(readTerm(reader, grammar));
      if (!reader.isAtEnd && !isSpace(reader.next)) throw new Mistake(reader.at, 1, 'a space between terms');
    }
  } catch (error) {
    if (error instanceof Mistake) return { problem: error.problem };
    throw error;
  }
  return { query: { terms } };
}
