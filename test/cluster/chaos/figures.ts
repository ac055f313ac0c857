// Figures of a run: percentiles, and a description of a promise's outcome. Measures nothing.

/** The result of one promise under one seed. */
export interface Report {
  /** 1 to 11. */
  readonly promise: number;
  readonly title: string;
  readonly seed: string;
  readonly size: Size;
  readonly seconds: number;
  /** Name → what was measured, in words or numbers. */
  readonly figures: { readonly [name: string]: number | string };
  /** One line per breach; empty: kept. */
  readonly violations: readonly string[];
  /** Faults of the processes, in order. */
  readonly faults: readonly string[];
}

/** `short`: what CI runs; `long`: the numbers of the promises. */
export type Size = 'short' | 'long';

/** The value that a share of the numbers does not exceed; 0 of none. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? sorted[0] ?? 0;
}

/** `p50/p99/max` of milliseconds. */
export function spread(ms: readonly number[]): string {
  if (ms.length === 0) return 'none';
  const at = (share: number) => Math.round(percentile(ms, share));
  return `${at(0.5)}/${at(0.99)}/${at(1)} ms`;
}

/** The most times that fall in one window, and the share of all. */
export function busiest(
  times: readonly number[],
  windowMs: number,
): { readonly count: number; readonly share: number } {
  const sorted = [...times].sort((a, b) => a - b);
  let count = 0;
  for (let from = 0, to = 0; to < sorted.length; to++) {
    while ((sorted[to] ?? 0) - (sorted[from] ?? 0) >= windowMs) from++;
    count = Math.max(count, to - from + 1);
  }
  return { count, share: sorted.length === 0 ? 0 : count / sorted.length };
}

export function describeReport(report: Report): string {
  const kept = report.violations.length === 0 ? 'kept' : 'BROKEN';
  const figures = Object.entries(report.figures).map(([name, value]) => `${name} ${value}`);
  const lines = [
    `${report.promise}. ${report.title}: ${kept} (seed ${report.seed}, ${report.seconds.toFixed(1)} s)`,
    `   ${figures.join('; ')}`,
  ];
  if (report.violations.length > 0) {
    lines.push(...report.violations.slice(0, 20).map((line) => `   ! ${line}`));
    if (report.violations.length > 20) lines.push(`   ! and ${report.violations.length - 20} more`);
    lines.push(...report.faults.map((line) => `   · ${line}`));
  }
  return lines.join('\n');
}
