// The one form every rule takes after reading, whichever vocabulary and surface it came from. Data only.
import type { Json, JsonObject } from '../yaml.ts';

export type Mode = 'enforce' | 'observe';

export const ruleTypes = ['pre', 'post', 'session', 'sandbox'] as const;
export type RuleType = (typeof ruleTypes)[number];

/** In the words of contracts; `spellEffect` gives those of rulesets. */
export type Effect = 'deny' | 'approve' | 'warn' | 'redact';

export type SideEffect = 'pure' | 'read' | 'write' | 'irreversible';

/** A `when` expression. */
export type Condition =
  | { readonly kind: 'all' | 'any'; readonly nodes: readonly Condition[] }
  | { readonly kind: 'not'; readonly node: Condition }
  | { readonly kind: 'leaf'; readonly selector: string; readonly operator: string; readonly operand: Json };

export interface CommonRule {
  readonly id: string;
  readonly enabled: boolean;
  readonly mode: Mode;
  readonly message: string;
  readonly tags: readonly string[];
  readonly metadata: Readonly<JsonObject>;
  /** An observe-alongside copy: reported after an allow, never decides. */
  readonly shadow: boolean;
}

/** Terms of an approval; times in seconds. */
export interface ApprovalTerms {
  readonly timeout: number;
  readonly timeoutEffect: 'deny' | 'allow';
}

export interface PreRule extends CommonRule, ApprovalTerms {
  readonly type: 'pre';
  /** Tool names or globs; the rule looks at a call that any of them matches. */
  readonly tools: readonly string[];
  readonly when: Condition;
  readonly effect: 'deny' | 'approve';
}

export interface PostRule extends CommonRule {
  readonly type: 'post';
  readonly tools: readonly string[];
  readonly when: Condition;
  readonly effect: 'warn' | 'redact' | 'deny';
}

export interface SessionLimits {
  readonly maxToolCalls?: number;
  readonly maxAttempts?: number;
  readonly maxCallsPerTool?: Readonly<Record<string, number>>;
}

export interface SessionRule extends CommonRule {
  readonly type: 'session';
  readonly limits: SessionLimits;
  readonly effect: 'deny';
}

export interface SandboxRule extends CommonRule, ApprovalTerms {
  readonly type: 'sandbox';
  readonly tools: readonly string[];
  /** Null: not restricted. */
  readonly within: readonly string[] | null;
  readonly notWithin: readonly string[];
  readonly commands: readonly string[] | null;
  readonly domains: readonly string[] | null;
  readonly notDomains: readonly string[];
  /** The `outside` key. */
  readonly effect: 'deny' | 'approve';
}

export type Rule = PreRule | PostRule | SessionRule | SandboxRule;

export interface ToolTraits {
  readonly sideEffect: SideEffect;
  readonly idempotent: boolean;
}

export interface RuleDocument {
  /** As written; which kinds there are is configured. */
  readonly kind: string;
  readonly apiVersion: string;
  readonly name: string;
  readonly metadata: Readonly<JsonObject>;
  readonly mode: Mode;
  readonly tools: ReadonlyMap<string, ToolTraits>;
  readonly observability: Readonly<JsonObject> | null;
  readonly observeAlongside: boolean;
  readonly rules: readonly Rule[];
}
