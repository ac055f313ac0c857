// Metrics over OTLP: the exporter is loaded where a receiver is set, and nowhere else.
import type { Registry } from 'prom-client';
import type { MetricReading, MetricsExport, MetricsExportSettings } from '../../../adapters/otel/metrics.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Log } from '../../shared/ports/log.ts';
import { version } from '../../version.ts';

/** @returns null: metrics are not sent */
export async function exportMetrics(
  settings: MetricsExportSettings | null,
  registry: Pick<Registry, 'getMetricsAsJSON'>,
  parts: { readonly clock: Clock; readonly log: Log; readonly node: string | undefined },
): Promise<MetricsExport | null> {
  if (settings === null) return null;
  const { startMetricsExport } = await import('../../../adapters/otel/metrics.ts');
  const read = async () => (await registry.getMetricsAsJSON()) as unknown as readonly MetricReading[];
  return startMetricsExport(settings, { ...parts, version, read });
}
