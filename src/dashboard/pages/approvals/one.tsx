// A page for one approval. Messages link to it, and phones open it.
import { Link } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useCall } from '../../lib/query.ts';
import { useStore } from '../../lib/store.ts';
import { Name, PageHead } from '../../ui/parts.tsx';
import { useIds } from '../../ui/thing-page.tsx';
import { waitingInput } from '../home/ahead.ts';
import { ApprovalCard } from './card.tsx';
import { useDecideKeys } from './decide-keys.ts';
import { LinkedApproval } from './linked.tsx';
import { type Approval, byDeadline, decide, decisions, statusOf } from './model.ts';
import './approvals.css';

export default function ApprovalPage(): JSX.Element {
  const { id } = useIds('id');
  return (
    <div className="page approval-page">
      <PageHead title="Approval">
        <Link to="/inbox">View all approvals</Link>
      </PageHead>
      <LinkedApproval key={id} id={id} card={(approval) => <Whole approval={approval} />} />
    </div>
  );
}

function Whole({ approval }: { readonly approval: Approval }): JSX.Element {
  const [reason, setReason] = useState('');
  const isPending = statusOf(approval, useStore(decisions)) === 'pending';
  useDecideKeys(isPending ? approval : null, (approved) => void decide(approval.id, approved, reason));
  return (
    <>
      <ApprovalCard approval={approval} reason={reason} onReason={setReason} />
      {!isPending && <Next after={approval.id} />}
    </>
  );
}

/** The most urgent other pending approval. */
function Next({ after }: { readonly after: string }): JSX.Element | null {
  const decisionsById = useStore(decisions);
  const { data = [] } = useCall('listApprovals', waitingInput(undefined));
  const [next] = data
    .filter((one) => one.id !== after && statusOf(one, decisionsById) === 'pending')
    .sort(byDeadline);
  if (!next) return null;
  return (
    <p className="approval-next">
      <Link {...linkTo.approval(next.id)}>
        Next: <Name text={`${next.tool_name} from ${next.agent_id}`} />
      </Link>
    </p>
  );
}
