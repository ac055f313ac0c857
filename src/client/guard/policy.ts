// What a guard asks of its contracts: one compiled bundle behind one interface. The rules themselves are in domain/evaluate.
import type { GuardMode, Principal, RuleEvaluated, SideEffect } from '../record.ts';
import type { ToolArgs } from './call.ts';
import type { Counts } from './counters.ts';

/** The call as contracts see it. */
export interface CallInput {
  readonly tool: string;
  readonly args: ToolArgs;
  readonly environment: string;
  readonly principal: Principal | null;
  readonly metadata: { readonly [name: string]: unknown };
}

/** Merged over the bundle's session contracts. */
export interface Limits {
  readonly maxAttempts: number;
  readonly maxToolCalls: number;
  readonly maxCallsPerTool: ReadonlyMap<string, number>;
}

/** What the contracts say before a call. */
export interface Verdict {
  readonly effect: 'allow' | 'deny' | 'approve';
  /** As in audit records: `yaml_precondition`, `yaml_sandbox`, `yaml_session`, `operation_limit`; null on allow. */
  readonly source: string | null;
  readonly name: string | null;
  readonly reason: string | null;
  readonly policyError: boolean;
  readonly rules: readonly RuleEvaluated[];
  readonly approval: { readonly timeout: number; readonly timeoutEffect: 'deny' | 'allow' } | null;
}

/** What a contract that runs beside the enforced ones says; only after an allow. */
export interface ShadowVerdict {
  readonly wouldDeny: boolean;
  readonly source: string;
  readonly name: string;
  readonly reason: string | null;
}

/** What the contracts say after a call. */
export interface PostVerdict {
  readonly passed: boolean;
  readonly policyError: boolean;
  readonly rules: readonly RuleEvaluated[];
  readonly warnings: readonly { readonly contract: string; readonly message: string }[];
  /** The text to show instead; null: the result stays. */
  readonly text: string | null;
}

/** A dry run (document 5 §1.13). */
export interface DryRunEntry {
  readonly contract_id: string;
  readonly contract_type: string;
  readonly passed: boolean;
  readonly message: string | null;
  readonly tags: readonly string[];
  readonly observed: boolean;
  readonly effect: string;
  readonly policy_error: boolean;
}

export interface DryRun {
  readonly verdict: 'allow' | 'deny' | 'warn';
  readonly contracts: readonly DryRunEntry[];
  readonly contracts_evaluated: number;
  readonly deny_reasons: readonly string[];
  readonly warn_reasons: readonly string[];
  readonly policy_error: boolean;
}

export interface Policy {
  readonly name: string;
  /** Hex SHA-256 of the YAML bytes. */
  readonly version: string;
  readonly mode: GuardMode;
  readonly limits: Limits;
  readonly observability: { readonly file: string | null; readonly stdout: boolean };
  readonly contracts: readonly {
    readonly id: string;
    readonly type: string;
    readonly tool: string | readonly string[];
    readonly mode: string;
  }[];
  sideEffect(tool: string, args: ToolArgs): SideEffect;
  before(call: CallInput, counts: Counts): Verdict;
  shadows(call: CallInput, counts: Counts): readonly ShadowVerdict[];
  after(call: CallInput, output: string | null): PostVerdict;
  dryRun(call: CallInput, output: string | null): DryRun;
}
