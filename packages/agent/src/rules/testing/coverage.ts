// Which contracts and conditions a set of cases reaches.
import type { Rule, SessionRule } from '../bundle/rule.ts';
import type { CompiledBundle, CompiledRule } from '../evaluate/compile.ts';
import { exceeds } from '../evaluate/limits.ts';
import { hasPolicyError, recordOf, viewOf } from '../evaluate/record.ts';
import { leavesOf, traceCondition } from '../evaluate/trace.ts';
import type { Case } from './cases.ts';

export interface ContractCoverage {
  readonly id: string;
  readonly type: Rule['type'];
  /** Cases that the contract looked at. */
  readonly looked: number;
  /** Cases in which it fired. */
  readonly fired: number;
  /** Conditions that no case evaluated, or that held in none, for example `args.amount gt 1000`. */
  readonly unmet: readonly string[];
}

export interface Coverage {
  readonly contracts: readonly ContractCoverage[];
  /** Contracts that fired in some case, and all. */
  readonly fired: number;
  readonly total: number;
}

/** Runs the cases once more and counts. A session contract looks at every case that gives counters. */
export function coverageOf(bundle: CompiledBundle, cases: readonly Case[]): Coverage {
  const contracts = bundle.document.rules
    .filter((rule) => rule.enabled && !rule.shadow)
    .map((rule) =>
      rule.type === 'session' ? sessionCoverage(rule, cases) : callCoverage(bundle, rule, cases),
    );
  return { contracts, fired: contracts.filter(({ fired }) => fired > 0).length, total: contracts.length };
}

function sessionCoverage({ id, limits }: SessionRule, cases: readonly Case[]): ContractCoverage {
  const outcomes = cases.flatMap(({ call, session }) =>
    session ? [exceeds(limits, call.tool, session)] : [],
  );
  return { id, type: 'session', looked: outcomes.length, fired: outcomes.filter(Boolean).length, unmet: [] };
}

function callCoverage(
  bundle: CompiledBundle,
  rule: Exclude<Rule, { type: 'session' }>,
  cases: readonly Case[],
): ContractCoverage {
  let looked = 0;
  let fired = 0;
  const met = new Map<string, boolean>();
  for (const { call, output } of cases) {
    const compiled = ruleOf(bundle, call.tool, rule.id);
    if (!compiled || (rule.type === 'post' && output === undefined)) continue;
    looked++;
    const view = viewOf(bundle, call, rule.type === 'post' ? output : undefined);
    const record = recordOf(compiled, view);
    if (!record.passed && !hasPolicyError(record)) fired++;
    if (rule.type === 'sandbox') continue;
    for (const leaf of leavesOf(traceCondition(rule.when, view))) {
      const name = `${leaf.selector} ${leaf.operator} ${JSON.stringify(leaf.operand)}`;
      met.set(name, met.get(name) === true || leaf.outcome === 'yes');
    }
  }
  const unmet = [...met].filter(([, held]) => !held).map(([name]) => name);
  return { id: rule.id, type: rule.type, looked, fired, unmet };
}

function ruleOf(bundle: CompiledBundle, tool: string, id: string): CompiledRule | undefined {
  const { before, post } = bundle.rulesFor(tool);
  return [...before, ...post].find(({ rule }) => rule.id === id);
}
