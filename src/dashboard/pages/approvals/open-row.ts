// The open row of the queue, and the rows around it.
import { useMemo, useRef } from 'react';
import { useFilters } from '../../lib/search.ts';
import { useStore } from '../../lib/store.ts';
import { useNarrow, usePhone } from '../../ui/narrow.ts';
import { type Approval, decisions, statusOf } from './model.ts';
import { type QueueAnswer, useOutcome, useQueue, useUnlisted } from './queue-state.ts';
import { sectionsOf, useHubGroups } from './sections.ts';
import { useSnoozed } from './snooze.tsx';

export interface QueueRows extends QueueAnswer {
  readonly narrowed: boolean;
  /** The snoozed calls. */
  readonly isSnoozed: boolean;
  /** True for a call that left the view without a decision. It does not stay open. */
  readonly hasLeft: (call: Approval) => boolean;
  /** More calls are pending than the list contains. */
  readonly isCut: boolean;
}

/**
 * The rows of the queue in their sections, and the open one: the one in the address, else the first on a wide screen.
 * It also stays open after a decision.
 */
export function useOpenRow(
  { isSnoozed, isCut, narrowed, hasLeft, ...answer }: QueueRows,
  passedId: string | undefined,
  heldIds: ReadonlySet<string>,
) {
  const [{ id }, change] = useFilters();
  useUnlisted(answer, id, () => change({ id: undefined }, true));
  const isPhone = usePhone();
  const narrow = useNarrow() && !isPhone;
  const decisionsById = useStore(decisions);
  const last = useRef<string | undefined>(undefined);
  const isAway = useSnoozed();
  const looked = [id ?? last.current, passedId];
  const everyRow = useQueue(answer, looked, (one) => isAway(one) === isSnoozed);
  const isOpen = (row: Approval): boolean =>
    statusOf(row, decisionsById) === 'pending' && !heldIds.has(row.id);
  const impliedIn = (rows: readonly Approval[]): Approval | undefined =>
    narrow || id !== undefined
      ? undefined
      : (rows.find((row) => row.id === last.current && !heldIds.has(row.id)) ?? rows.find(isOpen) ?? rows[0]);
  const candidate = everyRow.find((row) => row.id === id) ?? impliedIn(everyRow);
  const current = useOutcome(candidate, answer.list);
  const isGone = current !== undefined && hasLeft(current);
  const queue = useMemo(
    () => (isGone ? everyRow.filter((row) => row.id !== current.id) : everyRow),
    [everyRow, isGone, current?.id],
  );
  const listed = isGone ? impliedIn(queue) : candidate;
  last.current = listed?.id;
  const chosen = isGone ? listed : current;
  const outcome = chosen === listed ? undefined : chosen;
  const hubGroups = useHubGroups(isCut && !narrowed);
  const sections = useMemo(
    () =>
      sectionsOf(
        queue.map((row) => (row.id === outcome?.id ? outcome : row)),
        (row) => statusOf(row, decisionsById) === 'pending',
        hubGroups,
      ),
    [queue, outcome, decisionsById, hubGroups],
  );
  const rows = useMemo(() => sections.flatMap((section) => section.rows), [sections]);
  return { id, isPhone, narrow, decisionsById, isOpen, chosen, sections, rows };
}
