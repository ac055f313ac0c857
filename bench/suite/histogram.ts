// Latency histograms: microseconds, three significant digits, up to ten minutes.
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';
import type { Histogram as Latencies } from './results.ts';

export const newHistogram = (): Histogram =>
  build({ lowestDiscernibleValue: 1, highestTrackableValue: 600_000_000, numberOfSignificantValueDigits: 3 });

/** Merges histograms (V2, base64, microseconds). Percentiles are in milliseconds. */
export function mergeLatencies(encoded: readonly string[]): Latencies {
  const merged = newHistogram();
  for (const text of encoded) merged.add(decodeFromCompressedBase64(text));
  const at = (percentile: number): number => merged.getValueAtPercentile(percentile) / 1000;
  return {
    hdr: encodeIntoCompressedBase64(merged),
    count: merged.totalCount,
    p50: at(50),
    p90: at(90),
    p99: at(99),
    p999: at(99.9),
    max: merged.maxValue / 1000,
  };
}
