// Answers of the hub in memory: one cache, by operation and input. The live stream says when they are old, so nothing
// here polls.
import {
  QueryClient,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
} from '@tanstack/react-query';
import { useRef } from 'react';
import { ApiError, call, callPage, type Input, type Operation, type Page, type Reply } from './api.ts';
import { after } from './browser.ts';
import type { HostedOperation } from './hosted.ts';

/** The longest wait before something is asked for again. */
export const maxWaitMs = 30_000;

/** Only what may be better in a moment is asked again. */
const mayRepeat = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 503 || (error.status === 429 && error.code !== 'too_busy'));

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      networkMode: 'always',
      retry: (count, error) => count < 2 && mayRepeat(error),
      retryDelay: (count, error) =>
        Math.min(
          maxWaitMs,
          error instanceof ApiError && error.retryAfter !== null ? error.retryAfter * 1000 : 500 * 2 ** count,
        ),
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

export const keyOf = <N extends Operation>(operation: N, input?: Input<N>) =>
  [operation, input ?? {}] as const;

/** How long an answer about a moving span of time is kept: each minute asks for another, and nobody asks again. */
const movingGcMs = 60_000;

/**
 * A GET that stays in the cache. `enabled: false` waits; `keep` shows the last answer while another input loads;
 * `moves` says that the input names a span that ends now.
 */
export function useCall<N extends Operation>(
  operation: N,
  input?: Input<N>,
  options: {
    readonly enabled?: boolean;
    readonly keep?: boolean;
    readonly moves?: boolean;
    readonly refetchMs?: number;
  } = {},
): UseQueryResult<Reply<N>, ApiError> {
  const query = useQuery<Reply<N>, ApiError>({
    queryKey: keyOf(operation, input),
    queryFn: ({ signal }) => call(operation, input, signal),
    enabled: options.enabled ?? true,
    ...(options.moves ? { gcTime: movingGcMs } : {}),
    ...(options.keep ? { placeholderData: (before: unknown) => before as never } : {}),
    ...(options.refetchMs ? { refetchInterval: options.refetchMs } : {}),
  });
  return query;
}

/**
 * Whether what is shown, kept by `keep`, answers another question than the one that is asked now.
 * @param question the same for inputs that differ only by how far the time has moved on
 */
export function useIsOld(of: { readonly isPlaceholderData: boolean }, question: string): boolean {
  const answered = useRef(question);
  if (!of.isPlaceholderData) answered.current = question;
  return of.isPlaceholderData && answered.current !== question;
}

/** Asks before anything shows it: who shows it next finds the answer, or waits for the same one. */
export function ask<N extends Operation>(operation: N, input?: Input<N>): void {
  const queryFn = ({ signal }: { readonly signal: AbortSignal }) => call(operation, input, signal);
  void queries.prefetchQuery({ queryKey: keyOf(operation, input), queryFn, retry: false });
}

/** What of a list's query moves with the time. */
export interface Moving {
  /** Stands for it in the key of the cache: a list that ends now stays one list, however often it is read. */
  readonly name: string;
  /** Read whenever a page is asked for. */
  readonly query: () => object;
}

interface PagesOptions {
  readonly enabled?: boolean;
  /** Under a name of its own the live stream leaves it alone: its page says what is new, and when it is shown. */
  readonly own?: boolean;
  readonly moving?: Moving | null;
}

export const pagesKey = (operation: Operation, input: object, { own, moving }: PagesOptions = {}) =>
  [own ? `own ${operation}` : operation, 'pages', input, ...(moving ? [moving.name] : [])] as const;

/** A list that continues through cursors. */
export function usePages<N extends Operation>(
  operation: N,
  input: Input<N> & { readonly query?: object },
  options: PagesOptions = {},
) {
  return useInfiniteQuery<
    Page<Reply<N>>,
    ApiError,
    { pages: Page<Reply<N>>[] },
    readonly unknown[],
    string | null
  >({
    queryKey: pagesKey(operation, input, options),
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) =>
      callPage(
        operation,
        {
          ...input,
          query: {
            ...input.query,
            ...options.moving?.query(),
            ...(pageParam === null ? {} : { cursor: pageParam }),
          },
        } as Input<N>,
        signal,
      ),
    getNextPageParam: (page) => page.next,
    enabled: options.enabled ?? true,
  });
}

/** Reads on where a list continues. A page that was refused is asked for again by a press, not by itself for ever. */
export function readOn(list: {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly isFetchNextPageError: boolean;
  fetchNextPage(): unknown;
}): void {
  if (list.hasNextPage && !list.isFetchingNextPage && !list.isFetchNextPageError) void list.fetchNextPage();
}

const maxAnswersMs = 5_000;

/** Once nothing is asked for any more, or after 5 s: when to load what a page can be read without. */
export function whenAnswered(): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      if (queries.isFetching() > 0) return;
      stop();
      timer.cancel();
      resolve();
    };
    const stop = queries.getQueryCache().subscribe(done);
    const timer = after(maxAnswersMs, () => {
      stop();
      resolve();
    });
    done();
  });
}

/** A change. The live stream refreshes what it touches; `refreshes` names what no frame tells of. */
export function useAction<N extends Operation>(operation: N, refreshes: readonly Operation[] = []) {
  return useMutation<Reply<N>, ApiError, Input<N>>({
    mutationFn: (input) => call(operation, input),
    onSuccess: () => refresh(refreshes),
  });
}

/**
 * Asks again for whatever is shown of these operations; the rest is asked for when it is shown next.
 * @param anew false: an answer that is under way is awaited, not asked for anew
 */
export function refresh(operations: readonly (Operation | HostedOperation)[], anew = true): void {
  for (const operation of operations)
    void queries.invalidateQueries({ queryKey: [operation] }, { cancelRefetch: anew });
}
