// The definitions, servers and modes of the chosen environments, in pages, undecided definitions first.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type ApiError, call, type Reply } from '../../lib/api.ts';
import { useEnvs } from '../../lib/me.ts';
import { pagesKey, readOn, uniqueRows } from '../../lib/query.ts';
import type { Env } from '../../lib/search.ts';
import type { QueryState } from '../../ui/query-result.tsx';
import { isToReview, isUndecided, type Mode, type ToolPin, type ToolServer } from './model.ts';

type Page = Reply<'listToolPins'>;

const pageSize = 1000;

/** A server in an environment. */
export type PlacedServer = ToolServer & { readonly env: Env; readonly envMode: Mode };

export interface Tools {
  readonly envs: readonly Env[];
  readonly modes: readonly { readonly env: Env; readonly mode: Mode }[];
  readonly servers: readonly PlacedServer[];
  /** Of the loaded pages. */
  readonly pins: readonly ToolPin[];
  readonly toReview: readonly ToolPin[];
  readonly hasMore: boolean;
  /** Undecided definitions may follow on further pages. */
  readonly hasMoreUndecided: boolean;
}

function usePins(env: Env, server: string | undefined, enabled: boolean) {
  const query = {
    ...{ env, limit: pageSize, include_agents: 'true' as const },
    ...(server === undefined ? {} : { server }),
  };
  return useInfiniteQuery<Page, ApiError, { pages: Page[] }, readonly unknown[], number>({
    queryKey: pagesKey('listToolPins', query),
    initialPageParam: 0,
    queryFn: ({ pageParam: offset, signal }) => call('listToolPins', { query: { ...query, offset } }, signal),
    getNextPageParam: ({ more, tools }, _pages, offset) =>
      more && tools.length > 0 ? offset + tools.length : null,
    enabled,
  });
}

type Pins = ReturnType<typeof usePins>;

/** Each list begins with its undecided definitions: further ones follow only where the last one is undecided. */
function mayHaveUndecided({ hasNextPage, data }: Pins): boolean {
  const last = data?.pages.at(-1)?.tools.at(-1);
  return hasNextPage && last !== undefined && isUndecided(last);
}

/** Several lists as one; it has data when all of them have. It reads on where undecided definitions may follow. */
function joined(lists: readonly Pins[]): QueryState<true> {
  const failed = lists.find(({ error }) => error !== null);
  const next = lists.find(mayHaveUndecided) ?? lists.find(({ hasNextPage }) => hasNextPage);
  return {
    data: lists.every(({ data }) => data !== undefined) ? true : undefined,
    error: failed?.error ?? null,
    failureReason: lists.find(({ failureReason }) => failureReason !== null)?.failureReason ?? null,
    dataUpdatedAt: Math.min(...lists.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    hasNextPage: next !== undefined,
    isFetching: lists.some(({ isFetching }) => isFetching),
    isFetchNextPageError: lists.some(({ isFetchNextPageError }) => isFetchNextPageError),
    fetchNextPage: () => next && readOn(next),
    refetch: () => Promise.all(lists.map((list) => list.refetch())),
  };
}

/** @param server only the definitions of this server; undefined: all */
export function useTools(server: string | undefined): {
  readonly query: QueryState<true>;
  readonly tools: Tools;
} {
  const envs = useEnvs();
  const production = usePins('production', server, envs.includes('production'));
  const staging = usePins('staging', server, envs.includes('staging'));
  const development = usePins('development', server, envs.includes('development'));
  const lists = { production, staging, development };
  const chosen = envs.map((env) => ({ env, list: lists[env] }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the tools depend on the pages alone
  const tools = useMemo(
    () => toolsOf(chosen),
    [envs.join(' '), production.data, staging.data, development.data],
  );
  return { query: joined(chosen.map(({ list }) => list)), tools };
}

function toolsOf(lists: readonly { readonly env: Env; readonly list: Pins }[]): Tools {
  const pages = lists.map(({ env, list }) => ({ env, list, loaded: list.data?.pages ?? [] }));
  const pins = uniqueRows(
    pages.flatMap(({ loaded }) => loaded.flatMap(({ tools }) => tools)),
    ({ id }) => id,
  );
  return {
    envs: lists.map(({ env }) => env),
    modes: pages.flatMap(({ env, loaded: [first] }) => (first ? [{ env, mode: first.mode }] : [])),
    servers: pages.flatMap(({ env, loaded: [first] }) =>
      (first?.servers ?? []).map((one) => ({ ...one, env, envMode: first?.mode ?? 'observe' })),
    ),
    // Each environment's list begins with its undecided definitions.
    pins: [...pins.filter(isUndecided), ...pins.filter((pin) => !isUndecided(pin))],
    toReview: pins.filter(isToReview),
    hasMore: lists.some(({ list }) => list.hasNextPage),
    hasMoreUndecided: lists.some(({ list }) => mayHaveUndecided(list)),
  };
}
