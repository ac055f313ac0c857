// The approval with the id in the address.
import type { JSX } from 'react';
import { useCall } from '../../lib/query.ts';
import { Empty } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import type { Approval } from './model.ts';

export function LinkedApproval({
  id,
  card,
}: Readonly<{ id: string; card: (approval: Approval) => JSX.Element }>): JSX.Element {
  const approvalQuery = useCall('getApproval', { params: { approval_id: id } });
  if (approvalQuery.error?.status === 404) {
    return (
      <Empty
        title="Approval not found"
        text="It may belong to another workspace, or its record may be deleted. Open the queue to see pending approvals."
      />
    );
  }
  return <QueryResult query={approvalQuery}>{(approval) => card(approval)}</QueryResult>;
}
