// The changes page: the deployments of the workspace, newest first.
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { envColumn, nameColumn, proseColumn, timeColumn, wordColumn } from '../../ui/columns.tsx';
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
  timeColumn('at', 'Deployed', (one) => one.created_at, 1.2),
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
  const env = useEnv();
  const query = { limit: 200, ...(env ? { env } : {}) };
  const deploymentsQuery = useCall('listDeployments', { query });
  const empty = {
    title: env ? `No deployments to ${env} yet` : 'No deployments yet',
    text: 'Deployments appear here. Open a composition or a document to deploy it.',
  };
  return (
    <div className="page">
      <ResourceView
        resource={{ ...deployments, empty }}
        query={deploymentsQuery}
        rows={deploymentsQuery.data ?? []}
        head={() => <PageHead title="Changes" />}
      />
    </div>
  );
}
