// The continuation of a search that read only a part of the range in its time.
import { useEffect, useState } from 'react';
import { now } from '../../lib/browser.ts';

/** A search goes on by itself for this time, in milliseconds. */
const maxSearchMs = 10_000;

interface PagedSearch {
  readonly data:
    | { readonly pages: readonly { readonly reply: readonly unknown[]; readonly searchedTo?: string }[] }
    | undefined;
  readonly isFetching: boolean;
  readonly hasNextPage: boolean;
  readonly isFetchNextPageError: boolean;
  fetchNextPage(): unknown;
}

/**
 * Goes on with a search that its time limit ended, until it has a page of rows, for ten seconds, or until Stop. After
 * an error, only a click repeats the request.
 * @param key identifies the search
 */
export function useSearchFurther(
  { data, isFetching, hasNextPage, isFetchNextPageError: hasFailed, fetchNextPage }: PagedSearch,
  key: string,
  pageSize: number,
) {
  const [until, setUntil] = useState({ key, at: now() + maxSearchMs });
  const last = data?.pages.at(-1);
  const matchCount = data?.pages.reduce((sum, { reply }) => sum + reply.length, 0) ?? 0;
  const at = until.key === key ? until.at : Number.POSITIVE_INFINITY;
  const isCut = last?.searchedTo !== undefined && hasNextPage;
  const isSearching = isCut && matchCount < pageSize && now() < at && (isFetching || !hasFailed);
  useEffect(() => {
    if (until.key !== key) setUntil({ key, at: now() + maxSearchMs });
    else if (isSearching && !isFetching) void fetchNextPage();
  }, [until.key, key, isSearching, isFetching, fetchNextPage]);
  return {
    searchedTo: isCut ? last.searchedTo : undefined,
    isSearching,
    stop: () => setUntil({ key, at: 0 }),
    goOn: () => {
      setUntil({ key, at: now() + maxSearchMs });
      void fetchNextPage();
    },
  };
}
