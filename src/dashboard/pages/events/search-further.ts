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
  const [until, setUntil] = useState({ key, at: now() + maxSearchMs, isFurther: false });
  const last = data?.pages.at(-1);
  let matchCount = 0;
  // The search itself adds pages only behind a cut one, and while it has no full page of rows.
  let isScrolled = false;
  for (const page of data?.pages ?? []) {
    matchCount += page.reply.length;
    if (page !== last && (page.searchedTo === undefined || matchCount >= pageSize)) isScrolled = true;
  }
  const isCurrent = until.key === key;
  const at = isCurrent ? until.at : Number.POSITIVE_INFINITY;
  const isCut = last?.searchedTo !== undefined && hasNextPage;
  const isShort = isCut && matchCount < pageSize;
  const isSearching = isShort && now() < at && (isFetching || !hasFailed);
  const begin = (isFurther: boolean): void => setUntil({ key, at: now() + maxSearchMs, isFurther });
  useEffect(() => {
    if (until.key !== key) setUntil({ key, at: now() + maxSearchMs, isFurther: false });
    else if (isSearching && !isFetching) void fetchNextPage();
  }, [until.key, key, isSearching, isFetching, fetchNextPage]);
  return {
    searchedTo: isCut ? last.searchedTo : undefined,
    isSearching,
    /** The search ended before it had a page of rows. */
    isShort,
    /** A person loaded more pages than the search by itself. */
    isReadOn: isScrolled || (isCurrent && until.isFurther),
    stop: () => setUntil({ ...until, key, at: 0 }),
    goOn: () => {
      begin(true);
      void fetchNextPage();
    },
    /** For a list that begins again with its first page. */
    restart: () => begin(false),
  };
}
