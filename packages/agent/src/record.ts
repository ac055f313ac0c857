// The audit event record 0.3.0: its fields, actions and defaults. Not its journey (sinks/).
import type { Isolation } from './rules/isolation.ts';
import type { JsonObject } from './rules/yaml.ts';

/** The version of the record, as every record names it. */
export const schemaVersion = '0.3.0';

/** Steps of a call in records. */
export const auditActions = [
  'call_denied',
  'call_would_deny',
  'call_allowed',
  'call_executed',
  'call_failed',
  'call_approval_requested',
  'call_approval_granted',
  'call_approval_denied',
  'call_approval_timeout',
  /** Defined, never emitted. */
  'postcondition_warning',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** The declared side effect of a tool. */
export type SideEffect = 'pure' | 'read' | 'write' | 'irreversible';
/** `enforce` stops what is denied; `observe` only records it. */
export type GuardMode = 'enforce' | 'observe';

/** The person behind a call. Missing attributes are null in records. */
export interface Principal {
  readonly user_id?: string | null;
  readonly service_id?: string | null;
  readonly org_id?: string | null;
  readonly role?: string | null;
  readonly ticket_ref?: string | null;
  readonly claims?: { readonly [name: string]: unknown };
}

/** A principal as records name it: with all six keys. */
const principalOf = (principal: Principal | null): Principal | null =>
  principal && {
    user_id: principal.user_id ?? null,
    service_id: principal.service_id ?? null,
    org_id: principal.org_id ?? null,
    role: principal.role ?? null,
    ticket_ref: principal.ticket_ref ?? null,
    claims: principal.claims ?? {},
  };

/** The result of one hook. */
export interface HookEvaluated {
  readonly name: string;
  readonly result: 'allow' | 'deny';
  readonly reason: string | null;
}

/** The result of one contract. */
export interface RuleEvaluated {
  readonly name: string;
  /** `precondition`, `sandbox`, `session_contract` or `postcondition`. */
  readonly type: string;
  readonly passed: boolean;
  readonly message: string | null;
  /** Only present when a contract in observe mode failed. */
  readonly observed?: true;
  readonly metadata?: { readonly [name: string]: unknown };
}

/** One comparison of the contract that decided, as it came out for the call. */
export interface ConditionEvaluated {
  /** The selector, such as `args.path`; `args` for a sandbox, `limits.<limit>` for a limit of a session. */
  readonly path: string;
  /** Of the rule language; for a sandbox the key of the boundary, such as `within`. */
  readonly operator: string;
  /** The value in the contract. Redacted; as JSON at most 512 characters, else a text with the first of them. */
  readonly expected: unknown;
  /** The value in the call, redacted and cut like `expected`; null if it is missing, and for results of tools. */
  readonly actual: unknown;
  /** Result of the comparison. `fault`: it was impossible. `skipped`: earlier conditions had decided. */
  readonly result: 'yes' | 'no' | 'fault' | 'skipped';
}

/** Answers of a user to questions of a tool, in one round of its call. */
export interface RoundAnswers {
  /** At least 2. */
  readonly round: number;
  /** By question. Redacted; `{"_truncated": true}` beyond 4 KiB of a call, as JSON. */
  readonly answers: unknown;
}

/** One step of a call, as sinks and the hub get it. The words are those of the hub's API. */
export interface AuditRecord {
  readonly schema_version: string;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  /** The guard's session id, or the call's own. */
  readonly run_id: string;
  /** A UUID; the same in every record of the call. */
  readonly call_id: string;
  /** Counts the calls of a run from 0. */
  readonly call_index: number;
  /** The governed call that this one was made inside of; null for none. */
  readonly parent_call_id: string | null;
  readonly tool_name: string;
  /** Redacted already. */
  readonly tool_args: { readonly [name: string]: unknown };
  readonly side_effect: SideEffect;
  readonly environment: string;
  readonly principal: Principal | null;
  readonly action: AuditAction;
  /** Which kind of rule decided, such as `precondition` or `hook`; null when none did. */
  readonly decision_source: string | null;
  /** The name of what decided; null when none has a name. */
  readonly decision_name: string | null;
  readonly reason: string | null;
  readonly hooks_evaluated: readonly HookEvaluated[];
  readonly rules_evaluated: readonly RuleEvaluated[];
  /** Null before the tool has run. */
  readonly tool_success: boolean | null;
  /** Null before the tool has run. */
  readonly postconditions_passed: boolean | null;
  /** Duration of the tool: whole milliseconds, at least 0. 0 before the tool has run. */
  readonly duration_ms: number;
  readonly error: string | null;
  /** Reserved, always null. */
  readonly result_summary: string | null;
  /** Attempts of the run so far, this one included. */
  readonly session_attempt_count: number;
  /** Calls of the run that were let through so far: counted before their tool runs, taken back when it does not. */
  readonly session_execution_count: number;
  /** Hex SHA-256 of the contracts that judged the call. */
  readonly policy_version: string | null;
  /** True if a rule failed instead of returning a result. */
  readonly policy_error: boolean;
  readonly mode: GuardMode;
  /**
   * True on a verdict that follows the decision on the same call: a refusal after an approval, a shadow copy of a
   * contract. A run counts the call once. Absent on every other record.
   */
  readonly follows_decision?: true;
  /** Rounds of a call that asked its user in between. Only on the last record of such a call. */
  readonly rounds?: number;
  /** Answers from the user in the call's rounds. Only beside `rounds`, and only if there were answers. */
  readonly answers?: readonly RoundAnswers[];
  /**
   * Containment of the programs that the tool has run, from the field `isolation` of its result. Absent on every other
   * record.
   */
  readonly isolation?: Isolation;
  /** Of the caller's trace, in hex (W3C Trace Context). Absent where the call came without one. */
  readonly trace_id?: string;
  /**
   * Of a call that a contract denied, asked about or would have denied: its conditions in their order, at most 50.
   * Absent on every other record.
   */
  readonly conditions?: readonly ConditionEvaluated[];
}

type RequiredFields = Pick<AuditRecord, 'timestamp' | 'run_id' | 'call_id' | 'tool_name' | 'action'>;

/** A record with every field: these over the defaults. */
export const auditRecord = (fields: RequiredFields & Partial<AuditRecord>): AuditRecord => ({
  schema_version: schemaVersion,
  call_index: 0,
  parent_call_id: null,
  tool_args: {},
  side_effect: 'irreversible',
  environment: 'production',
  decision_source: null,
  decision_name: null,
  reason: null,
  hooks_evaluated: [],
  rules_evaluated: [],
  tool_success: null,
  postconditions_passed: null,
  duration_ms: 0,
  error: null,
  result_summary: null,
  session_attempt_count: 0,
  session_execution_count: 0,
  policy_version: null,
  policy_error: false,
  mode: 'enforce',
  ...fields,
  principal: principalOf(fields.principal ?? null),
});

/** The form of an event on the wire: `verdict` carries the action. A payload over 32 KB has lost its arguments. */
export interface WireEvent {
  readonly call_id: string;
  readonly agent_id: string;
  readonly tool_name: string;
  readonly verdict: string;
  readonly mode: string;
  readonly timestamp: string;
  readonly payload: { readonly [name: string]: unknown };
}

export const toWire = (record: AuditRecord, agentId: string, bundleName: string | null): WireEvent => ({
  call_id: record.call_id,
  agent_id: agentId,
  tool_name: record.tool_name,
  verdict: record.action,
  mode: record.mode,
  timestamp: record.timestamp,
  payload: capPayload({
    tool_args: record.tool_args,
    side_effect: record.side_effect,
    environment: record.environment,
    principal: record.principal,
    decision_source: record.decision_source,
    decision_name: record.decision_name,
    reason: record.reason,
    policy_version: record.policy_version,
    bundle_name: bundleName,
    run_id: record.run_id,
    call_index: record.call_index,
    parent_call_id: record.parent_call_id,
    tool_success: record.tool_success,
    postconditions_passed: record.postconditions_passed,
    duration_ms: record.duration_ms,
    error: record.error,
    policy_error: record.policy_error,
    session_attempt_count: record.session_attempt_count,
    session_execution_count: record.session_execution_count,
    ...(record.follows_decision ? { follows_decision: true } : {}),
    ...(record.rounds === undefined ? {} : { rounds: record.rounds }),
    ...(record.answers === undefined ? {} : { answers: record.answers }),
    ...(record.isolation === undefined ? {} : { isolation: record.isolation }),
    ...(record.trace_id === undefined ? {} : { trace_id: record.trace_id }),
    ...(record.conditions ? { conditions: record.conditions } : {}),
  }) as WireEvent['payload'],
});

/** Characters of serialised JSON above which a record is cut. */
const maxPayload = 32_768;

/**
 * A record whose JSON is longer than 32,768 characters loses its result summary and its arguments; the rest is not
 * checked again. Smaller records come back as they are.
 */
export function capPayload<T extends object>(record: T): T | JsonObject {
  if (JSON.stringify(record).length <= maxPayload) return record;
  const { result_summary: _removed, ...rest } = record as JsonObject;
  return { ...rest, _truncated: true, tool_args: { _redacted: 'payload exceeded 32KB' } };
}
