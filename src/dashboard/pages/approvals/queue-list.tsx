// The rows of the queue: the head of each group with its sum and its review, and a row for each call.
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type JSX,
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { argumentLine } from '../../../approval/rules/argument-line.ts';
import { count, counted, visible } from '../../lib/text.ts';
import { Button, Data, Env, Line, Name, Verdict } from '../../ui/parts.tsx';
import { type AlikeCalls, moneyIn } from './alike.ts';
import { Countdown } from './card.tsx';
import type { Approval } from './model.ts';
import type { Section } from './sections.ts';
import { Taken } from './take.tsx';

interface QueueListProps {
  readonly sections: readonly Section[];
  readonly chosen: Approval | undefined;
  readonly selected: ReadonlySet<string>;
  /** Rows with an unsent decision. */
  readonly heldIds: ReadonlySet<string>;
  readonly statusOf: (row: Approval) => Approval['status'];
  readonly onOpen: (row: Approval) => void;
  readonly onPick: (id: string, withShift: boolean) => void;
  readonly onReview: (group: AlikeCalls) => void;
  /** Called to load more rows, at the end of the list. */
  readonly onEnd: () => void;
  /** Content below a row. */
  readonly below: (row: Approval) => ReactNode;
  /** Rows open their content below themselves. */
  readonly folds: boolean;
}

/** The head of a group, or a row. */
interface QueueEntry {
  readonly key: string;
  readonly group: AlikeCalls | null;
  readonly row: Approval | null;
}

const entriesOf = (sections: readonly Section[]): readonly QueueEntry[] =>
  sections.flatMap(({ key, group, rows }) => [
    ...(group ? [{ key, group, row: null }] : []),
    ...rows.map((row) => ({ key: row.id, group, row })),
  ]);

/** Heads and rows that are in the document together. Of a longer list, only those in sight are. */
const maxWhole = 120;
/** Height of a row before its measurement, in pixels. */
const rowHeight = 57;

