// The scenarios of the suite, in the order in which they run.
import { approval } from './approval.ts';
import { bus } from './bus.ts';
import { cluster } from './cluster.ts';
import { webConsole } from './console.ts';
import { deliveries } from './deliveries.ts';
import { evaluate } from './evaluate.ts';
import { fanout } from './fanout.ts';
import { hosted } from './hosted.ts';
import { idle } from './idle.ts';
import { ingest } from './ingest.ts';
import { library } from './library.ts';
import { mcp } from './mcp.ts';
import { mixed } from './mixed.ts';
import { move } from './move.ts';
import { owner } from './owner.ts';
import { query } from './query.ts';
import { requests } from './requests.ts';
import { retention } from './retention.ts';
import type { ScenarioProgram } from './scenario.ts';
import { scrape } from './scrape.ts';
import { storm } from './storm.ts';
import { traces } from './traces.ts';

export const scenarios: { readonly [name: string]: ScenarioProgram } = {
  ingest,
  hosted,
  fanout,
  idle,
  storm,
  owner,
  requests,
  approval,
  query,
  evaluate,
  deliveries,
  scrape,
  traces,
  mixed,
  library,
  mcp,
  console: webConsole,
  retention,
  bus,
  cluster,
  move,
};
