// The cache of the hub's answers, by operation and input. The live stream invalidates them, so nothing polls.
import { QueryClient, type UseQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { ApiError, call, callPage, type Input, type Operation, type Page, type Reply } from './api.ts';
import { after } from './browser.ts';
import type { HostedOperation } from './hosted.ts';
import { usePageMutation } from './mutation.ts';

/** Longest delay before a retry, in milliseconds. */
export const maxWaitMs = 30_000;

/** True for a failure that a retry can repair. */
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

/** Cache time of answers about a moving period, in milliseconds. Each minute has a new key, so old ones are useless. */
const movingGcMs = 60_000;

/** The part of a query that moves with the time. */
export interface Moving {
  /** Replaces that part in the cache key, so that an answer up to now keeps its key. */
  readonly name: string;
  /** Evaluated for each request. */
  readonly query: () => object;
}

interface KeyOptions {
  readonly moving?: Moving | undefined;
  /**
   * With a separate key, the live stream does not refresh the visible query. The component decides when to reload it.
   */
  readonly own?: boolean;
}

const answerKey = (operation: string, input: object | undefined, { own, moving }: KeyOptions) =>
  [own ? `own ${operation}` : operation, input ?? {}, ...(moving ? [moving.name] : [])] as const;

const moved = <I extends object>(input: I | undefined, moving: Moving | undefined): I | undefined =>
  moving
    ? ({ ...input, query: { ...(input as { query?: object } | undefined)?.query, ...moving.query() } } as I)
    : input;

export interface AnswerOptions extends KeyOptions {
  /** False delays the request. */
  readonly enabled?: boolean;
  /** Returns the previous answer while another input loads. */
  readonly keep?: boolean;
  /** The input has a period that ends now. */
  readonly moves?: boolean;
  /** The answer never changes. */
  readonly isFixed?: boolean;
  readonly refetchMs?: number;
}

/** A cached GET of either API. */
export const useAnswer = <R, I extends object>(
  operation: string,
  input: I | undefined,
  send: (input: I | undefined, signal: AbortSignal) => Promise<R>,
  options: AnswerOptions,
): UseQueryResult<R, ApiError> =>
  useQuery<R, ApiError>({
    queryKey: answerKey(operation, input, options),
    queryFn: ({ signal }) => send(moved(input, options.moving), signal),
    enabled: options.enabled ?? true,
    ...(options.moves ? { gcTime: movingGcMs } : {}),
    ...(options.isFixed ? { staleTime: Number.POSITIVE_INFINITY } : {}),
    ...(options.keep ? { placeholderData: (before: unknown) => before as never } : {}),
    ...(options.refetchMs ? { refetchInterval: options.refetchMs } : {}),
  });

export const useCall = <N extends Operation>(
  operation: N,
  input?: Input<N>,
  options: AnswerOptions = {},
): UseQueryResult<Reply<N>, ApiError> =>
  useAnswer(operation, input as object, (sent, signal) => call(operation, sent as Input<N>, signal), options);

/**
 * True while `keep` returns the answer to a previous question.
 * @param question equal for inputs that differ only in the passing of time
 */
export function useIsOld(of: { readonly isPlaceholderData: boolean }, question: string): boolean {
  const answered = useRef(question);
  if (!of.isPlaceholderData) answered.current = question;
  return of.isPlaceholderData && answered.current !== question;
}

/** Requests data in advance. The component that needs it finds the answer, or waits for the same request. */
export function ask<N extends Operation>(operation: N, input?: Input<N>, moving?: Moving): void {
  const queryFn = ({ signal }: { readonly signal: AbortSignal }) =>
    call(operation, moved(input as object, moving) as Input<N>, signal);
  void queries.prefetchQuery({
    queryKey: answerKey(operation, input as object, { moving }),
    queryFn,
    retry: false,
  });
}

interface PagesOptions {
  readonly enabled?: boolean;
  /** With a separate key, the live stream does not refresh the visible list. Its page announces new rows. */
  readonly own?: boolean;
  readonly moving?: Moving | null;
  /** Parameters of the later pages alone. */
  readonly laterQuery?: object;
  /** The list has offsets in place of cursors. */
  readonly byOffset?: boolean;
  /** Returns the pages of the previous input while another one loads. */
  readonly keep?: boolean;
  readonly refetchMs?: number;
}

export const pagesKey = (operation: Operation, input: object, { own, moving }: PagesOptions = {}) =>
  [own ? `own ${operation}` : operation, 'pages', input, ...(moving ? [moving.name] : [])] as const;

/** A list in pages. */
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
            ...(pageParam === null
              ? {}
              : { ...options.laterQuery, [options.byOffset ? 'offset' : 'cursor']: pageParam }),
          },
        } as Input<N>,
        signal,
      ),
    getNextPageParam: (page) => (options.byOffset ? page.nextOffset : page.next),
    enabled: options.enabled ?? true,
    ...(options.keep ? { placeholderData: (before) => before } : {}),
    ...(options.refetchMs ? { refetchInterval: options.refetchMs } : {}),
  });
}

