// Conditions that contradict themselves, and contracts that contradict each other. Finds; refuses nothing.
import type { Json, JsonObject, YamlPath } from '../yaml.ts';
import { splitLeaves } from './leaves.ts';
import { isMapping } from './reader.ts';

/** One test of a value, and where it stands. */
interface Leaf {
  readonly selector: string;
  readonly operator: string;
  readonly operand: Json;
  /** Of the selector. */
  readonly path: YamlPath;
}

type Add = (path: YamlPath, message: string) => void;

const excluding = 'No number meets both bounds.';

/** Conditions that must all hold and never do together, for each such group in a `when`. */
export function addContradictions(node: Json, path: YamlPath, add: Add): void {
  const bySelector = new Map<string, Leaf[]>();
  for (const leaf of conjunction(node, path, (inner, at) => addContradictions(inner, at, add))) {
    const leaves = bySelector.get(leaf.selector);
    if (leaves) leaves.push(leaf);
    else bySelector.set(leaf.selector, [leaf]);
  }
  for (const leaves of bySelector.values()) {
    const message = contradiction(leaves);
    if (message !== null) add((leaves.at(-1) as Leaf).path, message);
  }
}

/** All tests that must hold together. @param apart takes each condition that may hold without the others */
function conjunction(node: Json, path: YamlPath, apart: (inner: Json, path: YamlPath) => void): Leaf[] {
  if (!isMapping(node)) return [];
  return Object.entries(node).flatMap(([key, inner]): Leaf[] => {
    const at = [...path, key];
    if (key === 'all' && Array.isArray(inner))
      return inner.flatMap((item, i) => conjunction(item, [...at, i], apart));
    if (key === 'any' && Array.isArray(inner))
      for (const [i, item] of inner.entries()) apart(item, [...at, i]);
    if (key === 'not') apart(inner, at);
    if (key === 'all' || key === 'any' || key === 'not' || !isMapping(inner)) return [];
    return Object.entries(inner).map(([operator, operand]) => ({
      selector: key,
      operator,
      operand,
      path: at,
    }));
  });
}

/** Reason that keeps every value from meeting all conditions; null when a value may. */
function contradiction(leaves: readonly Leaf[]): string | null {
  const numbers = (operator: string): number[] =>
    leaves.flatMap((leaf) =>
      leaf.operator === operator && typeof leaf.operand === 'number' ? [leaf.operand] : [],
    );
  const [above = [], least = [], below = [], upTo = []] = ['gt', 'gte', 'lt', 'lte'].map(numbers);
  const fits = (n: number): boolean =>
    above.every((bound) => n > bound) &&
    least.every((bound) => n >= bound) &&
    below.every((bound) => n < bound) &&
    upTo.every((bound) => n <= bound);
  const floor = Math.max(...above, ...least);
  const ceiling = Math.min(...below, ...upTo);
  if (floor > ceiling || (floor === ceiling && !fits(floor))) return excluding;
  const isAbsent = leaves.some(({ operator, operand }) => operator === 'exists' && operand === false);
  if (isAbsent && leaves.length > 1)
    return 'A missing value meets no other operator, so these conditions exclude each other.';
  const lists = leaves.flatMap(({ operator, operand }): (readonly Json[])[] =>
    operator === 'equals' ? [[operand]] : operator === 'in' && Array.isArray(operand) ? [operand] : [],
  );
  const [first, ...others] = lists;
  if (!first) return null;
  const isScalar = (value: Json): boolean => value === null || typeof value !== 'object';
  if (!lists.flat().every(isScalar)) return null;
  const excluded = leaves.flatMap(({ operator, operand }): readonly Json[] =>
    operator === 'not_equals' ? [operand] : operator === 'not_in' && Array.isArray(operand) ? operand : [],
  );
  const contains = (list: readonly Json[], value: Json): boolean => list.some((one) => isAlike(one, value));
  const possible = first.filter(
    (value) => others.every((list) => contains(list, value)) && !contains(excluded, value),
  );
  if (possible.length === 0) return 'No value meets all these conditions at once.';
  // A text that is compared with a bound is a fault, which fires.
  return possible.every((value) => typeof value === 'number' && !fits(value)) ? excluding : null;
}

/** 1, 1.0 and true are the same in conditions. */
const isAlike = (a: Json, b: Json): boolean =>
  a === b || (isNumeric(a) && isNumeric(b) && Number(a) === Number(b));
const isNumeric = (value: Json): boolean => typeof value === 'number' || typeof value === 'boolean';

/** A text that two conditions share when they are equal, whatever the order of their parts. */
export function conditionKey(condition: Json): string {
  return JSON.stringify(sorted(splitLeaves(condition)));
}

function sorted(node: Json): Json {
  if (Array.isArray(node)) return node.map(sorted);
  if (!isMapping(node)) return node;
  const entries = Object.entries(node).map(([key, value]): [string, Json] => {
    const inner = sorted(value);
    const isList = (key === 'all' || key === 'any') && Array.isArray(inner);
    return [key, isList ? [...inner].sort((a, b) => (text(a) < text(b) ? -1 : 1)) : inner];
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))) as JsonObject;
}

const text = (value: Json): string => JSON.stringify(value);
