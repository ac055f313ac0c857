// The changes page: the deployments of the workspace, newest first.
import { useNavigate } from '@tanstack/react-router';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { envColumn, nameColumn, proseColumn, timeColumn } from '../../ui/columns.tsx';
import { Empty, PageHead } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Deployment = Reply<'listDeployments'>[number];

const columns: readonly Column<Deployment>[] = [
  nameColumn('document', 'Document', (one) => `${one.bundle_name} v${one.bundle_version}`, 2),
  envColumn('env', 'Environment', (one) => one.env, 1.2),
  timeColumn('at', 'Deployed', (one) => one.created_at, 1.2),
  proseColumn('by', 'Deployed by', (one) => one.deployed_by, 1.8),
  proseColumn('reason', 'Reason', (one) => one.reason ?? '', 2),
];

export default function Changes(): JSX.Element {
  const env = useEnv();
  const navigate = useNavigate();
  const query = { limit: 200, ...(env ? { env } : {}) };
  const deploymentsQuery = useCall('listDeployments', { query });
  const rows = deploymentsQuery.data ?? [];
  return (
    <div className="page">
      <PageHead title="Changes" />
      <QueryResult query={deploymentsQuery} rows={10}>
        {() =>
          rows.length === 0 ? (
            <Empty title={env ? `No deployments to ${env} yet` : 'No deployments yet'}>
              <p>Deployments appear here. Open a composition or a document to deploy it.</p>
            </Empty>
          ) : (
            <Table
              name="deployments"
              row="deployment"
              rows={rows}
              columns={columns}
              keyOf={(one) => one.id}
              linkOf={(one) => linkTo.deployment(one.id)}
              onOpen={(one) => void navigate({ ...linkTo.deployment(one.id) })}
            />
          )
        }
      </QueryResult>
    </div>
  );
}
