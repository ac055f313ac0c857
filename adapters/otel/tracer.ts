// Spans over OpenTelemetry: the SDK makes them, and an exporter sends them to a collector by OTLP over HTTP. The queue
// is bounded, and one export runs at a time. Keeps promise P76.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  SpanKind as OtelKind,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { admissionTable } from '../../src/admission/table.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import { noSpan, type OpenSpan, type SpanKind, type Tracer } from '../../src/shared/tracing.ts';

export interface TracingSettings {
  /** Where spans are posted, with its path. */
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly serviceName: string;
  readonly resource: { readonly [name: string]: string };
  readonly sampler: SamplerName;
  /** Between 0 and 1, for samplers by ratio. */
  readonly ratio: number;
}

export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplerNames)[number];

export interface RunningTracer extends Tracer {
  /** Spans that reached no collector since the start. */
  readonly lost: number;
  /** Sends what is left, for 2 s at most. */
  close(): Promise<void>;
}

/** Spans that wait at most; more are lost. */
const [{ waiting: maxQueued }] = admissionTable.spans.bounds;
const spansPerExport = 512;
const exportEveryMs = 2_000;
const exportTimeoutMs = 10_000;
const closeMs = 2_000;

const isSampled = (span: Pick<Span, 'spanContext'>): boolean =>
  (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;

/** Queues ended spans and sends them, one export at a time. */
export class SpanQueue implements SpanProcessor {
  readonly #exporter: Pick<SpanExporter, 'export' | 'shutdown'>;
  readonly #clock: Pick<Clock, 'every' | 'after'>;
  readonly #timer: { cancel(): void };
  #spans: ReadableSpan[] = [];
  #exporting: Promise<void> | null = null;
  #lost = 0;

  constructor(exporter: Pick<SpanExporter, 'export' | 'shutdown'>, clock: Pick<Clock, 'every' | 'after'>) {
    this.#exporter = exporter;
    this.#clock = clock;
    this.#timer = clock.every(exportEveryMs, () => void this.#send());
  }

  get lost(): number {
    return this.#lost;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (!isSampled(span)) return;
    if (this.#spans.length >= maxQueued) this.#lost++;
    else this.#spans.push(span);
    if (this.#spans.length >= spansPerExport) void this.#send();
  }

  #send(): Promise<void> {
    if (this.#exporting === null && this.#spans.length > 0) {
      this.#exporting = this.#sendAll().finally(() => {
        this.#exporting = null;
      });
    }
    return this.#exporting ?? Promise.resolve();
  }

  async #sendAll(): Promise<void> {
    while (this.#spans.length > 0) {
      const spans = this.#spans.slice(0, spansPerExport);
      this.#spans = this.#spans.slice(spansPerExport);
      const isSent = await new Promise<boolean>((resolve) => {
        const late = this.#clock.after(exportTimeoutMs * 2, () => resolve(false));
        this.#exporter.export(spans, ({ code }) => {
          late.cancel();
          resolve(code === 0);
        });
      });
      if (isSent) continue;
      this.#lost += spans.length;
      // A collector that is away is asked again by the next turn of the timer.
      return;
    }
  }

  forceFlush(): Promise<void> {
    return this.#send();
  }

  async shutdown(): Promise<void> {
    this.#timer.cancel();
    await this.#send();
    await this.#exporter.shutdown();
  }
}

function samplerOf({ sampler, ratio }: Pick<TracingSettings, 'sampler' | 'ratio'>): Sampler {
  const name = sampler.replace('parentbased_', '');
  const root =
    name === 'always_on'
      ? new AlwaysOnSampler()
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

const kinds: { readonly [K in SpanKind]: OtelKind } = {
  server: OtelKind.SERVER,
  internal: OtelKind.INTERNAL,
  client: OtelKind.CLIENT,
  consumer: OtelKind.CONSUMER,
};

const traceparentPattern = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/** The context of a `traceparent` header (W3C Trace Context); null for a broken one. */
export function contextIn(traceparent: string): SpanContext | null {
  const [, traceId = '', spanId = '', flags = ''] = traceparentPattern.exec(traceparent) ?? [];
  if (traceparent.startsWith('ff') || /^0*$/.test(traceId) || /^0*$/.test(spanId)) return null;
  // Version 00 has these four parts alone.
  if (traceparent.startsWith('00') && traceparent.length !== 55) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

const openSpan = (span: Span): OpenSpan => ({
  rename: (name) => void span.updateName(name),
  set: (attributes) => void span.setAttributes(attributes),
  fail: () => void span.setStatus({ code: SpanStatusCode.ERROR }),
});

class OtelTracer implements RunningTracer {
  readonly #clock: Clock;
  readonly #queue: SpanQueue;
  readonly #provider: TracerProvider;
  readonly #tracer: ReturnType<TracerProvider['getTracer']>;
  readonly #storage = new AsyncLocalStorage<Span>();

  constructor(
    settings: TracingSettings,
    {
      clock,
      node,
      version,
    }: { readonly clock: Clock; readonly node: string | undefined; readonly version: string },
  ) {
    this.#clock = clock;
    const exporter = new OTLPTraceExporter({
      url: settings.url,
      headers: { ...settings.headers },
      timeoutMillis: exportTimeoutMs,
    });
    this.#queue = new SpanQueue(exporter, clock);
    this.#provider = new TracerProvider({
      sampler: samplerOf(settings),
      resource: resourceFromAttributes({
        'service.name': settings.serviceName,
        'service.version': version,
        ...(node === undefined ? {} : { 'service.instance.id': node }),
        ...settings.resource,
      }),
      spanProcessors: [this.#queue],
      spanLimits: { attributeCountLimit: 32, attributeValueLengthLimit: 256 },
    });
    this.#tracer = this.#provider.getTracer('reeve', version);
  }

  get lost(): number {
    return this.#queue.lost;
  }

  run<T>(name: string, kind: SpanKind, parent: string | undefined, task: (span: OpenSpan) => T): T {
    const remote = parent === undefined ? null : contextIn(parent);
    const outer = parent === undefined ? this.#storage.getStore() : undefined;
    // Below a span that is not sampled nothing is, and most requests are not.
    if (outer && !isSampled(outer)) return task(noSpan);
    const context = remote
      ? trace.setSpanContext(ROOT_CONTEXT, remote)
      : outer
        ? trace.setSpan(ROOT_CONTEXT, outer)
        : ROOT_CONTEXT;
    const span = this.#tracer.startSpan(name, { kind: kinds[kind] }, context);
    const end = (isFailed: boolean): void => {
      if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    };
    let result: T;
    try {
      result = this.#storage.run(span, () => task(openSpan(span)));
    } catch (error) {
      end(true);
      throw error;
    }
    if (!(result instanceof Promise)) {
      end(false);
      return result;
    }
    result.then(
      () => end(false),
      () => end(true),
    );
    return result;
  }

  outside<T>(task: () => T): T {
    return this.#storage.exit(task);
  }

  current(): string | null {
    const span = this.#storage.getStore();
    if (!span || !isSampled(span)) return null;
    const context = span.spanContext();
    return `00-${context.traceId}-${context.spanId}-01`;
  }

  async close(): Promise<void> {
    await Promise.race([
      this.#provider.shutdown().catch(() => {}),
      new Promise<void>((resolve) => void this.#clock.after(closeMs, resolve)),
    ]);
  }
}

export const startTracer = (
  settings: TracingSettings,
  parts: { readonly clock: Clock; readonly node: string | undefined; readonly version: string },
): RunningTracer => new OtelTracer(settings, parts);
