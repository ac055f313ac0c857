// The promises in their order. `embedded` names those that one embedded hub keeps as well.
import type { Suite } from '../trial.ts';
import { counter } from './counter.ts';
import { cuts } from './cuts.ts';
import { deadlines } from './deadlines.ts';
import { decisions } from './decisions.ts';
import { ingestUnderKills } from './ingest.ts';
import { outages } from './outages.ts';
import { pause } from './pause.ts';
import { projections } from './projections.ts';
import { revocation } from './revocation.ts';
import { rolling } from './rolling.ts';
import { shards } from './shards.ts';

export const suites: readonly Suite[] = [
  ingestUnderKills,
  outages,
  deadlines,
  decisions,
  pause,
  rolling,
  cuts,
  counter,
  revocation,
  shards,
  projections,
];

export const embedded: readonly Suite[] = [ingestUnderKills, deadlines, decisions, cuts, counter, revocation];
