// Spans of this process, for the parts that make them. Nothing is recorded, and nothing is loaded, unless a tracer was
// installed: each function then costs one comparison. Attributes contain no arguments, texts or e-mail addresses.

export type SpanAttributes = { readonly [name: string]: string | number | boolean };

export interface Tracer {
  /**
   * Runs the task as a span.
   * @param parent a `traceparent`; a broken one is ignored. Undefined: the span that this call is in
   */
  run<T>(name: string, kind: SpanKind, parent: string | undefined, task: (span: OpenSpan) => T): T;
  /** Runs the task in no span: for what is started by one call and serves others. */
  outside<T>(task: () => T): T;
  /** The `traceparent` of the span that this call is in, if it is sampled; null otherwise. */
  current(): string | null;
}

export type SpanKind = 'server' | 'internal' | 'client' | 'consumer';

/** The part of a span that its task may change. */
export interface OpenSpan {
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** Its work failed. */
  fail(): void;
}

let installed: Tracer | null = null;

/** @param tracer null: none */
export const installTracer = (tracer: Tracer | null): void => {
  installed = tracer;
};

/** For work that no span shows. */
export const noSpan: OpenSpan = { rename() {}, set() {}, fail() {} };

/** Runs the task as a span within the one that this call is in. */
export const traced = <T>(name: string, task: () => T, kind: SpanKind = 'internal'): T =>
  installed === null ? task() : installed.run(name, kind, undefined, task);

/** Runs the task as a span that continues another's, also one of another process. */
export const continued = <T>(
  name: string,
  kind: SpanKind,
  parent: string | null | undefined,
  task: (span: OpenSpan) => T,
): T => (installed === null ? task(noSpan) : installed.run(name, kind, parent ?? '', task));

/** The `traceparent` of the span that this call is in; null: nothing is traced. */
export const currentTrace = (): string | null => installed?.current() ?? null;

/** Runs the task in no span: for what is started by one call and serves others. */
export const untraced = <T>(task: () => T): T => (installed === null ? task() : installed.outside(task));

/** Runs the task as a span that continues another's; as it is where there is none. */
export const resumed = <T>(name: string, parent: string | null | undefined, task: () => T): T =>
  installed === null || !parent ? task() : installed.run(name, 'internal', parent, task);
