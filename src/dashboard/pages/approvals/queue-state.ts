// The state of the queue: its rows in their order, what became of the open one, and decisions from this page.
import { useEffect, useMemo, useRef } from 'react';
import { useCall } from '../../lib/query.ts';
import { type Approval, byDeadline, type Decision, decisions } from './model.ts';

/** The previous list while the rows are the same, so that what is computed from it stays. */
function useSameRows(rows: readonly Approval[]): readonly Approval[] {
  const last = useRef(rows);
  const isSame = rows.length === last.current.length && rows.every((row, at) => row === last.current[at]);
  if (!isSame) last.current = rows;
  return last.current;
}

/**
 * The queue in its order, the same list until a row changes. An approval that is decided while it is open stays in its
 * place until the person selects another one: nothing may move under the pointer.
 */
export function useQueue(
  list: readonly Approval[],
  looked: readonly (string | undefined)[],
  isShown: (row: Approval) => boolean,
): readonly Approval[] {
  const kept = useRef(new Map<string, Approval>());
  const inList = new Map(list.map((one) => [one.id, one]));
  for (const [key, one] of kept.current) {
    const gone = !inList.has(key);
    const done = gone || inList.get(key)?.status !== 'pending';
    if (done && !looked.includes(key)) kept.current.delete(key);
    else if (gone && one.status === 'pending') {
      const decision = decisions.get().get(key);
      if (decision?.state === 'decided') kept.current.set(key, decision.approval);
    }
  }
  for (const one of list)
    if (one.status === 'pending' || looked.includes(one.id)) kept.current.set(one.id, one);
  const rows = useSameRows([...kept.current.values()].filter(isShown));
  return useMemo(() => [...rows].sort(byDeadline), [rows]);
}

/**
 * The state of the open approval after it left the list without a frame: it was decided, or a longer queue pushed it
 * out.
 */
export function useOutcome(chosen: Approval | undefined, list: readonly Approval[]): Approval | undefined {
  const isLost = chosen?.status === 'pending' && !list.some(({ id }) => id === chosen.id);
  const approvalQuery = useCall(
    'getApproval',
    { params: { approval_id: chosen?.id ?? '' } },
    { enabled: isLost && decisions.get().get(chosen.id)?.state !== 'decided' },
  );
  return isLost && approvalQuery.data?.id === chosen.id ? approvalQuery.data : chosen;
}

export const decidedOf = (decision: Decision | undefined): Approval | null =>
  decision?.state === 'decided' ? decision.approval : null;

/** Calls back after a successful decision from this card, but not if another person decided first. */
export function useSentDecision(
  chosen: Approval | undefined,
  decisionsById: ReadonlyMap<string, Decision>,
  onDecided: (id: string) => void,
): void {
  const sent = useRef<string | null>(null);
  const id = chosen?.id;
  const decision = id === undefined ? undefined : decisionsById.get(id);
  useEffect(() => {
    const wasSent = sent.current === id;
    sent.current = decision?.state === 'sending' && id !== undefined ? id : null;
    if (wasSent && id !== undefined && decision?.state === 'decided' && decision.mine) onDecided(id);
  });
}

/** Keys, and a phone's pager, reach the end without a scroll. */
export function useEndOfRows(at: number, size: number, onEnd: () => void): void {
  useEffect(() => {
    if (at >= size - 10) onEnd();
  }, [at, size, onEnd]);
}
