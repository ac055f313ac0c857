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

/** The filters of the queue, and its answer. */
export interface QueueAnswer {
  readonly list: readonly Approval[];
  /** Environment and query: equal for the same filters. */
  readonly question: string;
  /** The list belongs to the previous question. */
  readonly isOld: boolean;
}

/**
 * The queue in its order, the same list until a row changes. An approval that is decided while it is open stays in its
 * place until the person selects another one, or asks another question: nothing may move under the pointer.
 */
export function useQueue(
  { list, question, isOld }: QueueAnswer,
  looked: readonly (string | undefined)[],
  isShown: (row: Approval) => boolean,
): readonly Approval[] {
  const kept = useRef(new Map<string, Approval>());
  const answered = useRef(question);
  if (!isOld && answered.current !== question) {
    answered.current = question;
    kept.current.clear();
  }
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

/**
 * Calls back after the answer to another question, if it does not contain the call that was open before.
 * @param id the open call in the address
 */
export function useUnlisted(
  { list, question, isOld }: QueueAnswer,
  id: string | undefined,
  onUnlisted: () => void,
): void {
  const open = useRef({ question, id });
  /** The call that was open before the question; null after its answer. A link with a question has its own call. */
  const earlierId = useRef<string | null>(null);
  useEffect(() => {
    if (open.current.question !== question) earlierId.current = open.current.id ?? null;
    open.current = { question, id };
    if (isOld || earlierId.current === null) return;
    const isUnlisted = earlierId.current === id && !list.some((row) => row.id === id);
    earlierId.current = null;
    if (isUnlisted) onUnlisted();
  });
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
