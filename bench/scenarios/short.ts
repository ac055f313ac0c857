// The runs of `npm run bench` without a name: every scenario, shorter where its default size takes minutes.
import type { RunSettings } from '../suite/arguments.ts';
import { scenarios } from './index.ts';

interface ShortRun {
  readonly scenario: string;
  readonly settings: Partial<RunSettings>;
  /** See `ScenarioRun`. */
  readonly needsVerdicts?: boolean;
  readonly isShort: boolean;
}

const smallerRuns: { readonly [scenario: string]: Omit<ShortRun, 'scenario' | 'isShort'> } = {
  move: { settings: { rows: 500 } },
  // A round in a browser takes a minute, and three are needed for a verdict.
  console: { settings: { rounds: 1 }, needsVerdicts: false },
};

/** In order. Sizes on the command line come before these. */
export const shortRuns: readonly ShortRun[] = Object.keys(scenarios).map((scenario) => ({
  scenario,
  settings: {},
  isShort: true,
  ...smallerRuns[scenario],
}));
