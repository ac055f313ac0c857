// Queries of the API under /v1, in the cache of the console API. The code loads with the pages that need it.
import { type UseQueryResult, useInfiniteQuery } from '@tanstack/react-query';
import type { ApiError } from './api.ts';
import { callHosted, type HostedInput, type HostedOperation, type HostedReply } from './hosted.ts';
import { usePageMutation } from './mutation.ts';
import { type AnswerOptions, type Moving, refresh, useAnswer } from './query.ts';

export const useHosted = <N extends HostedOperation>(
  operation: N,
  input: HostedInput = {},
  options: AnswerOptions = {},
): UseQueryResult<HostedReply<N>, ApiError> =>
  useAnswer(operation, input, (sent, signal) => callHosted(operation, sent, signal), options);

/** Fields of the query that select the next page. */
export type Onward = { readonly [name: string]: string | number };

/** A cursor is valid only with the filters that it came with, so later pages repeat the period of the first one. */
interface NextPage {
  readonly onward: Onward;
  readonly period: object;
}

/** @param onward returns the additional fields for the next page, null after the last page */
export function useHostedPages<N extends HostedOperation>(
  operation: N,
  input: HostedInput,
  onward: (page: HostedReply<N>) => Onward | null,
  options: { readonly own?: boolean; readonly moving?: Moving; readonly enabled?: boolean } = {},
) {
  type PeriodPage = HostedReply<N> & { readonly period: object };
  return useInfiniteQuery<PeriodPage, ApiError, { pages: PeriodPage[] }, readonly unknown[], NextPage | null>(
    {
      // With a separate key, the live stream does not refresh the list. Its page announces new rows.
      queryKey: [
        options.own ? `own ${operation}` : operation,
        'pages',
        input,
        ...(options.moving ? [options.moving.name] : []),
      ],
      initialPageParam: null,
      queryFn: async ({ pageParam, signal }) => {
        const period = pageParam?.period ?? options.moving?.query() ?? {};
        const query = { ...input.query, ...period, ...pageParam?.onward };
        const page = await callHosted(operation, { ...input, query }, signal);
        return Object.assign({}, page, { period });
      },
      getNextPageParam: (page) => {
        const fields = onward(page);
        return fields && { onward: fields, period: page.period };
      },
      enabled: options.enabled ?? true,
    },
  );
}

/** Pages of a list with a cursor. */
export const byCursor = ({ next_cursor: cursor }: { readonly next_cursor: string | null }): Onward | null =>
  cursor === null ? null : { cursor };

/** Pages of a list with an offset, up to the hub's maximum. */
export const byOffset = (page: {
  readonly offset: number;
  readonly limit: number;
  readonly has_more: boolean;
}): Onward | null =>
  page.has_more && page.offset + page.limit <= 10_000 ? { offset: page.offset + page.limit } : null;

/** @param onSuccess runs after every success, whatever page is open */
export function useHostedAction<N extends HostedOperation>(
  operation: N,
  refreshes: readonly HostedOperation[] = [],
  onSuccess?: (reply: HostedReply<N>) => void,
) {
  const reload = (): void => refresh(refreshes);
  return usePageMutation<HostedReply<N>, HostedInput>(
    (input) => callHosted(operation, input),
    (reply) => {
      reload();
      onSuccess?.(reply);
    },
    reload,
  );
}
