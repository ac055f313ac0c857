// A condition evaluated once more with a note of each step: what was looked at, the value it saw, and what came of it.
// For people who ask why; live calls are judged without it.
import { isBuiltIn } from '../bundle/condition.ts';
import type { Condition } from '../bundle/rule.ts';
import { createRedaction, type Redaction, redactSelected } from '../redact.ts';
import { spend } from '../regex/regex.ts';
import type { Json } from '../yaml.ts';
import type { ToolCall, View } from './call.ts';
import { compileCondition, type Extensions, type Predicate } from './condition.ts';
import { fault, no, type OperatorResult } from './operator.ts';
import { compileSelector, type Getter } from './selector.ts';

/** `fault`: the value could not be tested, which makes the contract fire. `skipped`: the result was known before. */
export type TraceOutcome = 'yes' | 'no' | 'fault' | 'skipped';

export type ConditionTrace =
  | {
      readonly kind: 'all' | 'any' | 'not';
      readonly outcome: TraceOutcome;
      readonly conditions: readonly ConditionTrace[];
    }
  | {
      readonly kind: 'leaf';
      readonly selector: string;
      readonly operator: string;
      readonly operand: Json;
      /**
       * The value that the selector found, secrets replaced, texts cut at 1,000 characters; absent when there was none
       * or it was not read.
       */
      readonly value?: unknown;
      readonly outcome: TraceOutcome;
    };

export interface TraceOptions extends Extensions {
  /** Redaction of the shown values; default: the built-in policy. */
  readonly redaction?: Redaction;
  /** A copy of a value for the trace, over the redaction's. */
  readonly show?: (selector: string, value: unknown) => unknown;
}

/** Traces a condition for a call: left to right, stopping as soon as the result is known. */
export type Tracer = (condition: Condition, view: View) => ConditionTrace;

type Leaf = Extract<Condition, { kind: 'leaf' }>;

/** The test and the selector of each leaf, compiled once. */
function leafCompiler(
  options: TraceOptions,
): (leaf: Leaf) => { readonly test: Predicate; readonly select: Getter } {
  const compiled = new WeakMap<Leaf, { readonly test: Predicate; readonly select: Getter }>();
  return (leaf) => {
    const cached = compiled.get(leaf);
    if (cached) return cached;
    const select = compileSelector(leaf.selector, options.selectors);
    const exists = isBuiltIn(leaf.operator) || Object.hasOwn(options.operators ?? {}, leaf.operator);
    const parts = { test: exists ? compileCondition(leaf, options) : absentTest(select), select };
    compiled.set(leaf, parts);
    return parts;
  };
}

/** An operator that exists only in agents: as there, a missing value does not hold. A present one cannot be tested. */
const absentTest =
  (select: Getter): Predicate =>
  (view) => {
    spend(view.budget, 1);
    return (select(view) ?? null) === null ? no : fault;
  };

/** A tracer that compiles each condition once, for many calls. */
export function createTracer(options: TraceOptions = {}): Tracer {
  const { redaction = createRedaction() } = options;
  const show =
    options.show ?? ((selector: string, value: unknown) => redactSelected(selector, value, redaction));
  const partsOf = leafCompiler(options);
  /**
   * Redacted values of one call by selector: many conditions read one value, and redaction reads the whole value. Calls
   * are traced one after the other. A weak map by call would keep its values through collections of young objects.
   */
  let copies: {
    readonly call: ToolCall;
    readonly output: unknown;
    readonly of: Map<string, unknown>;
  } | null = null;
  const copyOf = (selector: string, value: unknown, view: View): unknown => {
    const { call, output } = view;
    if (copies?.call !== call || copies.output !== output) copies = { call, output, of: new Map() };
    const cached = copies.of;
    if (!cached.has(selector)) cached.set(selector, show(selector, value));
    return cached.get(selector);
  };

  function traceLeaf(leaf: Leaf, view: View): ConditionTrace {
    const { selector, operator, operand } = leaf;
    let outcome: TraceOutcome = 'fault';
    let value: unknown;
    try {
      const { test, select } = partsOf(leaf);
      outcome = wordOf(test(view));
      value = select(view);
    } catch {
      // A custom operator or selector that throws is a fault.
    }
    if (value === undefined || value === null) return { kind: 'leaf', selector, operator, operand, outcome };
    return { kind: 'leaf', selector, operator, operand, value: copyOf(selector, value, view), outcome };
  }

  const trace: Tracer = (condition, view) => {
    if (condition.kind === 'leaf') return traceLeaf(condition, view);
    if (condition.kind === 'not') {
      const inner = trace(condition.node, view);
      const turned = inner.outcome === 'yes' ? 'no' : inner.outcome === 'no' ? 'yes' : inner.outcome;
      return { kind: 'not', outcome: turned, conditions: [inner] };
    }
    // The first "no" ends the walk of `all`, the first "yes" that of `any`; a fault ends both.
    const goesOn = condition.kind === 'all' ? 'yes' : 'no';
    let outcome: TraceOutcome = goesOn;
    const conditions = condition.nodes.map((node) => {
      if (outcome !== goesOn) return skipped(node);
      const inner = trace(node, view);
      outcome = inner.outcome;
      return inner;
    });
    return { kind: condition.kind, outcome, conditions };
  };
  return trace;
}

/** The same for one condition and one call. */
export const traceCondition = (
  condition: Condition,
  view: View,
  options: TraceOptions = {},
): ConditionTrace => createTracer(options)(condition, view);

const wordOf = (outcome: OperatorResult): TraceOutcome =>
  outcome === no ? 'no' : outcome === fault ? 'fault' : 'yes';

function skipped(condition: Condition): ConditionTrace {
  if (condition.kind === 'leaf') {
    const { selector, operator, operand } = condition;
    return { kind: 'leaf', selector, operator, operand, outcome: 'skipped' };
  }
  const nodes = condition.kind === 'not' ? [condition.node] : condition.nodes;
  return { kind: condition.kind, outcome: 'skipped', conditions: nodes.map(skipped) };
}

/** Every leaf of a trace, in order. */
export function leavesOf(trace: ConditionTrace): readonly Extract<ConditionTrace, { kind: 'leaf' }>[] {
  return trace.kind === 'leaf' ? [trace] : trace.conditions.flatMap(leavesOf);
}