/** The pages of a list with cursors; other lists have none of these. */
export interface PagedList {
  readonly hasNextPage?: boolean;
  readonly isFetchingNextPage?: boolean;
  readonly isFetchNextPageError?: boolean;
  readonly isFetching?: boolean;
  fetchNextPage?(): unknown;
}

/**
 * The rows of the loaded pages: the same list until a page changes.
 * @param idOf for pages with offsets: after a new row, the next page repeats the last row of the page before
 */
export function usePageRows<P, R>(
  { data }: { readonly data: { readonly pages: readonly P[] } | undefined },
  rowsOf: (page: P) => readonly R[],
  idOf?: (row: R) => string,
): readonly R[] {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows depend on the page alone
  return useMemo(() => {
    const rows = (data?.pages ?? []).flatMap(rowsOf);
    return idOf ? uniqueRows(rows, idOf) : rows;
  }, [data]);
}

/** Each row once, at its first place. */
export const uniqueRows = <R>(rows: readonly R[], idOf: (row: R) => string): readonly R[] => [
  ...new Map(rows.map((row) => [idOf(row), row])).values(),
];

/**
 * Loads the next page of a list. After an error, only a click repeats the request. A refresh is awaited, because the
 * next page would cancel it.
 */
export function readOn(list: PagedList): void {
  if (list.hasNextPage && !list.isFetching && !list.isFetchNextPageError) void list.fetchNextPage?.();
}

/** Loads pages until one has a row that the page displays. */
export function useFirstRow(list: PagedList, hasRows: boolean): void {
  useEffect(() => {
    if (!hasRows) readOn(list);
  });
}

/** Number of pages of the longest visible list of the operation, 1 for other answers. A refresh reads all of them. */
export const pagesOf = (operation: Operation | HostedOperation): number =>
  queries
    .getQueryCache()
    .findAll({ queryKey: [operation, 'pages'], type: 'active' })
    .reduce((max, { state }) => {
      const { pages } = (state.data ?? {}) as { readonly pages?: readonly unknown[] };
      return Math.max(max, pages?.length ?? 0);
    }, 1);

const maxAnswersMs = 5_000;

/** Resolves when no request is open, or after 5 s. Optional parts of a page load after it. */
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

/** False until the more important data of the page has arrived, so that optional parts load after it. */
export function useIsAnswered(): boolean {
  const [isAnswered, setAnswered] = useState(false);
  useEffect(() => void whenAnswered().then(() => setAnswered(true)), []);
  return isAnswered;
}

/**
 * A change. The live stream refreshes affected queries; `refreshes` lists those that no frame covers.
 * @param onSuccess runs after every success, whatever page is open
 */
export function useAction<N extends Operation>(
  operation: N,
  refreshes: readonly Operation[] = [],
  onSuccess?: (reply: Reply<N>) => void,
) {
  const reload = (): void => refresh(refreshes);
  return usePageMutation<Reply<N>, Input<N>>(
    (input) => call(operation, input),
    (reply) => {
      reload();
      onSuccess?.(reply);
    },
    reload,
  );
}

/**
 * Reloads the visible queries of these operations. Others reload when they become visible.
 * @param restart false: a running request is awaited instead of repeated
 */
export function refresh(operations: readonly (Operation | HostedOperation)[], restart = true): void {
  outdateOwn(new Set(operations));
  for (const operation of operations)
    void queries.invalidateQueries({ queryKey: [operation] }, { cancelRefetch: restart });
}

/** Queries with a separate key of these operations reload when they next become visible. Visible ones stay. */
export function outdateOwn(operations: ReadonlySet<string>): void {
  const ownKeys = new Set<unknown>([...operations].map((operation) => `own ${operation}`));
  void queries.invalidateQueries({
    predicate: ({ queryKey: [name] }) => ownKeys.has(name),
    refetchType: 'none',
  });
}
