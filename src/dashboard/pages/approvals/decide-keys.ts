// Keys and commands for a decision on the current approval.

import { useCommand } from '../../lib/commands.ts';
import { useActionBlockReason } from '../../lib/may.ts';
import { useStore } from '../../lib/store.ts';
import { useIsPast } from '../../lib/ticker.ts';
import { useKeys } from '../../ui/keys.ts';
import { type Approval, deadlineOf, lateReason, readApprovals, unreadReason } from './model.ts';

/**
 * Offers `a`, `d` and `r` for a pending approval.
 * @param approval null if no approval can be decided
 */
export function useDecideKeys(approval: Approval | null, decide: (approved: boolean) => void): void {
  const cannot = useActionBlockReason('decideApproval', approval ? [approval.env] : []);
  const isLate = useIsPast(approval ? deadlineOf(approval) : Number.POSITIVE_INFINITY);
  const isRead = useStore(readApprovals).has(approval?.id ?? '');
  const name = approval && `${approval.tool_name} from ${approval.agent_id}`;
  const whyNone = cannot ?? (isLate ? lateReason : null);
  const why = whyNone ?? (isRead ? null : unreadReason);
  useCommand('approve', approval && (() => decide(true)), { label: `Approve ${name}`, why });
  useCommand('deny', approval && (() => decide(false)), { label: `Deny ${name}`, why: whyNone });
  useKeys({ r: () => document.querySelector<HTMLInputElement>('.approval .reason')?.focus() });
}

/** Beside the list, the call scrolls by itself. On a narrow screen the page scrolls. */
export function pageThroughCall(): void {
  const card =
    document.querySelector('.queue > .queue-detail > .approval') ?? document.querySelector('#content');
  card?.scrollBy({ top: 400 });
}
