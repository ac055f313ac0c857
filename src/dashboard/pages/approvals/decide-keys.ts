// Keys and commands for a decision on the current approval.
import { useActionBlockReason } from '../../lib/may.ts';
import { useCommand } from '../../lib/commands.ts';
import { useStore } from '../../lib/store.ts';
import { useKeys } from '../../ui/keys.ts';
import { type Approval, readApprovals, unreadReason } from './model.ts';

/**
 * Offers `a`, `d` and `r` for a pending approval.
 * @param approval null if no approval can be decided
 */
export function useDecideKeys(approval: Approval | null, decide: (approved: boolean) => void): void {
  const cannot = useActionBlockReason('decideApproval', approval ? [approval.env] : []);
  const isRead = useStore(readApprovals).has(approval?.id ?? '');
  const name = approval && `${approval.tool_name} from ${approval.agent_id}`;
  const why = cannot ?? (isRead ? null : unreadReason);
  useCommand('approve', approval && (() => decide(true)), { label: `Approve ${name}`, why });
  useCommand('deny', approval && (() => decide(false)), { label: `Deny ${name}`, why: cannot });
  useKeys({ r: () => document.querySelector<HTMLInputElement>('.approval .reason')?.focus() });
}
