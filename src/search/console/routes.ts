// Route of the search for things by name.
import { z } from 'zod';
import { text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { thingTypes } from '../rules.ts';

export const searchRoutes = routes({
  searchThings: {
    method: 'GET',
    path: '/api/v1/search',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'search',
    summary:
      'Things by the beginning of words of their names, or by their ids, the best first, at most 20. Keys and channels ' +
      'need the role operator, people and service accounts the role admin',
    query: z.object({ q: text(200, 1) }),
    status: 200,
    reply: z.object({
      results: z.array(
        z.object({
          type: z.enum(thingTypes),
          /** Of a run: the agent, a slash, and the session. */
          id: z.string(),
          name: z.string(),
          /** One line that distinguishes it from others; empty: none. */
          hint: z.string(),
        }),
      ),
    }),
    search: true,
    errors: ['validation_failed', 'search_timeout', 'rate_limited'],
  },
});
