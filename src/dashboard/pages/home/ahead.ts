// The overview's first requests, sent while its scripts load. The file is in the first load, so it imports no part of
// the page.
import type { Input } from '../../lib/api.ts';
import { ask } from '../../lib/query.ts';
import { instantsOf, type Span, spanOf } from '../../lib/range.ts';
import { parseSearch } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';

/** Environment and range of a request. */
export const scopeOf = (env: string | undefined, span: Span) =>
  ({ ...instantsOf(span), ...(env ? { env } : {}) }) as NonNullable<Input<'statsOverview'>['query']>;

/** The pending approvals of the inbox. */
export const waitingInput = (env: string | undefined): Input<'listApprovals'> =>
  ({ query: { status: 'pending', limit: 200, ...(env ? { env } : {}) } }) as Input<'listApprovals'>;

/** The figures of the overview, beside those of the range before. */
export const statsInput = (env: string | undefined, span: Span): Input<'statsOverview'> => ({
  query: { ...scopeOf(env, span), compare: 'previous' },
});

/** Maximum of the bars in a lane. */
const points = 120;

export const seriesInput = (env: string | undefined, span: Span): Input<'statsSeries'> => ({
  query: { ...scopeOf(env, span), points },
});

export const attentionInput = (env: string | undefined): Input<'attention'> =>
  ({ query: env ? { env } : {} }) as Input<'attention'>;

/** Requests the data that the frame and the overview need first. Without a session, the hub refuses it. */
export function askAhead({ pathname, search }: Location): void {
  ask('statsOverview');
  if (!/^\/dashboard\/?$/.test(pathname)) return;
  const filters = parseSearch(search);
  const span = spanOf(filters, serverNow());
  ask('statsOverview', statsInput(filters.env, span));
  ask('statsSeries', seriesInput(filters.env, span));
  ask('attention', attentionInput(filters.env));
}
