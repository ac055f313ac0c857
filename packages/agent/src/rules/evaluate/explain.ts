// The conditions of one contract for one call, each with the value that it compared: for records of what a contract
// stopped. Calls are judged without it.
import type { Rule, SandboxRule, SessionRule } from '../bundle/rule.ts';
import { newBudget } from '../regex/regex.ts';
import { Naming } from '../sandbox/arguments.ts';
import { compileDeclarations } from '../sandbox/names.ts';
import { sandboxCompiler } from '../sandbox/sandbox.ts';
import type { View } from './call.ts';
import { type Counters, perToolLimit } from './limits.ts';
import { fault, no } from './operator.ts';
import type { EngineOptions } from './options.ts';
import { createTracer, leavesOf, type TraceOutcome } from './trace.ts';

/** One comparison of a contract, as it came out for one call. */
export interface EvaluatedCondition {
  /** The selector; `args` for a boundary of a sandbox; `limits.<limit>` for a limit of a session. */
  readonly path: string;
  /** Of the rule language; for a sandbox the key of the boundary, such as `within` or `allows.domains`. */
  readonly operator: string;
  readonly expected: unknown;
  /** Null: there was no value. For a sandbox: what the call names. */
  readonly actual: unknown;
  /** Result of the comparison. `fault`: the comparison failed. `skipped`: earlier comparisons had decided. */
  readonly result: TraceOutcome;
}

/** @returns the comparisons in the order of the contract, values as they are: nothing is redacted or cut */
export type Explainer = (rule: Rule, view: View, counters: Counters | null) => readonly EvaluatedCondition[];

/** Explains rules that were compiled with the same options. Never throws. */
export function createExplainer(options: EngineOptions = {}): Explainer {
  const { operators = {}, selectors = {} } = options;
  const trace = createTracer({ operators, selectors, show: (_, value) => value });
  const explainSandbox = sandboxExplainer(options);
  return (rule, view, counters) => {
    const ownView = { ...view, budget: newBudget() };
    try {
      if (rule.type === 'session') return counters ? sessionConditions(rule, view.call.tool, counters) : [];
      if (rule.type === 'sandbox') return explainSandbox(rule, ownView);
      return leavesOf(trace(rule.when, ownView)).map(({ selector, operator, operand, value, outcome }) => ({
        path: selector,
        operator,
        expected: operand,
        actual: value ?? null,
        result: outcome,
      }));
    } catch {
      return [];
    }
  };
}

function sessionConditions({ limits }: SessionRule, tool: string, counters: Counters): EvaluatedCondition[] {
  const compared: readonly [limit: string, expected: number | undefined, actual: number][] = [
    ['max_attempts', limits.maxAttempts, counters.attempts],
    ['max_tool_calls', limits.maxToolCalls, counters.executions],
    ['max_calls_per_tool', perToolLimit(limits, tool), counters.toolExecutions],
  ];
  return compared.flatMap(([limit, expected, actual]) =>
    expected === undefined
      ? []
      : [
          {
            path: `limits.${limit}`,
            operator: 'gte',
            expected,
            actual,
            result: actual >= expected ? 'yes' : 'no',
          },
        ],
  );
}

/** One boundary of a sandbox, as a sandbox with that boundary alone. */
interface Boundary {
  readonly operator: string;
  readonly expected: readonly string[];
  readonly alone: Partial<SandboxRule>;
  readonly actualOf: (naming: Naming) => readonly string[];
}

const open = { within: null, notWithin: [], commands: null, domains: null, notDomains: [] };

const linesOf = ({ commands }: Naming): readonly string[] =>
  commands.map(({ line, words }) => [line, ...words].filter((part) => part !== '').join(' '));
const placesOf = (naming: Naming): readonly string[] => [
  ...naming.folders.map(({ path }) => path),
  ...naming.paths,
  ...linesOf(naming),
];
const addressesOf = (naming: Naming): readonly string[] => [...naming.urls, ...linesOf(naming)];

function boundariesOf({ within, notWithin, commands, domains, notDomains }: SandboxRule): Boundary[] {
  const boundaries: (Boundary | null)[] = [
    within && { operator: 'within', expected: within, alone: { within }, actualOf: placesOf },
    notWithin.length > 0
      ? {
          operator: 'not_within',
          expected: notWithin,
          alone: { within: ['/'], notWithin },
          actualOf: placesOf,
        }
      : null,
    commands && { operator: 'allows.commands', expected: commands, alone: { commands }, actualOf: linesOf },
    domains && { operator: 'allows.domains', expected: domains, alone: { domains }, actualOf: addressesOf },
    notDomains.length > 0
      ? { operator: 'not_allows.domains', expected: notDomains, alone: { notDomains }, actualOf: addressesOf }
      : null,
  ];
  return boundaries.flatMap((boundary) => boundary ?? []);
}

/** A boundary holds (`yes`) while the call stays within it. */
function sandboxExplainer(options: EngineOptions) {
  const compile = sandboxCompiler(options);
  const declarations = compileDeclarations(options.toolArguments);
  const compiled = new WeakMap<SandboxRule, readonly (Boundary & { leaves: ReturnType<typeof compile> })[]>();
  const partsOf = (rule: SandboxRule) => {
    const parts =
      compiled.get(rule) ??
      boundariesOf(rule).map((boundary) => ({
        ...boundary,
        leaves: compile({ ...rule, ...open, ...boundary.alone }),
      }));
    compiled.set(rule, parts);
    return parts;
  };
  return (rule: SandboxRule, view: View): readonly EvaluatedCondition[] => {
    const naming = new Naming(view.call, declarations(view.call.tool), newBudget());
    return partsOf(rule).map(({ operator, expected, leaves, actualOf }) => {
      let result: TraceOutcome = 'fault';
      try {
        const outcome = leaves({ ...view, budget: newBudget() });
        if (outcome !== fault) result = outcome === no ? 'yes' : 'no';
      } catch {
        // A spent budget is a fault.
      }
      return { path: 'args', operator, expected, actual: actualOf(naming), result };
    });
  };
}