/** The entries in sight, and the space of the others. */
function useEntriesInSight(entries: readonly QueueEntry[], chosen: string | undefined, onEnd: () => void) {
  const list = useRef<HTMLDivElement>(null);
  const isWhole = entries.length <= maxWhole;
  const [margin, setMargin] = useState(0);
  const virtual = useVirtualizer({
    count: isWhole ? 0 : entries.length,
    getScrollElement: () => document.getElementById('content'),
    estimateSize: () => rowHeight,
    // A new function would measure all entries again.
    getItemKey: useCallback((index: number) => entries[index]?.key ?? index, [entries]),
    scrollMargin: margin,
    overscan: 12,
  });
  useLayoutEffect(() => {
    const [box, page] = [list.current, document.getElementById('content')];
    if (box && page)
      setMargin(box.getBoundingClientRect().top - page.getBoundingClientRect().top + page.scrollTop);
  }, []);
  const items = isWhole ? [] : virtual.getVirtualItems();
  const last = isWhole ? entries.length - 1 : (items.at(-1)?.index ?? 0);
  useEffect(() => {
    if (last >= entries.length - 10) onEnd();
  }, [last, entries.length, onEnd]);
  const at = chosen === undefined ? -1 : entries.findIndex(({ key }) => key === chosen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each opened row
  useLayoutEffect(() => {
    if (!isWhole && at >= 0) virtual.scrollToIndex(at);
  }, [chosen]);
  const before = (items[0]?.start ?? margin) - margin;
  const after = Math.max(0, virtual.getTotalSize() - ((items.at(-1)?.end ?? margin) - margin));
  return {
    list,
    measure: isWhole ? null : virtual.measureElement,
    inSight: isWhole ? [...entries.keys()] : items.map(({ index }) => index),
    space: isWhole ? {} : { paddingTop: before, paddingBottom: after },
  };
}

export function QueueList(props: QueueListProps): JSX.Element {
  const { sections, chosen, onReview, onEnd } = props;
  const entries = useMemo(() => entriesOf(sections), [sections]);
  const acts = useRef<RowActs>(props);
  acts.current = props;
  const { list, measure, inSight, space } = useEntriesInSight(entries, chosen?.id, onEnd);
  return (
    <div role="grid" ref={list} className="queue-list" aria-label="Approvals" aria-rowcount={entries.length}>
      <div role="rowgroup" style={space}>
        {inSight.map((index) => {
          const entry = entries[index];
          if (!entry) return null;
          const place = { index, measure };
          return entry.row ? (
            <Row
              key={entry.key}
              {...place}
              row={entry.row}
              isMember={entry.group !== null}
              status={props.statusOf(entry.row)}
              isChosen={entry.row.id === chosen?.id}
              isSelected={props.selected.has(entry.row.id)}
              isHeld={props.heldIds.has(entry.row.id)}
              folds={props.folds}
              content={props.below(entry.row)}
              acts={acts}
            />
          ) : (
            entry.group && (
              <GroupHead
                key={entry.key}
                {...place}
                group={entry.group}
                heldIds={props.heldIds}
                onReview={onReview}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

interface EntryPlace {
  readonly index: number;
  /** Measures the element; null for a short list. */
  readonly measure: ((element: Element | null) => void) | null;
}

const GroupHead = ({
  group,
  index,
  measure,
  ...review
}: EntryPlace &
  Pick<QueueListProps, 'heldIds' | 'onReview'> & { readonly group: AlikeCalls }): JSX.Element => (
  <div role="row" className="queue-group" data-index={index} ref={measure} aria-rowindex={index + 1}>
    <div role="gridcell">
      <Data text={group.tool} max={60} />
      {group.contracts.length > 0 && <Data before=" · " text={group.contracts.join(', ')} max={60} />}{' '}
      <Env name={group.env} /> {count(group.hub?.count ?? group.calls.length)}
      <Sum group={group} />
    </div>
    <div role="gridcell">
      <Review group={group} {...review} />
    </div>
  </div>
);

/** The calls of a group of which the hub adds up the amounts. */
const maxSummed = 200;

function Sum({ group: { calls, hub } }: { readonly group: AlikeCalls }): JSX.Element | null {
  const money = hub?.money ?? moneyIn(calls);
  if (money === '') return null;
  return (
    <span className="numbers">
      {' '}
      Σ {money}
      {hub && hub.count > maxSummed && ` in ${counted(maxSummed, 'call')}`}
    </span>
  );
}

/** The calls of a group that have no unsent decision. */
export const openCalls = (group: AlikeCalls, heldIds: ReadonlySet<string>): AlikeCalls => ({
  ...group,
  calls: group.calls.filter(({ id }) => !heldIds.has(id)),
});

export function Review({
  group,
  heldIds,
  onReview,
}: {
  readonly group: AlikeCalls;
  readonly heldIds: ReadonlySet<string>;
  readonly onReview: (group: AlikeCalls) => void;
}): JSX.Element | null {
  const open = openCalls(group, heldIds);
  const held = group.calls.length - open.calls.length;
  const size = group.hub ? group.hub.count - held : open.calls.length;
  if (size <= 0) return null;
  return (
    <Button hint="Shift+A" onClick={() => onReview(open)}>
      Review {count(size)}
    </Button>
  );
}

type RowActs = Pick<QueueListProps, 'onOpen' | 'onPick'>;

interface RowProps extends EntryPlace {
  readonly row: Approval;
  readonly isMember: boolean;
  readonly status: Approval['status'];
  readonly isChosen: boolean;
  readonly isSelected: boolean;
  /** Its decision is not sent yet. */
  readonly isHeld: boolean;
  readonly folds: boolean;
  /** Content below the row. */
  readonly content: ReactNode;
  readonly acts: RefObject<RowActs>;
}

/** Renders again for changes of the row alone, but not while the list scrolls. */
const Row = memo(function Row(props: RowProps): JSX.Element {
  const { row, index, measure, isMember, status, isChosen, isHeld, folds, content, acts } = props;
  return (
    <div
      role="row"
      className={`queue-item ${status === 'pending' && !isHeld ? '' : 'queue-done'}`}
      data-index={index}
      ref={measure}
      aria-rowindex={index + 1}
    >
      <div role="gridcell" className="queue-row">
        <input
          type="checkbox"
          aria-label={`Select ${visible(row.tool_name).slice(0, 60)} from ${visible(row.agent_id).slice(0, 60)}`}
          checked={props.isSelected}
          disabled={status !== 'pending' || isHeld}
          onChange={({ nativeEvent }) =>
            acts.current.onPick(row.id, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
          }
        />
        <button
          type="button"
          className="queue-open"
          aria-current={isChosen ? 'true' : undefined}
          aria-expanded={folds ? isChosen : undefined}
          onClick={() => acts.current.onOpen(row)}
        >
          {status === 'pending' ? <Countdown approval={row} isRow /> : <Verdict word={status} />}
          <span className="queue-what">
            <Line mono text={argumentLine(row.tool_args) || row.tool_name} />
            <span className="muted queue-who">
              {!isMember && <Name text={row.tool_name} />}
              <Name text={row.agent_id} />
            </span>
          </span>
          <Taken approval={row} />
        </button>
      </div>
      {content && <div role="gridcell">{content}</div>}
    </div>
  );
});
