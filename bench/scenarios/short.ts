// The runs of `npm run bench` without a name: every scenario, shorter where its default size takes minutes.
import type { RunSettings } from '../suite/arguments.ts';
import { scenarios } from './index.ts';

interface ShortRun {
  readonly scenario: string;
  readonly settings: Partial<RunSettings>;
}

const smallerSizes: { readonly [scenario: string]: Partial<RunSettings> } = {
  // The stand-in for MongoDB takes a minute for 3,000 rows.
  move: { rows: 500 },
  // A round in a browser takes a minute.
  console: { rounds: 1 },
};

/** In order. Sizes on the command line come before these. */
export const shortRuns: readonly ShortRun[] = Object.keys(scenarios).map((scenario) => ({
  scenario,
  settings: smallerSizes[scenario] ?? {},
}));
