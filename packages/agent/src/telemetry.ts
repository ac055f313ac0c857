// Enforcement spans and counters for OpenTelemetry, when its API is there; nothing at all otherwise.
// Brings no exporter and no provider: what the process has configured is used.
import type { AuditRecord } from './record.ts';

type Attributes = { [name: string]: string | number | boolean };

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

interface Span {
  addLink?(link: { readonly context: SpanContext & { readonly isRemote: boolean } }): unknown;
  setAttribute(name: string, value: string | number | boolean): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** The part of `@opentelemetry/api` that is used. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options?: { attributes?: Attributes }, context?: unknown): Span;
    };
    setSpanContext?(context: unknown, parent: SpanContext & { readonly isRemote: boolean }): unknown;
    setSpan?(context: unknown, span: never): unknown;
    getSpan?(context: never): { spanContext(): SpanContext } | undefined;
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
  /** Runs the task so that its own spans, and the hub's for its requests, become children. */
  within<T>(task: () => T): T;
  /** Names the trace of what decided about the call, as a `traceparent`. */
  link(traceparent: string | null | undefined): void;
  end(failed: boolean, message?: string | null): void;
}

export interface Telemetry {
  /** @param parent the caller's trace, as a `traceparent` */
  startCall(tool: string, attributes: Attributes, parent?: string): CallSpan;
  /** One span per audit record. */
  evaluated(record: AuditRecord): void;
  counted(outcome: 'denied' | 'allowed', tool: string): void;
}

const nothing: CallSpan = { set() {}, within: (task) => task(), link() {}, end() {} };

export const noTelemetry: Telemetry = { startCall: () => nothing, evaluated() {}, counted() {} };

const ok = { code: 1 };
const error = (message?: string | null) => (message ? { code: 2, message } : { code: 2 });
const failures: ReadonlySet<string> = new Set([
  'call_denied',
  'call_approval_denied',
  'call_approval_timeout',
]);

const traceparentPattern = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-[\x20-\x7e]*)?$/;

/** Null for a text that names no span. */
function contextOf(traceparent: string | null | undefined) {
  const [, traceId, spanId, flags] = traceparentPattern.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || /^0*$/.test(traceId) || /^0*$/.test(spanId))
    return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '0', 16), isRemote: true };
}

/** The trace that a `traceparent` names; null for a text that names none. */
export const traceIdOf = (traceparent: string | undefined): string | null =>
  contextOf(traceparent)?.traceId ?? null;

let tracing: OpenTelemetryApi | null = null;

/** True if spans of this process may be recorded: the hub's frames should contain their traces. */
export const isTracing = (): boolean => tracing !== null;

/** The `traceparent` of the active span (W3C Trace Context); null without one. */
export function activeTraceparent(): string | null {
  const active = tracing?.context?.active();
  const context = tracing?.trace.getSpan?.(active as never)?.spanContext();
  if (!context || /^0*$/.test(context.traceId)) return null;
  return `00-${context.traceId}-${context.spanId}-${(context.traceFlags & 1) === 1 ? '01' : '00'}`;
}

export function telemetryOf(api: OpenTelemetryApi): Telemetry {
  if (api.context && api.trace.setSpan) tracing = api;
  const tracer = api.trace.getTracer('reeve');
  const governance = api.trace.getTracer('reeve.governance');
  const meter = api.metrics?.getMeter('reeve');
  const counters = {
    denied: meter?.createCounter('reeve.calls.denied'),
    allowed: meter?.createCounter('reeve.calls.allowed'),
  };
  return {
    startCall(tool, attributes, parent) {
      const remote = contextOf(parent);
      const active = remote && api.trace.setSpanContext?.(api.context?.active(), remote);
      const name = `tool.execute ${tool}`;
      const span = active
        ? tracer.startSpan(name, { attributes }, active)
        : tracer.startSpan(name, { attributes });
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
        link(traceparent) {
          const context = contextOf(traceparent);
          if (context) span.addLink?.({ context });
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

let loading: Promise<OpenTelemetryApi | null> | null = null;

/** Telemetry over the installed `@opentelemetry/api`; none, silently, when it is not installed. */
export async function installedTelemetry(): Promise<Telemetry> {
  // Not a literal, so that neither compiler nor bundler insists on the package.
  const name = ['@opentelemetry', 'api'].join('/');
  loading ??= import(name).catch(() => null);
  const api = await loading;
  return api ? telemetryOf(api) : noTelemetry;
}
