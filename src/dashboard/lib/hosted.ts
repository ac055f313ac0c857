// Calls of the hosted API under /v1: with the browser's own short-lived token, which is kept in memory and renewed before it ends.
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { LiveFrame } from '../live/cache.ts';
import { followFrames } from '../live/live.ts';
import { ApiError, call } from './api.ts';
import { after, now } from './browser.ts';
import { queries } from './query.ts';

/** Renewed so long before it ends. */
const marginMs = 60_000;

let token: { readonly text: string; readonly endsAt: number } | null = null;
let asking: Promise<string> | null = null;

async function tokenOf(): Promise<string> {
  if (token && token.endsAt - now() > marginMs) return token.text;
  asking ??= call('exchangeLogin', {}).then(
    (given) => {
      token = { text: given.token, endsAt: Date.parse(given.expires_at) };
      asking = null;
      return given.token;
    },
    (error: unknown) => {
      asking = null;
      throw error;
    },
  );
  return asking;
}

export interface HostedInput {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly query?: { readonly [name: string]: string | number | readonly string[] | undefined };
  readonly yaml?: string;
}

const addressOf = (path: string, query: HostedInput['query'] = {}): string => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly string[]) : [value])
      .filter((one) => one !== undefined && one !== '')
      .map((one) => [name, String(one)]),
  );
  const text = new URLSearchParams(pairs).toString();
  return text === '' ? path : `${path}?${text}`;
};

/** The answer's text. @throws ApiError */
export async function hostedText(
  path: string,
  input: HostedInput = {},
  signal?: AbortSignal,
): Promise<string> {
  const bearer = await tokenOf();
  let response: Response;
  let text: string;
  try {
    response = await fetch(addressOf(path, input.query), {
      method: input.method ?? 'GET',
      credentials: 'omit',
      headers: {
        Authorization: `Bearer ${bearer}`,
        ...(input.yaml === undefined ? {} : { 'Content-Type': 'application/x-yaml' }),
      },
      ...(input.yaml === undefined ? {} : { body: input.yaml }),
      ...(signal ? { signal } : {}),
    });
    text = await response.text();
  } catch (failure) {
    if (signal?.aborted) throw failure;
    throw new ApiError(0, 'unreachable', 'The hub did not answer. Check that it runs and try again.', null);
  }
  if (response.ok) return text;
  if (response.status === 401) token = null;
  let problem: {
    readonly detail?: unknown;
    readonly code?: unknown;
    readonly message?: unknown;
    readonly error?: unknown;
  } = {};
  try {
    problem = JSON.parse(text);
  } catch {
    // An answer of something in between: its status is all that counts.
  }
  const inner =
    typeof problem.error === 'object' && problem.error !== null ? (problem.error as typeof problem) : problem;
  const said = [inner.detail, inner.message, problem.error].find(
    (one) => typeof one === 'string' || Array.isArray(one),
  );
  throw new ApiError(response.status, String(inner.code ?? 'unknown'), said, null);
}

const read = async <T>(path: string, input: HostedInput, signal?: AbortSignal): Promise<T> => {
  const text = await hostedText(path, input, signal);
  return (text === '' ? null : JSON.parse(text)) as T;
};

/** A GET that stays in the cache. */
export const useHosted = <T>(
  path: string,
  query: HostedInput['query'] = {},
  options: { readonly enabled?: boolean } = {},
) =>
  useQuery<T, ApiError>({
    queryKey: ['hosted', path, query],
    queryFn: ({ signal }) => read<T>(path, { query }, signal),
    enabled: options.enabled ?? true,
    placeholderData: (before) => before,
  });

/** A list that continues through `next_cursor`. */
export const useHostedPages = <T extends { readonly next_cursor: string | null }>(
  path: string,
  query: HostedInput['query'] = {},
) =>
  useInfiniteQuery<T, ApiError, { pages: T[] }, readonly unknown[], string | undefined>({
    queryKey: ['hosted', path, 'pages', query],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }) => read<T>(path, { query: { ...query, cursor: pageParam } }, signal),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

export const refreshHosted = (path: string): void =>
  void queries.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[0] === 'hosted' && String(queryKey[1]).startsWith(path),
  });

/** A change; what begins with `refreshes` is read again. */
export const useHostedAction = <T>(refreshes: string) =>
  useMutation<T, ApiError, { readonly path: string } & HostedInput>({
    mutationFn: ({ path, ...input }) => read<T>(path, input),
    onSuccess: () => refreshHosted(refreshes),
  });

const restMs = 1_500;

/** Reads what begins with `path` again when one of these frames comes, at most every second or two. */
export function useHostedLive(path: string, types: readonly LiveFrame['type'][]): void {
  const wanted = useRef(types);
  wanted.current = types;
  useEffect(() => {
    let waiting = false;
    return followFrames(({ type }) => {
      if (waiting || (type !== 'resync' && !wanted.current.includes(type))) return;
      waiting = true;
      after(restMs, () => {
        waiting = false;
        refreshHosted(path);
      });
    });
  }, [path]);
}
