// One document of a replay at work: its decision on a stored call, by the engine, and the doubts about this decision. A
// doubt arises where the event does not hold everything that a rule looks at. Pure.
import {
  type CompiledBundle,
  type Decision,
  evaluateCall,
  limitDecision,
  type ToolCall,
} from 'reeve-agent/rules';
import type { JsonObject } from '../../contract/record.ts';
import { losesDigits } from '../../shared/json/exact-numbers.ts';
import { isMapping } from '../../shared/json/mapping.ts';
import type { Judgement } from '../record.ts';
import type { KnownCounters, Missing, ReplayCall } from './replay-call.ts';

/**
 * Why a result is not certain. `tool`, `arguments`, `principal`: what a rule looks at was redacted, cut or never sent.
 * `metadata`, `env`: only the agent has it. `custom`: selectors and operators of the agents' own. `session`: the
 * session's counters are not known. `approval`: a person would be asked in one of the two.
 */
export const doubts = [
  'tool',
  'arguments',
  'principal',
  'metadata',
  'env',
  'custom',
  'session',
  'approval',
] as const;
export type Doubt = (typeof doubts)[number];

export interface Judged extends Judgement {
  /** A rule refuses, enforced or under a document that only observes. */
  readonly refuses: boolean;
  readonly doubts: readonly Doubt[];
}

/** The result of limits and session rules for a call. */
export interface LimitJudged {
  /** Null: nothing. */
  readonly judgement: Judgement | null;
  /** True if the judgement comes before that of every other rule. */
  readonly first: boolean;
  /** With the counters as they were it may have been otherwise. */
  readonly uncertain: boolean;
}

/** A call as limits see it. */
export interface CountedCall {
  readonly tool: string;
  /** Null: of no session. */
  readonly counters: KnownCounters | null;
}

export interface Judge {
  /** Rules that look at a tool's output, which is not stored. */
  readonly skippedRules: number;
  call(call: ReplayCall): Judged;
  limits(call: CountedCall): LimitJudged;
}

/** Names that the tenant's agents add to the language. */
export interface OwnWords {
  readonly selectors: readonly string[];
  readonly operators: readonly string[];
}

/** Characters of a message that results show. */
const maxMessage = 500;
const passed: Judgement = { decision: 'allow', ruleId: null, message: null, policyError: false };
const nothing: LimitJudged = { judgement: null, first: false, uncertain: false };

/** Nothing is deployed: every call is allowed. */
export const allowingJudge: Judge = {
  skippedRules: 0,
  call: () => ({ ...passed, refuses: false, doubts: [] }),
  limits: () => nothing,
};

export function createJudge(bundle: CompiledBundle, words: OwnWords): Judge {
  const looksAt = looks(bundle, words);
  const { attempts, toolCalls, perTool } = bundle.limits;
  const declared = Number.isFinite(attempts.max) || Number.isFinite(toolCalls.max);
  const { rules } = bundle.document;
  return {
    skippedRules: rules.filter((rule) => rule.enabled && rule.type === 'post').length,
    call(call) {
      const decision = evaluateCall(bundle, toolCall(call));
      const look = looksAt(call.tool);
      const refuses = decision.verdict === 'deny';
      return { ...judgementOf(decision), refuses, doubts: [...look.always, ...hidden(look, call)] };
    },
    limits({ tool, counters }) {
      const call: ToolCall = { tool, args: {} };
      const ofTool = perTool(tool) !== undefined;
      if (counters === null) return { ...nothing, uncertain: declared || ofTool };
      const at = (executions: number): Decision | null =>
        limitDecision(bundle, call, { ...counters, executions });
      const least = at(counters.executions);
      if (least) {
        // Counters only rise: what refuses by the fewest refuses by more.
        return { judgement: judgementOf(least), first: least.source === 'attempt_limit', uncertain: false };
      }
      const isUnsure = (declared && !counters.exact) || (ofTool && !counters.exactOfTool);
      return { ...nothing, uncertain: isUnsure || at(counters.maxExecutions) !== null };
    },
  };
}

const toolCall = ({ tool, args, environment, principal }: ReplayCall): ToolCall => ({
  tool,
  args,
  environment,
  principal,
});

function judgementOf({ verdict, mode, name, reason, records, shadows, policyError }: Decision): Judgement {
  // The cut may leave half of a surrogate pair.
  const withoutSecrets = (message: string | null): string | null =>
    message?.slice(0, maxMessage).replace(/[\ud800-\udbff]$/, '') ?? null;
  if (verdict === 'approve')
    return { decision: 'ask', ruleId: name, message: withoutSecrets(reason), policyError };
  if (verdict === 'deny') {
    const decision = mode === 'observe' ? 'wouldBlock' : 'block';
    return { decision, ruleId: name, message: withoutSecrets(reason), policyError };
  }
  const observed = [...records, ...shadows].find((record) => record.observed);
  return observed
    ? {
        decision: 'wouldBlock',
        ruleId: observed.name,
        message: withoutSecrets(observed.message),
        policyError,
      }
    : { ...passed, policyError };
}

