// Answers of the API under /v1 in the same cache as those of the console API. Loaded with the pages that need it.
import { type UseQueryResult, useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import type { ApiError } from './api.ts';
import { callHosted, type HostedInput, type HostedOperation, type HostedReply } from './hosted.ts';
import { refresh } from './query.ts';

export function useHosted<N extends HostedOperation>(
  operation: N,
  input: HostedInput = {},
  options: {
    readonly enabled?: boolean;
    readonly refetchMs?: number;
    /** Under a name of its own the live stream leaves it alone: who shows it says when it is read again. */
    readonly own?: boolean;
  } = {},
): UseQueryResult<HostedReply<N>, ApiError> {
  return useQuery<HostedReply<N>, ApiError>({
    queryKey: [options.own ? `own ${operation}` : operation, input],
    queryFn: ({ signal }) => callHosted(operation, input, signal),
    enabled: options.enabled ?? true,
    ...(options.refetchMs ? { refetchInterval: options.refetchMs } : {}),
  });
}

/** What leads from one page of a list to the next: more of the query. */
export type Onward = { readonly [name: string]: string | number };

/** @param onward what the query of the next page holds besides; null after the last. */
export function useHostedPages<N extends HostedOperation>(
  operation: N,
  input: HostedInput,
  onward: (page: HostedReply<N>) => Onward | null,
  options: { readonly own?: boolean } = {},
) {
  return useInfiniteQuery<
    HostedReply<N>,
    ApiError,
    { pages: HostedReply<N>[] },
    readonly unknown[],
    Onward | null
  >({
    // Under a name of its own the live stream leaves it alone: its page says what is new, and when it is shown.
    queryKey: [options.own ? `own ${operation}` : operation, 'pages', input],
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) =>
      callHosted(operation, { ...input, query: { ...input.query, ...pageParam } }, signal),
    getNextPageParam: onward,
  });
}

/** Pages of a list that is read by offset, as far as the hub lets. */
export const byOffset = (page: {
  readonly offset: number;
  readonly limit: number;
  readonly has_more: boolean;
}): Onward | null =>
  page.has_more && page.offset + page.limit <= 10_000 ? { offset: page.offset + page.limit } : null;

export function useHostedAction<N extends HostedOperation>(
  operation: N,
  refreshes: readonly HostedOperation[] = [],
) {
  return useMutation<HostedReply<N>, ApiError, HostedInput>({
    mutationFn: (input) => callHosted(operation, input),
    onSuccess: () => refresh(refreshes),
  });
}
