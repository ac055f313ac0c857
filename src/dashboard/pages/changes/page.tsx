// The changes page: what was deployed or undeployed in the range, newest first.
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { usePageRows, usePages } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { loadedText } from '../../lib/text.ts';
import { envColumn, instantColumn, nameColumn, proseColumn, wordColumn } from '../../ui/columns.tsx';
import { NoMatch } from '../../ui/no-match.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { type Resource, ResourceView } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';

type Deployment = Reply<'listDeployments'>[number];

const columns: readonly Column<Deployment>[] = [
  nameColumn('document', 'Document', (one) => `${one.bundle_name} v${one.bundle_version}`, 2),
  envColumn('env', 'Environment', (one) => one.env, 1.2),
  wordColumn(
    'change',
    'Change',
    (one) =>
      `${one.kind === 'rollback' ? 'rolled back' : 'deployed'}${one.undeployed_at === null ? '' : ', undeployed'}`,
    1.3,
  ),
  instantColumn('at', 'Deployed', (one) => one.created_at, 1.6),
  proseColumn('by', 'Deployed by', (one) => one.deployed_by, 1.8),
  proseColumn('reason', 'Reason', (one) => one.reason ?? '', 2),
];

const deployments: Resource<Deployment> = {
  name: 'deployments',
  noun: 'deployment',
  columns,
  keyOf: (one) => one.id,
  linkOf: (one) => linkTo.deployment(one.id),
};

export default function Changes(): JSX.Element {
  const [search] = useFilters();
  const env = useEnv();
  const query = { limit: 100, ...(env ? { env } : {}) };
  const deploymentsQuery = usePages('listDeployments', { query }, { moving: rangeOf(search) });
  const rows = usePageRows(deploymentsQuery, ({ reply }) => reply);
  return (
    <div className="page">
      <ResourceView
        resource={{
          ...deployments,
          bar: loadedText(rows.length, 'deployment', deploymentsQuery.hasNextPage),
          empty: (
            <NoMatch
              title={`No deployments${env ? ` to ${env}` : ''} in this range`}
              text="Deployments appear here. Open a composition or a document to deploy it."
              hasRange
            />
          ),
        }}
        query={deploymentsQuery}
        rows={rows}
        head={() => <PageHead title="Changes" />}
      />
    </div>
  );
}
