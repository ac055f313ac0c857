// Form of the figures of coverage in replies.
import type { CoverageCounts } from './use-cases/coverage-figures.ts';

/** Also of an agent in the list of the fleet. */
export const renderCounts = ({ total, enforced, observed, ungoverned, percent }: CoverageCounts) => ({
  total_tools: total,
  enforced,
  observed,
  ungoverned,
  coverage_pct: percent,
});
