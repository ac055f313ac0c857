// A guard's contracts: one compiled bundle, its version, and its results in the words of audit records. The engine is
// in rules/evaluate.
import type { SideEffect } from '../record.ts';
import type { Condition, Rule } from '../rules/bundle/rule.ts';
import type { ToolCall } from '../rules/evaluate/call.ts';
import type { CompiledBundle } from '../rules/evaluate/compile.ts';
import { createExplainer, type EvaluatedCondition, type Explainer } from '../rules/evaluate/explain.ts';
import type { Counters } from '../rules/evaluate/limits.ts';
import { attemptDecision, type Decision, evaluateCall } from '../rules/evaluate/live.ts';
import { dryRun, type DryRun as EngineDryRun, type EvaluatedContract } from '../rules/evaluate/playground.ts';
import { evaluatePost, type PostResult } from '../rules/evaluate/post.ts';
import { recordOf, viewOf } from '../rules/evaluate/record.ts';
import { resultText } from '../rules/evaluate/result-text.ts';
import { sideEffectOf } from '../rules/evaluate/tools.ts';
import type { AgentManifest } from '../sinks/server.ts';
import type { Warning } from './call.ts';
import type { ContractFinding } from './findings.ts';
import type { JudgedResult } from './output.ts';

/** Results of the contracts after a call. */
export interface AfterCall {
  readonly post: PostResult;
  readonly warnings: readonly Warning[];
  /** The text to show instead; null: the result stays. */
  readonly text: string | null;
}

type Camel<S> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S;
/** The same fields under names of JavaScript. */
type CamelFields<T> = { readonly [K in keyof T as Camel<K>]: T[K] };

/** A contract that looked at the call. */
export type DryRunContract = CamelFields<EvaluatedContract>;

/** A dry run: every contract that looks at the call, and the reasons of those that would have denied or warned. */
export type DryRun = Omit<CamelFields<EngineDryRun>, 'contractsEvaluated'> & {
  readonly contractsEvaluated: readonly DryRunContract[];
  readonly denyReasons: readonly string[];
  readonly warnReasons: readonly string[];
};

const camelFields = <T extends object>(fields: T): CamelFields<T> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as CamelFields<T>;

/** Selectors whose values are known before a call is made. */
const knownBefore = /^(?:tool\.name|environment|principal\..*|env\..*)$/;

const selectorsOf = (condition: Condition): string[] => {
  if (condition.kind === 'leaf') return [condition.selector];
  return condition.kind === 'not' ? selectorsOf(condition.node) : condition.nodes.flatMap(selectorsOf);
};

/** A compiled bundle in use. Immutable. */
export class Policy {
  readonly bundle: CompiledBundle;
  /** Hex SHA-256 of the YAML bytes; of several documents, of their hashes joined by `:`. */
  readonly version: string;
  /** The name in the document's metadata, or the one a hub deployed it under. */
  readonly name: string;
  /** Findings of the linter, if it ran. */
  readonly findings: readonly ContractFinding[];
  readonly #explain: Explainer;
  readonly #rules: ReadonlyMap<string, Rule>;
  /** By the rules of a tool, which the bundle keeps. */
  readonly #argumentPaths = new WeakMap<object, readonly (readonly string[])[]>();

  /** @param explain made with the options that the bundle was compiled with */
  constructor(
    bundle: CompiledBundle,
    version: string,
    name = bundle.name,
    findings: readonly ContractFinding[] = [],
    explain: Explainer = createExplainer(),
  ) {
    this.bundle = bundle;
    this.version = version;
    this.name = name;
    this.findings = findings;
    this.#explain = explain;
    this.#rules = new Map(bundle.document.rules.map((rule) => [rule.id, rule]));
  }

