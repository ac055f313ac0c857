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

/** Current deployments by the name of their document. */
export type Deployments = ReadonlyMap<string, readonly Deployed[]>;

/** Reads all pages of the matrix; until then, later names have no deployments. */
export function useDeployments(): Deployments {
  const matrix = useInfiniteQuery<
    Matrix,
    ApiError,
    { pages: Matrix[] },
    readonly unknown[],
    string | undefined
  >({
    queryKey: pagesKey('fleetMatrix', {}),
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }) =>
      call('fleetMatrix', { query: pageParam === undefined ? {} : { cursor: pageParam } }, signal),
    getNextPageParam: (page) => page.next_cursor,
  });
  useEffect(() => readOn(matrix));
  const { data } = matrix;
  return useMemo(() => {
    const bundles = (data?.pages ?? []).flatMap((page) => page.bundles);
    return new Map(bundles.map(({ name, cells }) => [name, cells.flatMap(deployedIn)]));
  }, [data]);
}

const deployedIn = ({ env, deployment }: Matrix['bundles'][number]['cells'][number]): readonly Deployed[] =>
  deployment === null ? [] : [{ env, version: deployment.version, hash: deployment.revision_hash }];

/** Calls that agents judged by the versions that are deployed now. */
export const documentCallsColumn = <R extends { readonly name: string }>(
  deployments: Deployments,
): Column<R> =>
  callsColumn('version', ({ name }) => [...new Set((deployments.get(name) ?? []).map(({ hash }) => hash))]);

/** The environments that run a document, each with the version. */
export const deployedColumn = <R extends { readonly name: string }>(deployments: Deployments): Column<R> => {
  const of = ({ name }: R): readonly Deployed[] =>
    envs.flatMap((env) => (deployments.get(name) ?? []).filter((one) => one.env === env));
  return {
    key: 'envs',
    label: 'Deployed to',
    width: 2.8,
    sort: (row) =>
      of(row)
        .map(({ env, version }) => `${env} v${version}`)
        .join(', '),
    cell: (row) =>
      of(row).length === 0 ? (
        <span className="muted">not deployed</span>
      ) : (
        of(row).map(({ env, version }) => (
          <span key={env}>
            <Env name={env} /> v{version}{' '}
          </span>
        ))
      ),
  };
};
