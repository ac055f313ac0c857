// The scenarios of the suite, in the order in which they run.
import { approval } from './approval.ts';
import { evaluate } from './evaluate.ts';
import { fanout } from './fanout.ts';
import { hosted } from './hosted.ts';
import { idle } from './idle.ts';
import { ingest } from './ingest.ts';
import { query } from './query.ts';
import type { ScenarioProgram } from './scenario.ts';
import { storm } from './storm.ts';

export const scenarios: { readonly [name: string]: ScenarioProgram } = {
  ingest,
  hosted,
  fanout,
  idle,
  storm,
  approval,
  query,
  evaluate,
};
