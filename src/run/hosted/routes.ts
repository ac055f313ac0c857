// Routes of runs.
import { z } from 'zod';
import { maxQueryLength } from '../../event/rules/query/parse.ts';
import { line, text } from '../../http/contract/fields.ts';
import { cursorQuery, hostedPaging, nextFields, pageFields } from '../../http/contract/hosted-fields.ts';
import { routes } from '../../http/contract/route.ts';
import { runStatus } from '../record.ts';
import { runRow } from './run.ts';

const count = z.number().int();

export const hostedRunRoutes = routes({
  hostedListRuns: {
    method: 'GET',
    path: '/v1/runs',
    auth: ['operatorJwt'],
    role: 'viewer',
    envs: 'record',
    tag: 'hosted-runs',
    summary: 'Runs in the workspace, latest activity first',
    query: z.object({
      /** May be repeated. */
      status: z.array(runStatus).max(20).optional(),
      agent_id: line(255).optional(),
      session_id: text(255, 1).optional(),
      /**
       * A query of Runs (docs/query.md). Terms and the other filters narrow together. A page may be short or empty and
       * still have a `next_cursor`; no `offset` goes with it.
       */
      q: text(maxQueryLength).optional(),
      ...hostedPaging(200, 50),
      cursor: cursorQuery,
    }),
    repeated: ['status'],
    status: 200,
    reply: z.object({
      runs: z.array(runRow),
      /** Null for a `q` that only a look at each run answers: words, `*`, `-` and several ids. */
      total: count.nullable(),
      ...pageFields,
      ...nextFields,
    }),
    search: true,
    errors: ['bad_request', 'forbidden', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
});
