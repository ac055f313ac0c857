// The range of time in the address as a part of queries.
import type { Moving } from './query.ts';
import { instantsOf, spanOf } from './range.ts';
import type { Search } from './search.ts';
import { serverNow } from './server-time.ts';

/** The range in the address, evaluated for each request. */
export const rangeOf = (search: Search) =>
  ({
    name: `${search.from ?? ''} ${search.to ?? ''}`,
    query: () => instantsOf(spanOf(search, serverNow())),
  }) satisfies Moving;
