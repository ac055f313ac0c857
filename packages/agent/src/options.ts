// Checks of the options that callers give: every name is known and every value fits, else a TypeError names the option.
// Pure.
import { isObject } from './fields.ts';
import { nearestWord } from './rules/bundle/distance.ts';

/** Returns the expectation, as the words after "must be"; null for a valid value. Never called with undefined. */
export type Check = (value: unknown) => string | null;

/** A check for every option of a type, so that the compiler notices one that is missing. */
export type Checks<T> = { readonly [K in keyof T]-?: Check };

/**
 * Every option is known and fits; undefined counts as not given.
 * @param where stands before the option's name in messages: empty, or `redaction.`
 * @param required names that must be given
 * @throws TypeError naming the first option that is wrong
 */
export function checkOptions<T extends object>(
  optionValue: unknown,
  checks: Checks<T>,
  {
    where = '',
    required = [],
  }: { readonly where?: string; readonly required?: readonly (keyof T & string)[] } = {},
): asserts optionValue is T {
  if (!isObject(optionValue))
    throw new TypeError(`${where === '' ? 'the options' : where} must be an object`);
  for (const name of required) {
    if (optionValue[name] !== undefined) continue;
    throw new TypeError(`option ${where}${name} is not set`);
  }
  const byName = checks as { readonly [name: string]: Check };
  for (const [name, value] of Object.entries(optionValue)) {
    if (!Object.hasOwn(byName, name)) throw unknownOption(where, name, Object.keys(byName));
    const expected = value === undefined ? null : (byName[name]?.(value) ?? null);
    if (expected === null) continue;
    throw new TypeError(`option ${where}${name} must be ${expected}, but is ${kindOf(value)}`);
  }
}

function unknownOption(where: string, name: string, names: readonly string[]): TypeError {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[_-]/g, '');
  const meant =
    names.find((one) => plain(one) === plain(name)) ??
    nearestWord(name, names, (one) => (one.length <= 4 ? 1 : one.length <= 8 ? 2 : 3));
  return new TypeError(
    `there is no option ${where}${name}${meant === undefined ? '' : `; did you mean ${where}${meant}?`}`,
  );
}

/** The kind of a value, without its content, which may be secret. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === '') return 'empty';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'number') return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const check =
  (fits: (value: unknown) => boolean, expected: string): Check =>
  (value) =>
    fits(value) ? null : expected;

/** Any value. */
export const anything: Check = () => null;
export const aFlag = check((value) => typeof value === 'boolean', 'true or false');
export const aFunction = check((value) => typeof value === 'function', 'a function');
export const anObject = check(isObject, 'an object');
export const aText = check(
  (value) => typeof value === 'string' && value !== '',
  'a string that is not empty',
);
export const aList = check(Array.isArray, 'a list');
export const texts = check(
  (value) =>
    typeof value !== 'string' && isIterable(value) && [...value].every((one) => typeof one === 'string'),
  'a list of strings',
);
/** A whole number from `least`. */
export const aCount = (least: number): Check =>
  check((value) => Number.isSafeInteger(value) && Number(value) >= least, `a whole number from ${least}`);
export const milliseconds = check(
  (value) => typeof value === 'number' && value > 0 && value <= 2 ** 31 - 1,
  'a positive number of milliseconds',
);
export const aPattern = (pattern: RegExp, words: string): Check =>
  check((value) => typeof value === 'string' && pattern.test(value), words);
export const oneOf = (...values: readonly string[]): Check =>
  check(
    (value) => typeof value === 'string' && values.includes(value),
    values.map((one) => `'${one}'`).join(' or '),
  );
/** An object with these methods. */
export const having = (...methods: readonly string[]): Check =>
  check(
    (value) => typeof value === 'object' && value !== null && methods.every((name) => name in value),
    `an object with ${methods.map((name) => `${name}()`).join(' and ')}`,
  );
export const functionsByName = check(
  (value) => isObject(value) && Object.values(value).every((one) => typeof one === 'function'),
  'an object of functions',
);
export const orNull =
  (inner: Check): Check =>
  (value) =>
    value === null ? null : inner(value);
/** A list whose items fit; the message names the first that does not. */
export const listOf =
  (inner: (item: unknown, index: number) => string | null): Check =>
  (value) => {
    if (!Array.isArray(value)) return 'a list';
    return value.reduce((problem: string | null, item: unknown, i) => problem ?? inner(item, i), null);
  };

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value;
