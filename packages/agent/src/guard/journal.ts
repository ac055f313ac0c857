// The audit records of one call, in order, to the guard's sinks and to telemetry. Redacts before anything leaves.
import type { Clock } from '../clock.ts';
import type { OnError } from '../failure.ts';
import {
  type AuditAction,
  type AuditRecord,
  auditRecord,
  type Principal,
  type RuleEvaluated,
} from '../record.ts';
import type { EvaluatedCondition } from '../rules/evaluate/explain.ts';
import type { Redaction } from '../rules/redact.ts';
import type { Sink } from '../sinks/sink.ts';
import type { CallSpan, Telemetry } from '../telemetry.ts';
import { recordedConditions } from './conditions.ts';

export interface JournalPorts {
  readonly sink: Sink;
  readonly redaction: Redaction;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly onError: OnError;
  /** A record that a sink did not take stops the call, if it has not run yet. */
  readonly strict: boolean;
}

/** Fields that all records of a call share. */
export type CallFacts = Pick<
  AuditRecord,
  | 'run_id'
  | 'call_id'
  | 'call_index'
  | 'parent_call_id'
  | 'tool_name'
  | 'side_effect'
  | 'environment'
  | 'policy_version'
  | 'mode'
  | 'trace_id'
> & { readonly tool_args: object; readonly principal: Principal | null };

/** The other fields of a record, with conditions that are not redacted yet. */
export type RecordDetails = Partial<Omit<AuditRecord, 'conditions'>> & {
  readonly conditions?: readonly EvaluatedCondition[];
};

/** The records that a run counts a call by. */
export const decisions: ReadonlySet<AuditAction> = new Set([
  'call_allowed',
  'call_denied',
  'call_would_deny',
  'call_approval_requested',
]);

/** The records after which a call has no more. */
export const endings: ReadonlySet<AuditAction> = new Set(['call_executed', 'call_failed', 'call_denied']);

/** A principal as records and the hub's approvals show it. */
export const redactedPrincipal = (
  redaction: JournalPorts['redaction'],
  principal: Principal | null,
): Principal | null =>
  principal && {
    ...principal,
    claims: redaction.redactArgs(principal.claims ?? {}) as Principal['claims'] & object,
  };

/** The failure of the one sink that failed; the whole when several did. */
const singleFailure = (failure: unknown): unknown =>
  failure instanceof AggregateError && failure.errors.length === 1 ? failure.errors[0] : failure;

export class Journal {
  readonly #ports: JournalPorts;
  readonly #facts: CallFacts;
  readonly #span: CallSpan;

  /** @param span of the call: the records' spans stand below it */
  constructor(ports: JournalPorts, facts: CallFacts, span: CallSpan) {
    this.#ports = ports;
    this.#span = span;
    this.#facts = {
      ...facts,
      tool_args: ports.redaction.redactArgs(facts.tool_args) as object,
      principal: redactedPrincipal(ports.redaction, facts.principal),
    };
  }

  /** Emits one record and gives it. Rejects only in strict mode. */
  async emit(action: AuditAction, { conditions = [], ...more }: RecordDetails): Promise<AuditRecord> {
    const { sink, clock, telemetry, redaction, onError, strict } = this.#ports;
    const { tool_args, ...facts } = this.#facts;
    const call = { args: tool_args, principal: facts.principal };
    const record = auditRecord({
      ...facts,
      tool_args: tool_args as AuditRecord['tool_args'],
      ...more,
      timestamp: new Date(clock.now()).toISOString(),
      action,
      // Messages repeat arguments.
      ...(typeof more.reason === 'string' ? { reason: redaction.redactText(more.reason) } : {}),
      rules_evaluated: (more.rules_evaluated ?? []).map((rule) => this.#redactRule(rule)),
      hooks_evaluated: (more.hooks_evaluated ?? []).map((hook) =>
        hook.reason === null ? hook : { ...hook, reason: redaction.redactText(hook.reason) },
      ),
      ...(typeof more.error === 'string' ? { error: redaction.redactResult(more.error) } : {}),
      ...(conditions.length > 0 ? { conditions: recordedConditions(conditions, redaction, call) } : {}),
    });
    this.#span.within(() => telemetry.evaluated(record));
    try {
      await sink.emit(record);
    } catch (failure) {
      if (strict) throw failure;
      onError(singleFailure(failure), 'writing an audit record');
    }
    return record;
  }

  #redactRule(rule: RuleEvaluated): RuleEvaluated {
    const { redaction } = this.#ports;
    if (rule.passed) return rule;
    return {
      ...rule,
      message: rule.message === null ? null : redaction.redactText(rule.message),
      ...(rule.metadata === undefined
        ? {}
        : { metadata: redaction.redactArgs(rule.metadata) as { readonly [name: string]: unknown } }),
    };
  }
}
