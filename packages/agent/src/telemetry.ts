// Enforcement spans and counters for OpenTelemetry, when its API is there; nothing at all otherwise.
// Brings no exporter and no provider: what the process has configured is used.
import type { AuditRecord } from './record.ts';

type Attributes = { [name: string]: string | number | boolean };

interface Span {
  setAttribute(name: string, value: string | number | boolean): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** The part of `@opentelemetry/api` that is used. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): { startSpan(name: string, options?: { attributes?: Attributes }): Span };
    setSpan?(context: unknown, span: never): unknown;
  };
  readonly context?: { active(): unknown; with<T>(context: never, task: () => T): T };
  readonly metrics?: {
    getMeter(name: string): {
      createCounter(name: string): { add(value: number, attributes?: Attributes): void };
    };
  };
}

/** One governed call, from its first check to its end. */
export interface CallSpan {
  set(attributes: { readonly [name: string]: string | number | boolean | null | undefined }): void;
  /** Runs the tool so that its own spans become children. */
  within<T>(task: () => T): T;
  end(failed: boolean, message?: string | null): void;
}

export interface Telemetry {
  startCall(tool: string, attributes: Attributes): CallSpan;
  /** One span per audit record. */
  evaluated(record: AuditRecord): void;
  counted(outcome: 'denied' | 'allowed', tool: string): void;
}

const nothing: CallSpan = { set() {}, within: (task) => task(), end() {} };

export const noTelemetry: Telemetry = { startCall: () => nothing, evaluated() {}, counted() {} };

const ok = { code: 1 };
const error = (message?: string | null) => (message ? { code: 2, message } : { code: 2 });
const failures: ReadonlySet<string> = new Set([
  'call_denied',
  'call_approval_denied',
  'call_approval_timeout',
]);

export function telemetryOf(api: OpenTelemetryApi): Telemetry {
  const tracer = api.trace.getTracer('reeve');
  const governance = api.trace.getTracer('reeve.governance');
  const meter = api.metrics?.getMeter('reeve');
  const counters = {
    denied: meter?.createCounter('reeve.calls.denied'),
    allowed: meter?.createCounter('reeve.calls.allowed'),
  };
  return {
    startCall(tool, attributes) {
      const span = tracer.startSpan(`tool.execute ${tool}`, { attributes });
      return {
        set(more) {
          for (const [name, value] of Object.entries(more)) {
            if (value !== null && value !== undefined) span.setAttribute(name, value);
          }
        },
        within(task) {
          const { context, trace } = api;
          if (!context || !trace.setSpan) return task();
          return context.with(trace.setSpan(context.active(), span as never) as never, task);
        },
        end(failed, message) {
          span.setStatus(failed ? error(message) : ok);
          span.end();
        },
      };
    },
    evaluated(record) {
      const span = governance.startSpan('reeve.evaluate', { attributes: recordAttributes(record) });
      span.setStatus(failures.has(record.action) ? error(record.reason) : ok);
      span.end();
    },
    counted: (outcome, tool) => counters[outcome]?.add(1, { 'tool.name': tool }),
  };
}

function recordAttributes(record: AuditRecord): Attributes {
  const { principal } = record;
  const optional: [string, string | null | undefined][] = [
    ['reeve.verdict.reason', record.reason],
    ['reeve.decision.source', record.decision_source],
    ['reeve.decision.name', record.decision_name],
    ['reeve.principal.role', principal?.role],
    ['reeve.principal.ticket_ref', principal?.ticket_ref],
    ['reeve.principal.user_id', principal?.user_id],
    ['reeve.principal.org_id', principal?.org_id],
    ['reeve.policy_version', record.policy_version],
  ];
  return {
    'reeve.tool.name': record.tool_name,
    'reeve.verdict': record.action,
    'reeve.side_effect': record.side_effect,
    'reeve.environment': record.environment,
    'reeve.mode': record.mode,
    'reeve.session.attempt_count': record.session_attempt_count,
    'reeve.session.execution_count': record.session_execution_count,
    'reeve.tool.args': JSON.stringify(record.tool_args),
    ...(record.policy_error ? { 'reeve.policy_error': true } : {}),
    ...Object.fromEntries(
      optional.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
  };
}

let found: Promise<Telemetry> | null = null;

/** Telemetry over the installed `@opentelemetry/api`; none, silently, when it is not installed. */
export function installedTelemetry(): Promise<Telemetry> {
  // Not a literal, so that neither compiler nor bundler insists on the package.
  const name = ['@opentelemetry', 'api'].join('/');
  found ??= import(name).then(
    (api: OpenTelemetryApi) => telemetryOf(api),
    () => noTelemetry,
  );
  return found;
}