  /** The same contracts under another name. */
  withName(name: string): Policy {
    return new Policy(this.bundle, this.version, name, this.findings, this.#explain);
  }

  sideEffect(call: ToolCall): SideEffect {
    return sideEffectOf(call, this.bundle.tools);
  }

  /** The attempt limit, which comes before hooks; null when it is not reached. */
  tooManyAttempts(call: ToolCall, counters: Counters): Decision | null {
    return attemptDecision(this.bundle, call, counters);
  }

  /** Contracts, session rules and limits; not the attempt limit again. `approved`: what asks is passed over. */
  before(call: ToolCall, counters: Counters, { approved = false } = {}): Decision {
    return evaluateCall(this.bundle, call, { counters, attemptsChecked: true, approved });
  }

  /**
   * The conditions of one contract of the document as they come out for a call, values as they are. None where the
   * document has no contract with that id.
   */
  conditionsOf(id: string | null, call: ToolCall, counters: Counters): readonly EvaluatedCondition[] {
    const rule = id === null ? undefined : this.#rules.get(id);
    return rule ? this.#explain(rule, viewOf(this.bundle, call, undefined), counters) : [];
  }

  /** True if a contract that reads no argument refuses every call of the tool. */
  refusesAlways(call: ToolCall): boolean {
    const view = viewOf(this.bundle, call, undefined);
    return this.bundle
      .rulesFor(call.tool)
      .before.some(
        (compiled) =>
          compiled.rule.type === 'pre' &&
          compiled.rule.effect === 'deny' &&
          compiled.rule.mode === 'enforce' &&
          selectorsOf(compiled.rule.when).every((one) => knownBefore.test(one)) &&
          !recordOf(compiled, view).passed,
      );
  }

  /** Paths of arguments that conditions of the contracts for a tool name, each once, as lists of steps. */
  argumentPaths(tool: string): readonly (readonly string[])[] {
    const rules = this.bundle.rulesFor(tool);
    const cachedPaths = this.#argumentPaths.get(rules);
    if (cachedPaths) return cachedPaths;
    const { before, post, shadow } = rules;
    const selectors = [...before, ...post, ...shadow].flatMap(({ rule }) =>
      rule.type === 'sandbox' ? [] : selectorsOf(rule.when),
    );
    const paths = [...new Set(selectors)].flatMap((selector) =>
      selector.startsWith('args.') ? [selector.split('.').slice(1)] : [],
    );
    this.#argumentPaths.set(rules, paths);
    return paths;
  }

  /** @param redactText for redact rules that name no pattern */
  after(
    call: ToolCall,
    { fields, outputText, isMissing }: JudgedResult,
    redactText: (text: string) => string,
  ): AfterCall {
    const post = evaluatePost(this.bundle, call, fields, { outputText, isMissing, redactText });
    const fired = post.records.filter((record) => !record.passed);
    return {
      post,
      warnings: post.warnings.map((message, i) => ({ contract: fired[i]?.name ?? '', message })),
      text: post.changed === 'no' ? null : (resultText(post.output).text ?? ''),
    };
  }

  dryRun(call: ToolCall, output: unknown): DryRun {
    const run = dryRun(this.bundle, call, { policyVersion: this.version, output: output ?? undefined });
    const reasons = (post: boolean): string[] =>
      run.contracts_evaluated.flatMap((entry) =>
        !entry.matched &&
        !entry.observed &&
        (entry.type === 'postcondition') === post &&
        entry.message !== null
          ? [entry.message]
          : [],
      );
    return {
      ...camelFields(run),
      contractsEvaluated: run.contracts_evaluated.map(camelFields),
      denyReasons: reasons(false),
      warnReasons: reasons(true),
    };
  }

  /** Outputs that the document itself requests for records. */
  get observability(): { readonly file: string | null; readonly stdout: boolean } {
    const { file, stdout } = this.bundle.document.observability ?? {};
    return { file: typeof file === 'string' ? file : null, stdout: stdout === true };
  }

  /** A report to the hub about contracts that it did not deploy. */
  manifest(agentId: string): AgentManifest {
    const contracts = this.bundle.document.rules
      .filter((rule) => rule.enabled && !rule.shadow)
      .map((rule) => ({
        id: rule.id,
        type: rule.type,
        tool: rule.type === 'session' ? '*' : rule.tools.length === 1 ? (rule.tools[0] ?? '*') : rule.tools,
        mode: rule.mode,
      }));
    return { agentId, policyVersion: this.version, contracts };
  }
}