/** The fields that a tool's rules read. */
interface Look {
  /** Doubts about every call of the tool. */
  readonly always: readonly Doubt[];
  /** Paths below the arguments and the principal; an empty one is all of it. */
  readonly args: readonly (readonly string[])[];
  readonly principal: readonly (readonly string[])[];
}

const maxTools = 1000;
const roots = new Set(['environment', 'tool', 'args', 'principal', 'output', 'result', 'env', 'metadata']);

/** Tools come again and again: what their rules look at is found once. */
function looks(bundle: CompiledBundle, words: OwnWords): (tool: string) => Look {
  const own = { selectors: new Set(words.selectors), operators: new Set(words.operators) };
  const lookOfTool = new Map<string, Look>();
  return (tool) => {
    const look = lookOfTool.get(tool) ?? lookOf(bundle, tool, own);
    if (lookOfTool.size >= maxTools) lookOfTool.clear();
    lookOfTool.set(tool, look);
    return look;
  };
}

function lookOf(
  bundle: CompiledBundle,
  tool: string,
  own: { readonly selectors: ReadonlySet<string>; readonly operators: ReadonlySet<string> },
): Look {
  const always = new Set<Doubt>();
  const args: (readonly string[])[] = [];
  const principal: (readonly string[])[] = [];
  const { before, shadow } = bundle.rulesFor(tool);
  for (const { rule } of [...before, ...shadow]) {
    if (rule.type === 'sandbox') args.push([]);
    if (rule.type !== 'pre') continue;
    for (const { selector, operator } of leavesOf(rule.when)) {
      const [root = '', ...path] = selector.split('.');
      if (root === 'args') args.push(path);
      if (root === 'principal') principal.push(path);
      if (root === 'env' || root === 'metadata') always.add(root);
      if (own.operators.has(operator) || (own.selectors.has(root) && !roots.has(root))) always.add('custom');
    }
  }
  return { always: [...always], args, principal };
}

/** True when the stored call does not contain the value that a condition compares, or only a part of the value. */
export function isUncertain(
  { selector, operator }: Pick<Leaf, 'selector' | 'operator'>,
  call: ReplayCall,
  words: OwnWords,
): boolean {
  const [root = '', ...path] = selector.split('.');
  if (words.operators.includes(operator) || !roots.has(root)) return true;
  if (root === 'tool') return call.missing.includes('tool');
  if (root === 'args') return call.missing.includes('arguments') || isHidden(call.args, path, call.cut);
  if (root === 'principal')
    return call.missing.includes('principal') || isHidden(call.principal, path, call.cut);
  return root !== 'environment';
}

export type Condition = Extract<CompiledBundle['document']['rules'][number], { type: 'pre' }>['when'];
type Leaf = Extract<Condition, { kind: 'leaf' }>;

/** The comparisons of a condition, in its order. */
export function leavesOf(condition: Condition): readonly Leaf[] {
  if (condition.kind === 'leaf') return [condition];
  return condition.kind === 'not' ? leavesOf(condition.node) : condition.nodes.flatMap(leavesOf);
}

/** Doubts about one call: what a rule looks at that the event does not hold as it was. */
function hidden({ args, principal }: Look, call: ReplayCall): readonly Doubt[] {
  const isMissing = (part: Missing): boolean => call.missing.includes(part);
  const doubts: Doubt[] = isMissing('tool') ? ['tool'] : [];
  const touches = (part: 'arguments' | 'principal', value: unknown, paths: Look['args']): void => {
    if (paths.length === 0) return;
    const isTouched =
      isMissing(part) || (isMarked(value, call.cut) && paths.some((path) => isHidden(value, path, call.cut)));
    if (isTouched) doubts.push(part);
  };
  touches('arguments', call.args, args);
  touches('principal', call.principal, principal);
  return doubts;
}

/** Keys that stand in a mapping for what was taken out of it. */
const markers = ['_truncated', '_redacted', '[TRUNCATED]'];
const isCutMapping = (value: JsonObject): boolean => markers.some((key) => Object.hasOwn(value, key));

/** True when what a path leads to, or something on the way, was redacted or cut. */
function isHidden(value: unknown, path: readonly string[], cut: boolean): boolean {
  const [key, ...rest] = path;
  if (key === undefined || !isMapping(value)) return isMarked(value, cut);
  if (isCutMapping(value)) return true;
  return Object.hasOwn(value, key) && isHidden(value[key], rest, cut);
}

/** Characters that clients cut a text to. */
const clientCut = 1000;

/**
 * True when something in the value was redacted or cut, by the agent or by the hub. A long number that the hub stored
 * as text counts too.
 */
function isMarked(value: unknown, cut: boolean): boolean {
  if (typeof value === 'string') {
    return (
      value.includes('[REDACTED]') ||
      value.includes('[TRUNCATED]') ||
      value.startsWith('[BINARY ') ||
      (value.length === clientCut && value.endsWith('...')) ||
      (cut && (value.endsWith('…') || losesDigits(value)))
    );
  }
  if (Array.isArray(value)) return value.some((item) => isMarked(item, cut));
  if (!isMapping(value)) return false;
  return isCutMapping(value) || Object.values(value).some((item) => isMarked(item, cut));
}
