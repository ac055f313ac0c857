// The person who has taken an approval, and the button that takes it or gives it back. Others may still decide.
import type { JSX } from 'react';
import { useCommand } from '../../lib/commands.ts';
import { useActionBlockReason } from '../../lib/may.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction } from '../../lib/query.ts';
import { Button, Data, Time } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import type { Approval } from './model.ts';

export function Take({ approval }: { readonly approval: Approval }): JSX.Element {
  const me = useSignedIn();
  const assign = useAction('assignApproval', ['listApprovals', 'getApproval']);
  const cannot = useActionBlockReason('assignApproval', [approval.env]);
  const assignee = approval.assignee ?? null;
  const isMine = assignee?.id === me.user_id;
  const act = (): void =>
    assign.mutate({ params: { approval_id: approval.id }, body: { user_id: isMine ? null : me.user_id } });
  useCommand('take', act, { why: cannot, label: isMine ? 'Give back' : 'Take' });
  return (
    <>
      {assignee && !isMine && (
        <span className="muted">
          taken by <Data text={assignee.name} mono={false} max={60} /> <Time at={assignee.since} />
        </span>
      )}
      <Button kind="quiet" icon="person" hint="m" cannot={cannot} busy={assign.isPending} onClick={act}>
        {isMine ? 'Give back' : 'Take'}
      </Button>
      {assign.error && <Failed error={assign.error} />}
    </>
  );
}

/** Initials of the person who has taken an approval. */
export function Taken({ approval: { assignee } }: { readonly approval: Approval }): JSX.Element | null {
  if (!assignee) return null;
  const initials = assignee.name
    .split(/[\s.@_-]+/)
    .slice(0, 2)
    .map((part) => part.slice(0, 1).toUpperCase())
    .join('');
  return (
    <span className="tag" title={`Taken by ${assignee.name.slice(0, 80)}`}>
      {initials}
    </span>
  );
}
