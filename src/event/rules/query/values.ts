// Tests of values that queries of several nouns share: by a path, as texts, numbers or times. Pure.
import type { JsonObject } from '../../../contract/record.ts';
import { comparableOf, type Query, type QueryPathPart, type QueryTerm } from './parse.ts';
import { globTest, type TextTest, visibleText } from './words.ts';

export const anyOf =
  (tests: readonly TextTest[]): TextTest =>
  (text) =>
    tests.some((test) => test(text));
export const globs = ({ values }: QueryTerm): TextTest => anyOf(values.map(globTest));

/** The only values that a query allows for a field; null if it allows others. */
export function onlyValues({ terms }: Query, name: string): readonly string[] | null {
  const exact = terms.find(
    ({ field, isNegated, values }) =>
      field === name && !isNegated && values.every(({ isQuoted, text }) => isQuoted || !text.includes('*')),
  );
  return exact?.values.map(({ text }) => text) ?? null;
}

/** The only value that a query allows for a field; undefined if it allows others. */
export function onlyValue(query: Query, name: string): string | undefined {
  const values = onlyValues(query, name);
  return values?.length === 1 ? values[0] : undefined;
}

/** Makes the test of all terms from the test of each. */
export function everyTerm<Subject>(
  terms: readonly QueryTerm[],
  testOf: (term: QueryTerm) => (subject: Subject) => boolean,
): (subject: Subject) => boolean {
  const tests = terms.map((term) => {
    const test = testOf(term);
    return (subject: Subject) => test(subject) !== term.isNegated;
  });
  return (subject) => tests.every((test) => test(subject));
}

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
export const textsIn = (payload: JsonObject | null, ...keys: readonly string[]): readonly string[] =>
  keys.map((key) => (payload !== null && Object.hasOwn(payload, key) ? payload[key] : null)).filter(isText);

/** The values at a path. A list is entered only by a list part of the path, or by the number of an element. */
function valuesAt(root: unknown, path: readonly QueryPathPart[]): readonly unknown[] {
  let values: readonly unknown[] = [root];
  for (const { key, isList } of path) {
    const inner = key === '' ? values : values.flatMap((value) => ownValue(value, key));
    values = isList ? inner.flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [])) : inner;
  }
  return values;
}

const ownValue = (value: unknown, key: string): unknown[] =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? [(value as JsonObject)[key]]
    : [];

export function comparison(operator: QueryTerm['operator'], limit: number): (value: number) => boolean {
  switch (operator) {
    case '>':
      return (value) => value > limit;
    case '>=':
      return (value) => value >= limit;
    case '<':
      return (value) => value < limit;
    case '<=':
      return (value) => value <= limit;
    default:
      return (value) => value === limit;
  }
}

/** Compares a value as the number or time that the query names; any other value does not match. */
function comparableTest({ operator, values }: QueryTerm): (value: unknown) => boolean {
  const limit = comparableOf(values[0]?.text ?? '');
  if (!limit) return () => false;
  const compare = comparison(operator, limit.value);
  return (value) => {
    if (typeof value === 'number') return limit.kind === 'number' && compare(value);
    const own = typeof value === 'string' ? comparableOf(value.trim()) : null;
    return own?.kind === limit.kind && compare(own.value);
  };
}

export function pathTest(term: QueryTerm): (root: unknown) => boolean {
  const path = term.path ?? [];
  const isAnything = term.values.some(({ text, isQuoted }) => text === '*' && !isQuoted);
  const test = globs(term);
  const compare = term.operator === '=' ? null : comparableTest(term);
  return (root) =>
    valuesAt(root, path).some((value) => {
      if (compare) return compare(value);
      if (value === null || value === undefined) return false;
      if (typeof value === 'object') return isAnything;
      const text = visibleText(String(value));
      return text !== null && test(text);
    });
}

/** Values of arguments visited for one event. */
const maxVisited = 100_000;

/** True if a text, number or boolean below the value passes. */
export function someText(value: unknown, test: TextTest): boolean {
  const stack: unknown[] = [value];
  for (let visited = 0; stack.length > 0 && visited < maxVisited; visited++) {
    const next = stack.pop();
    if (next === null || next === undefined) continue;
    if (typeof next === 'object') stack.push(...Object.values(next).slice(0, maxVisited));
    else {
      const text = visibleText(String(next));
      if (text !== null && test(text)) return true;
    }
  }
  return false;
}
