// Operators: what is asked of a selected value, compiled to functions.
import type { OperatorName } from '../bundle/condition.ts';
import { type Budget, compileSearch, spend, withinCondition } from '../regex/regex.ts';
import type { Json } from '../yaml.ts';

/** The three results of a test. A fault makes the rule fire: closed, not open. */
export const no = 0;
export const yes = 1;
export const fault = 2;
export type OperatorResult = typeof no | typeof yes | typeof fault;

/** Tests a value that is present (neither undefined nor null). */
export type Test = (field: unknown, budget: Budget) => OperatorResult;

/** A custom operator: truthy holds; throwing is a fault. */
export type CustomOperator = (field: unknown, operand: Json) => unknown;

/** Operators that agents register and that do not exist here: each is a fault, which makes its contract fire. */
export const absentOperators = (names: Iterable<string>): Readonly<Record<string, CustomOperator>> =>
  Object.fromEntries(
    [...names].map((name) => [
      name,
      () => {
        throw new Error(`the custom operator ${name} cannot run here`);
      },
    ]),
  );

/** Compiles every operator but `exists`, which alone looks at missing values. Null for an unknown name. */
export function compileOperator(
  name: string,
  operand: Json,
  custom: Readonly<Record<string, CustomOperator>> = {},
): Test | null {
  switch (name as OperatorName) {
    case 'equals':
      return (field, budget) => truth(isSame(field, operand, budget));
    case 'not_equals':
      return (field, budget) => truth(!isSame(field, operand, budget));
    case 'in':
      return (field, budget) => truth(isMember(field, operand, budget));
    case 'not_in':
      return (field, budget) => truth(!isMember(field, operand, budget));
    case 'contains':
      return onText((field) => field.includes(operand as string));
    case 'contains_any': {
      const needles = operand as string[];
      return onText((field, budget) =>
        needles.some((needle) => {
          spend(budget, 1 + (field.length >> 2));
          return field.includes(needle);
        }),
      );
    }
    case 'starts_with':
      return onText((field) => field.startsWith(operand as string));
    case 'ends_with':
      return onText((field) => field.endsWith(operand as string));
    case 'matches': {
      const regex = compileSearch(operand as string);
      return onText((field, budget) => withinCondition(budget, (own) => regex.test(field, own)));
    }
    case 'matches_any': {
      const regexes = (operand as string[]).map(compileSearch);
      return onText((field, budget) =>
        withinCondition(budget, (own) => regexes.some((regex) => regex.test(field, own))),
      );
    }
    case 'gt':
      return onNumber((field) => field > (operand as number));
    case 'gte':
      return onNumber((field) => field >= (operand as number));
    case 'lt':
      return onNumber((field) => field < (operand as number));
    case 'lte':
      return onNumber((field) => field <= (operand as number));
    default: {
      const own = Object.hasOwn(custom, name) ? custom[name] : undefined;
      return own ? (field) => truth(own(field, operand)) : null;
    }
  }
}

const truth = (value: unknown): OperatorResult => (value ? yes : no);

const onText =
  (test: (field: string, budget: Budget) => boolean): Test =>
  (field, budget) => {
    if (typeof field !== 'string') return fault;
    spend(budget, 1 + (field.length >> 4));
    return test(field, budget) ? yes : no;
  };

/** Booleans count as the numbers 1 and 0, as in the language the rules come from; numeric texts do not. */
const onNumber =
  (test: (field: number | bigint) => boolean): Test =>
  (field) => {
    if (typeof field === 'boolean') return truth(test(Number(field)));
    return typeof field === 'number' || typeof field === 'bigint' ? truth(test(field)) : fault;
  };

function isMember(field: unknown, list: Json, budget: Budget): boolean {
  return (list as Json[]).some((item) => isSame(field, item, budget));
}

type Numeric = boolean | number | bigint;
const isNumeric = (value: unknown): value is Numeric =>
  typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint';

/** Exact: a comparison does not round a big integer, as Number() would. False for two NaN. */
const isSameNumber = (a: Numeric, b: Numeric): boolean => a >= b && a <= b;

/** Deep equality in which 1, 1.0 and true are the same, keys are unordered, and inherited keys do not count. */
export function isSame(a: unknown, b: unknown, budget: Budget): boolean {
  spend(budget, 1);
  if (a === b) return true;
  if (isNumeric(a) && isNumeric(b)) return isSameNumber(a, b);
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => isSame(item, b[i], budget));
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every(
      (key) =>
        Object.hasOwn(b, key) &&
        isSame((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key], budget),
    )
  );
}
