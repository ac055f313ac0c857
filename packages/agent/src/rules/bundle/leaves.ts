// Conditions as every released client reads them: one selector and one operator in a mapping. Our engine and the
// contract library also read several, as AND.
import type { Json, JsonObject, YamlPath } from '../yaml.ts';
import { maxConditionDepth } from './condition.ts';
import { isMapping } from './reader.ts';

const branches: ReadonlySet<string> = new Set(['all', 'any', 'not']);

/**
 * The same condition with `all: [{selector: {operator: value}}, …]` for each mapping of several. Order and meaning
 * stay; what is no valid condition is copied as it is.
 */
export function splitLeaves(condition: Json): Json {
  return split(condition, 1);
}

function split(node: Json, depth: number): Json {
  if (!isMapping(node) || depth > maxConditionDepth) return node;
  const [key = '', ...others] = Object.keys(node);
  if (!branches.has(key)) {
    const leaves = leavesOf(node);
    return leaves.length > 1 ? { all: [...leaves] } : node;
  }
  if (others.length > 0) return node;
  const inner = node[key] as Json;
  if (key === 'not') {
    const one = split(inner, depth + 1);
    return one === inner ? node : { not: one };
  }
  if (!Array.isArray(inner)) return node;
  const items = inner.map((item) => split(item, depth + 1));
  if (items.every((item, i) => item === inner[i])) return node;
  // Within `all` they need no list of their own, and no further level.
  const isSpliced = (i: number): boolean => key === 'all' && items[i] !== inner[i] && !isBranch(inner[i]);
  return { [key]: items.flatMap((item, i) => (isSpliced(i) ? leavesIn(item) : [item])) };
}

const isBranch = (node: Json | undefined): boolean =>
  isMapping(node) && Object.keys(node).some((key) => branches.has(key));

/** The conditions of an `all` that stands where a mapping of several stood. */
const leavesIn = (item: Json): readonly Json[] =>
  isMapping(item) && Array.isArray(item.all) ? item.all : [item];

/** One condition for each operator of each selector; none where branches stand beside selectors. */
function leavesOf(node: JsonObject): readonly JsonObject[] {
  const entries = Object.entries(node);
  if (entries.some(([selector]) => branches.has(selector))) return [];
  return entries.flatMap(([selector, tests]) =>
    isMapping(tests) && Object.keys(tests).length > 0
      ? Object.entries(tests).map(([operator, operand]) => leaf(selector, leaf(operator, operand)))
      : [leaf(selector, tests)],
  );
}

const leaf = (key: string, value: Json): JsonObject => Object.fromEntries([[key, value]]);

export interface SeveralLeaves {
  /** Of the second condition, within the mapping. */
  readonly path: YamlPath;
  /** The form to write instead, for example `all: [{args.a: {gt: 1}}, {args.b: {lt: 5}}]`. */
  readonly safeForm: string;
}

/** Several conditions in one mapping, branches apart; null for one alone. */
export function severalLeaves(node: JsonObject): SeveralLeaves | null {
  const leaves = leavesOf(node);
  const second = leaves[1];
  if (!second) return null;
  const [selector = '', tests] = Object.entries(second)[0] ?? [];
  const isFirst = Object.keys(node)[0] === selector;
  const operator = isMapping(tests) ? Object.keys(tests)[0] : undefined;
  const path = isFirst && operator !== undefined ? [selector, operator] : [selector];
  const whole = flow(leaves, Number.POSITIVE_INFINITY);
  return { path, safeForm: whole.length <= maxForm ? whole : flow(leaves, maxOperand) };
}

const maxForm = 300;
const maxOperand = 24;
/** Conditions that a shortened form shows. */
const maxShown = 5;

function flow(leaves: readonly JsonObject[], max: number): string {
  const texts = leaves.slice(0, Number.isFinite(max) ? maxShown : leaves.length).map((one) => {
    const [selector = '', tests] = Object.entries(one)[0] ?? [];
    const [operator = '', operand = null] = isMapping(tests) ? (Object.entries(tests)[0] ?? []) : [];
    const text = JSON.stringify(operand);
    return `{${word(selector)}: {${word(operator)}: ${text.length > max ? '…' : text}}}`;
  });
  return `all: [${[...texts, ...(texts.length < leaves.length ? ['…'] : [])].join(', ')}]`;
}

const word = (key: string): string => (/^[A-Za-z_][\w.-]*$/.test(key) ? key : JSON.stringify(key));
