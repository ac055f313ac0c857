// What a guard asks of its contracts: one compiled bundle, its version, and its answers in the words of audit records.
// The rules themselves are domain/evaluate.
import { type ToolCall, textOf } from '../../domain/evaluate/call.ts';
import { type CompiledBundle, compileBundle } from '../../domain/evaluate/compile.ts';
import type { Counters } from '../../domain/evaluate/limits.ts';
import { attemptDecision, type Decision, evaluateCall } from '../../domain/evaluate/live.ts';
import type { CustomOperator } from '../../domain/evaluate/operator.ts';
import { dryRun, type DryRun as EngineDryRun } from '../../domain/evaluate/playground.ts';
import { evaluatePost, type PostResult } from '../../domain/evaluate/post.ts';
import type { CustomSelector } from '../../domain/evaluate/selector.ts';
import { sideEffectOf } from '../../domain/evaluate/tools.ts';
import { sha256 } from '../bundle/signature.ts';
import { processVariables, type Variables } from '../environment.ts';
import { ConfigurationError } from '../failure.ts';
import { maxBundle } from '../hub.ts';
import type { SideEffect } from '../record.ts';
import type { AgentManifest } from '../sinks/server.ts';
import type { Warning } from './call.ts';
import { canonicalPath } from './canonical.ts';

/** A bundle holds at most this many contracts. */
const maxContracts = 500;

/** How documents are read, beyond what every guard understands. */
export interface Language {
  /** Operators beyond the built-in ones, by name: `(field, operand) => truthy`. One that throws makes its contract fire. */
  readonly operators?: { readonly [name: string]: CustomOperator };
  /** Selectors beyond the built-in ones, by prefix: `<prefix>.x.y` walks what the function gives for a call. */
  readonly selectors?: { readonly [prefix: string]: CustomSelector };
  /** The apiVersions accepted; default: any `<word>/v1`. */
  readonly apiVersions?: readonly string[];
  /** The kinds accepted; default `ContractBundle` and `Ruleset`. A hub with wire names of its own has its own kinds. */
  readonly kinds?: readonly string[];
  /** Those of the kinds that speak of rules, `block` and `ask`; default `Ruleset`. */
  readonly rulesetKinds?: readonly string[];
  /** What `env.NAME` selectors read; default: this process's environment. */
  readonly variables?: Variables;
}

/** What the contracts say after a call. */
export interface AfterCall {
  readonly post: PostResult;
  readonly warnings: readonly Warning[];
  /** The text to show instead; null: the result stays. */
  readonly text: string | null;
}

/** A dry run: every contract that looks at the call, and the reasons of those that would have denied or warned. */
export interface DryRun extends EngineDryRun {
  readonly deny_reasons: readonly string[];
  readonly warn_reasons: readonly string[];
}

/** A compiled bundle in use. Immutable. */
export class Policy {
  readonly bundle: CompiledBundle;
  /** Hex SHA-256 of the YAML bytes. */
  readonly version: string;
  /** The name in the document's metadata, or the one a hub deployed it under. */
  readonly name: string;

  constructor(bundle: CompiledBundle, version: string, name = bundle.name) {
    this.bundle = bundle;
    this.version = version;
    this.name = name;
  }

  /** The same contracts under another name. */
  named(name: string): Policy {
    return new Policy(this.bundle, this.version, name);
  }

  sideEffect(call: ToolCall): SideEffect {
    return sideEffectOf(call, this.bundle.tools);
  }

  /** The attempt limit, which comes before hooks; null when it is not reached. */
  tooManyAttempts(call: ToolCall, counters: Counters): Decision | null {
    return attemptDecision(this.bundle, call, counters);
  }

  /** Contracts, session rules and limits; not the attempt limit again. */
  before(call: ToolCall, counters: Counters): Decision {
    return evaluateCall(this.bundle, call, { counters, attemptsChecked: true });
  }

  /** @param redactText for redact rules that name no pattern */
  after(call: ToolCall, output: string | null, redactText: (text: string) => string): AfterCall {
    const post = evaluatePost(this.bundle, call, output, { redactText });
    const fired = post.records.filter((record) => !record.passed);
    return {
      post,
      warnings: post.warnings.map((message, i) => ({ contract: fired[i]?.name ?? '', message })),
      text: post.changed === 'no' ? null : (textOf(post.output) ?? ''),
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
    return { ...run, deny_reasons: reasons(false), warn_reasons: reasons(true) };
  }

  /** Where the document itself wants records written. */
  get observability(): { readonly file: string | null; readonly stdout: boolean } {
    const { file, stdout } = this.bundle.document.observability ?? {};
    return { file: typeof file === 'string' ? file : null, stdout: stdout === true };
  }

  /** What a hub is told about contracts it did not deploy. */
  manifest(agentId: string): AgentManifest {
    const contracts = this.bundle.document.rules
      .filter((rule) => rule.enabled && !rule.shadow)
      .map((rule) => ({
        id: rule.id,
        type: rule.type,
        tool: rule.type === 'session' ? '*' : rule.tools.length === 1 ? (rule.tools[0] ?? '*') : rule.tools,
        mode: rule.mode,
      }));
    return { agent_id: agentId, policy_version: this.version, contracts };
  }
}

/** @throws ConfigurationError that names every problem of the document */
export function compilePolicy(yaml: string | Uint8Array, language: Language = {}): Policy {
  const { variables = processVariables, operators, selectors, apiVersions, kinds, rulesetKinds } = language;
  const bytes = typeof yaml === 'string' ? Buffer.from(yaml, 'utf8') : yaml;
  if (bytes.byteLength > maxBundle)
    throw new ConfigurationError(`contracts above ${maxBundle} bytes are not read`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (failure) {
    throw new ConfigurationError('the contracts are not UTF-8 text', failure);
  }
  const compiled = compileBundle(text, {
    maxContracts,
    env: (name) => variables[name],
    canonical: canonicalPath,
    ...(operators ? { operators } : {}),
    ...(selectors ? { selectors } : {}),
    ...(apiVersions ? { apiVersions } : {}),
    ...(kinds ? { kinds } : {}),
    ...(rulesetKinds ? { rulesetKinds } : {}),
  });
  if (!compiled.ok) {
    throw new ConfigurationError(compiled.problems.map((problem) => problem.message).join('\n'));
  }
  return new Policy(compiled.bundle, sha256(bytes));
}
