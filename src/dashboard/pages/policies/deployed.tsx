// Where documents are deployed, and the calls that agents judged by the deployed versions.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { type ApiError, call, type Reply } from '../../lib/api.ts';
import { pagesKey, readOn } from '../../lib/query.ts';
import { type Env as Environment, envs } from '../../lib/search.ts';
import { callsColumn } from '../../ui/calls-cell.tsx';
import { Env } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table.tsx';

type Matrix = Reply<'fleetMatrix'>;

interface Deployed {
  readonly env: Environment;
  readonly version: number;
  readonly hash: string;
}

export interface Deployments {
  /** Current deployments of the document; undefined: not loaded yet. */
  readonly placesOf: (name: string) => readonly Deployed[] | undefined;
  /** The rest does not load by itself. */
  readonly isFailed: boolean;
}

/** Reads all pages of the matrix. The key is that of deployments, because agents do not change these cells. */
export function useDeployments(): Deployments {
  const matrix = useInfiniteQuery<
    Matrix,
    ApiError,
    { pages: Matrix[] },
    readonly unknown[],
    string | undefined
  >({
    queryKey: pagesKey('listDeployments', { current: 'all' }),
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }) =>
      call('fleetMatrix', { query: pageParam === undefined ? {} : { cursor: pageParam } }, signal),
    getNextPageParam: (page) => page.next_cursor,
  });
  useEffect(() => readOn(matrix));
  const { data, hasNextPage, isError } = matrix;
  return useMemo(() => {
    const bundles = (data?.pages ?? []).flatMap((page) => page.bundles);
    const byName = new Map(bundles.map(({ name, cells }) => [name, cells.flatMap(deployedIn)]));
    const others = data && !hasNextPage ? [] : undefined;
    return { placesOf: (name) => byName.get(name) ?? others, isFailed: isError };
  }, [data, hasNextPage, isError]);
}

const deployedIn = ({ env, deployment }: Matrix['bundles'][number]['cells'][number]): readonly Deployed[] =>
  deployment === null ? [] : [{ env, version: deployment.version, hash: deployment.revision_hash }];

/** A column of the deployments, once they are loaded. */
const onceLoaded = <R extends { readonly name: string }>(
  { placesOf, isFailed }: Deployments,
  column: Column<R>,
): Column<R> => ({
  ...column,
  cell: (row) => {
    if (placesOf(row.name)) return column.cell(row);
    return isFailed && <span className="muted">unavailable</span>;
  },
});

/** Calls that agents judged by the versions that are deployed now. */
export const documentCallsColumn = <R extends { readonly name: string }>(
  deployments: Deployments,
): Column<R> =>
  onceLoaded(
    deployments,
    callsColumn('version', ({ name }) => [
      ...new Set((deployments.placesOf(name) ?? []).map(({ hash }) => hash)),
    ]),
  );

/** Environments, each with the version that it runs. */
export const placesColumn = <R,>(
  key: string,
  label: string,
  placesOf: (row: R) => readonly Pick<Deployed, 'env' | 'version'>[],
  width: number,
): Column<R> => ({
  key,
  label,
  width,
  sort: (row) =>
    placesOf(row)
      .map(({ env, version }) => `${env} v${version}`)
      .join(', '),
  cell: (row) =>
    placesOf(row).length === 0 ? (
      <span className="muted">not deployed</span>
    ) : (
      placesOf(row).map(({ env, version }) => (
        <span key={env}>
          <Env name={env} /> v{version}{' '}
        </span>
      ))
    ),
});

/** The environments that run a document, each with the version. */
export const deployedColumn = <R extends { readonly name: string }>(deployments: Deployments): Column<R> => {
  const sortedPlaces = ({ name }: R) =>
    envs.flatMap((env) => deployments.placesOf(name)?.filter((place) => place.env === env) ?? []);
  return onceLoaded(deployments, placesColumn('envs', 'Deployed to', sortedPlaces, 2.8));
};
