// `when` expressions: their shape, operators and operands. Reading only; evaluation is elsewhere.
import { RuleError } from '../error.ts';
import { compileSearch } from '../regex/regex.ts';
import type { Json, JsonObject, YamlPath } from '../yaml.ts';
import { isMapping, meantBy, type Reader } from './reader.ts';
import type { Condition, RuleType } from './rule.ts';

export const operatorNames = [
  'exists',
  'equals',
  'not_equals',
  'in',
  'not_in',
  'contains',
  'contains_any',
  'starts_with',
  'ends_with',
  'matches',
  'matches_any',
  'gt',
  'gte',
  'lt',
  'lte',
] as const;
export type OperatorName = (typeof operatorNames)[number];
export const isBuiltIn = (operator: string): operator is OperatorName =>
  operatorNames.some((name) => name === operator);

/** Deepest nesting of all/any/not. */
export const maxConditionDepth = 50;
/** Selector-operator pairs in one rule. */
export const maxLeaves = 100;
/** Patterns in one rule, over all its leaves. */
export const maxPatterns = 100;
/** Instructions of all patterns of one document together. */
export const maxPatternSteps = 200_000;

export interface ConditionScope {
  readonly type: RuleType;
  /** Names of operators beyond the built-in ones. */
  readonly operators: ReadonlySet<string>;
  /** Budget left for the patterns of the document; counted down while reading. */
  readonly patterns: { left: number };
}

interface Count {
  leaves: number;
  patterns: number;
}

/** Reads a `when`; several selectors in one mapping, or several operators under one selector, must all hold. */
export function readCondition(
  reader: Reader,
  value: Json | undefined,
  path: YamlPath,
  scope: ConditionScope,
): Condition | undefined {
  const count: Count = { leaves: 0, patterns: 0 };
  const condition = readNode(reader, value, path, scope, count, 1);
  if (count.leaves > maxLeaves)
    return reader.problem(path, `expected at most ${maxLeaves} conditions; there are ${count.leaves}`);
  if (count.patterns > maxPatterns) {
    return reader.problem(path, `expected at most ${maxPatterns} patterns; there are ${count.patterns}`);
  }
  return condition;
}

function readNode(
  reader: Reader,
  value: Json | undefined,
  path: YamlPath,
  scope: ConditionScope,
  count: Count,
  depth: number,
): Condition | undefined {
  if (depth > maxConditionDepth)
    return reader.problem(path, `expected conditions nested at most ${maxConditionDepth} deep`);
  if (!isMapping(value))
    return reader.problem(path, 'expected a mapping: all, any, not, or selector: {operator: value}');
  const keys = Object.keys(value);
  const key = keys[0];
  if (key === undefined) return reader.problem(path, 'expected at least one condition');
  const branch = keys.find((name) => name === 'all' || name === 'any' || name === 'not');
  if (branch === undefined) return readLeaves(reader, value, path, scope, count);
  if (keys.length > 1) return reader.problem(path, `expected ${branch} to be the only key of its mapping`);
  const inner = value[branch];
  if (branch === 'not') {
    const node = readNode(reader, inner, [...path, 'not'], scope, count, depth + 1);
    return node && { kind: 'not', node };
  }
  if (!Array.isArray(inner) || inner.length === 0)
    return reader.problem([...path, branch], 'expected a list of at least one condition');
  const nodes = inner.map((item, i) => readNode(reader, item, [...path, branch, i], scope, count, depth + 1));
  return nodes.every((node) => node !== undefined)
    ? { kind: branch === 'all' ? 'all' : 'any', nodes }
    : undefined;
}

function readLeaves(
  reader: Reader,
  value: JsonObject,
  path: YamlPath,
  scope: ConditionScope,
  count: Count,
): Condition | undefined {
  const leaves: Condition[] = [];
  let good = true;
  for (const [selector, tests] of Object.entries(value)) {
    const at = [...path, selector];
    if (scope.type === 'pre' && (selector === 'output.text' || selector.startsWith('result.'))) {
      reader.problem(at, `${selector} exists only after the call: use it in a post contract`);
      good = false;
    }
    if (!isMapping(tests) || Object.keys(tests).length === 0) {
      reader.problem(at, 'expected a mapping of at least one operator to its value');
      good = false;
      continue;
    }
    for (const [operator, operand] of Object.entries(tests)) {
      count.leaves++;
      if (readOperand(reader, operator, operand, [...at, operator], scope, count)) {
        leaves.push({ kind: 'leaf', selector, operator, operand });
      } else good = false;
    }
  }
  const [only] = leaves;
  return !good ? undefined : leaves.length === 1 ? only : { kind: 'all', nodes: leaves };
}

function readOperand(
  reader: Reader,
  operator: string,
  operand: Json,
  path: YamlPath,
  scope: ConditionScope,
  count: Count,
): boolean {
  switch (operator as OperatorName) {
    case 'exists':
      return typeof operand === 'boolean' || refuse(reader, path, 'expected true or false');
    case 'equals':
    case 'not_equals':
      return true;
    case 'in':
    case 'not_in':
      return (
        (Array.isArray(operand) && operand.length > 0 && operand.length <= 1000) ||
        refuse(reader, path, 'expected a list of 1 to 1000 values')
      );
    case 'contains':
    case 'starts_with':
    case 'ends_with':
      return typeof operand === 'string' || refuse(reader, path, 'expected a string');
    case 'contains_any':
      return reader.texts(operand, path, 1) !== undefined;
    case 'matches':
      count.patterns++;
      return readPattern(reader, operand, path, scope);
    case 'matches_any': {
      const patterns = reader.texts(operand, path, 1, maxPatterns);
      count.patterns += patterns?.length ?? 0;
      // `every` would stop at the first bad one; all are reported.
      return (
        (patterns?.filter((pattern, i) => !readPattern(reader, pattern, [...path, i], scope)).length ?? 1) ===
        0
      );
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return typeof operand === 'number' || refuse(reader, path, 'expected a number');
    default:
      return (
        scope.operators.has(operator) ||
        refuse(
          reader,
          path,
          `unknown operator; expected one of ${operatorNames.join(', ')}${meantBy(operator, [...operatorNames, ...scope.operators])}`,
        )
      );
  }
}

function readPattern(reader: Reader, value: Json, path: YamlPath, { patterns }: ConditionScope): boolean {
  const pattern = reader.text(value, path);
  if (pattern === undefined) return false;
  if (patterns.left <= 0)
    return refuse(reader, path, `expected patterns of at most ${maxPatternSteps} steps together`);
  try {
    patterns.left -= compileSearch(pattern).size;
    return true;
  } catch (error) {
    if (error instanceof RuleError) return refuse(reader, path, error.message);
    throw error;
  }
}

function refuse(reader: Reader, path: YamlPath, expected: string): false {
  reader.problem(path, expected);
  return false;
}
