// The overview's first requests, sent while its scripts load. The file is in the first load, so it imports no part of
// the page.
import type { Input } from '../../lib/api.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { ask } from '../../lib/query.ts';
import { isCompared } from '../../lib/range.ts';
import { parseSearch, type Search } from '../../lib/search.ts';

const inEnv = (env: string | undefined): object => (env ? { env } : {});

/** The first page of the inbox: the pending approvals that expire next. */
export const waitingInput = (env: string | undefined): Input<'listApprovals'> =>
  ({ query: { sort: 'expires_at', limit: 200, ...inEnv(env) } }) as Input<'listApprovals'>;

/** The figures of the overview; with a comparison, beside those of the range before. */
export const statsInput = (search: Search): Input<'statsOverview'> =>
  ({
    query: { ...(isCompared(search) ? { compare: 'previous' } : {}), ...inEnv(search.env) },
  }) as Input<'statsOverview'>;

/** Requests the data that the frame and the overview need first. Without a session, the hub refuses it. */
export function askAhead({ pathname, search }: Location): void {
  ask('statsOverview');
  if (!/^\/dashboard\/?$/.test(pathname)) return;
  const filters = parseSearch(search);
  ask('statsOverview', statsInput(filters), rangeOf(filters));
}
