// Traces of this process: the SDK is loaded where a collector is set, and nowhere else.
import type { RunningTracer, TracingSettings } from '../../adapters/otel/tracer.ts';
import type { Clock } from '../shared/ports/clock.ts';
import { installTracer } from '../shared/tracing.ts';
import { version } from '../version.ts';

/** @returns null: nothing is traced */
export async function startTracing(
  settings: TracingSettings | null,
  parts: { readonly clock: Clock; readonly node: string | undefined },
): Promise<RunningTracer | null> {
  if (settings === null) return null;
  const { startTracer } = await import('../../adapters/otel/tracer.ts');
  const tracer = startTracer(settings, { ...parts, version });
  installTracer(tracer);
  return tracer;
}
