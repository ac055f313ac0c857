// `when` expressions compiled to one function per rule; left to right, stopping as soon as the result is known.
import type { Condition } from '../bundle/rule.ts';
import { RuleError } from '../error.ts';
import { spend } from '../regex/regex.ts';
import type { View } from './call.ts';
import { type CustomOperator, compileOperator, fault, no, type OperatorResult, yes } from './operator.ts';
import { type CustomSelector, compileSelector } from './selector.ts';

export type Predicate = (view: View) => OperatorResult;

export interface Extensions {
  readonly operators?: Readonly<Record<string, CustomOperator>>;
  readonly selectors?: Readonly<Record<string, CustomSelector>>;
}

/**
 * Compiles a condition.
 * @throws RuleError for an operator nobody defines (only a condition that no reader checked can have one)
 */
export function compileCondition(condition: Condition, extensions: Extensions = {}): Predicate {
  if (condition.kind === 'leaf') return compileLeaf(condition, extensions);
  if (condition.kind === 'not') {
    const inner = compileCondition(condition.node, extensions);
    return (view) => {
      const outcome = inner(view);
      return outcome === fault ? fault : outcome === yes ? no : yes;
    };
  }
  const nodes = condition.nodes.map((node) => compileCondition(node, extensions));
  // The first "no" ends the walk of `all`, the first "yes" that of `any`; a fault ends both.
  const go = condition.kind === 'all' ? yes : no;
  return (view) => {
    for (const node of nodes) {
      const outcome = node(view);
      if (outcome !== go) return outcome;
    }
    return go;
  };
}

function compileLeaf(
  leaf: Extract<Condition, { kind: 'leaf' }>,
  { operators, selectors }: Extensions,
): Predicate {
  const get = compileSelector(leaf.selector, selectors);
  if (leaf.operator === 'exists') {
    const expected = leaf.operand === true;
    return (view) => {
      const field = get(view);
      return (field !== undefined && field !== null) === expected ? yes : no;
    };
  }
  const test = compileOperator(leaf.operator, leaf.operand, operators);
  if (!test) throw new RuleError(`unknown operator ${leaf.operator}`);
  return (view) => {
    spend(view.budget, 1);
    const field = get(view);
    return field === undefined || field === null ? no : test(field, view.budget);
  };
}

/** The patterns that a condition looks for in `output.text`, wherever they stand in it: what a redaction replaces. */
export function outputPatterns(condition: Condition): readonly string[] {
  if (condition.kind === 'not') return outputPatterns(condition.node);
  if (condition.kind !== 'leaf') return condition.nodes.flatMap(outputPatterns);
  if (condition.selector !== 'output.text') return [];
  if (condition.operator === 'matches') return [String(condition.operand)];
  return condition.operator === 'matches_any' ? (condition.operand as string[]) : [];
}
