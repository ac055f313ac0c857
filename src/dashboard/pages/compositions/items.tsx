// The contracts of a composition in order. A person moves them by dragging, by buttons or by Alt with an arrow key, and
// sets the switch and the mode of each.
import './compositions.css';
import { type JSX, type KeyboardEvent, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { Choice } from '../../ui/choice.tsx';
import { Select } from '../../ui/form.tsx';
import { Icon } from '../../ui/icons.tsx';
import { useTextAfterPause } from '../../ui/list.tsx';
import { DataLink } from '../../ui/names.tsx';
import { Button } from '../../ui/parts.tsx';
import { QueryProblem } from '../../ui/query-result.tsx';
import type { Item } from './draft.ts';

type Pinned = Reply<'getComposition'>['contracts'][number];
type Listed = Reply<'listContracts'>[number];

/** Contracts of an answer; a longer library is searched by the hub. */
export const maxListed = 1000;

interface Props {
  readonly items: readonly Item[];
  /** The saved state. */
  readonly pinned: readonly Pinned[];
  readonly library: readonly Listed[];
  readonly onItems: (items: readonly Item[]) => void;
}

export function Items({ items, pinned, library, onItems }: Props): JSX.Element {
  const [dragged, setDragged] = useState<number | null>(null);
  /** Announcement of a move for screen readers. */
  const [announcement, setAnnouncement] = useState('');
  const move = (from: number, to: number): void => {
    const one = items[from];
    if (!one || to < 0 || to >= items.length) return;
    const rest = items.filter((_, index) => index !== from);
    onItems([...rest.slice(0, to), one, ...rest.slice(to)]);
    setAnnouncement(`${one.id} moved to position ${to + 1} of ${items.length}.`);
  };
  const change = (index: number, to: Partial<Item>): void =>
    onItems(items.map((one, at) => (at === index ? { ...one, ...to } : one)));
  const onKey = (event: KeyboardEvent, index: number): void => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!event.altKey || step === undefined || event.target instanceof HTMLSelectElement) return;
    event.preventDefault();
    move(index, index + step);
  };
  return (
    <>
      <ol aria-label="Contract order" aria-describedby="composition-order">
        {items.map((item, index) => (
          <li
            key={item.id}
            className={`item ${item.enabled ? '' : 'item-off'}`}
            data-dragged={dragged === index}
            draggable
            onKeyDown={(event) => onKey(event, index)}
            onDragStart={() => setDragged(index)}
            onDragEnd={() => setDragged(null)}
            onDragOver={(event) => {
              event.preventDefault();
              if (dragged === null || dragged === index) return;
              move(dragged, index);
              setDragged(index);
            }}
          >
            <input
              type="checkbox"
              aria-label={`Enable ${item.id}`}
              checked={item.enabled}
              onChange={() => change(index, { enabled: !item.enabled })}
            />
            <Named
              id={item.id}
              pinned={pinned.find((one) => one.contract_id === item.id)}
              listed={library.find((one) => one.contract_id === item.id)}
            />
            <Select
              compact
              label={`Mode for ${item.id}`}
              value={item.mode}
              options={[
                ['', 'contract mode'],
                ['enforce', 'enforce'],
                ['observe', 'observe'],
              ]}
              onValue={(mode) => change(index, { mode: mode as Item['mode'] })}
            />
            <ItemButtons
              id={item.id}
              isFirst={index === 0}
              isLast={index === items.length - 1}
              onMove={(step) => move(index, index + step)}
              onRemove={() => onItems(items.filter((_, at) => at !== index))}
            />
          </li>
        ))}
      </ol>
      {items.length > 1 && (
        <p className="muted" id="composition-order">
          To move a contract, drag it, or press Alt and an arrow key.
        </p>
      )}
      <p className="heard" role="status">
        {announcement}
      </p>
      <Add
        library={library}
        isAdded={(one) => items.some(({ id }) => id === one.contract_id)}
        onAdd={(id) => onItems([...items, { id, mode: '', enabled: true }])}
      />
    </>
  );
}

function ItemButtons({
  id,
  isFirst,
  isLast,
  onMove,
  onRemove,
}: {
  readonly id: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly onMove: (step: 1 | -1) => void;
  readonly onRemove: () => void;
}): JSX.Element {
  return (
    <span className="item-moves">
      {/* Not `disabled` at the ends: the button that was pressed would lose the focus. */}
      <Button
        kind="quiet"
        icon="up"
        aria-label={`Move ${id} up`}
        aria-disabled={isFirst}
        onClick={() => onMove(-1)}
      />
      <Button
        kind="quiet"
        icon="down"
        aria-label={`Move ${id} down`}
        aria-disabled={isLast}
        onClick={() => onMove(1)}
      />
      <Button kind="quiet" icon="x" aria-label={`Remove ${id}`} onClick={onRemove} />
    </span>
  );
}

/** A contract's name with its saved version, and a newer one if it exists. */
function Named({
  id,
  pinned,
  listed,
}: Readonly<{ id: string; pinned: Pinned | undefined; listed: Listed | undefined }>): JSX.Element {
  return (
    <span>
      <DataLink link={linkTo.contract(id)} text={id} max={100} />{' '}
      {pinned ? (
        <span className="muted">
          {pinned.contract_type} v{pinned.contract_version}
        </span>
      ) : (
        <span className="muted">{listed ? `${listed.type} v${listed.version}, ` : ''}not saved yet</span>
      )}
      {pinned?.has_newer_version && (
        <span className="tone-ask">
          {' '}
          <Icon name="triangle" /> {listed ? `v${listed.version} available` : 'newer version available'}
        </span>
      )}
    </span>
  );
}

function Add({
  library,
  isAdded,
  onAdd,
}: Readonly<{
  library: readonly Listed[];
  isAdded: (one: Listed) => boolean;
  onAdd: (id: string) => void;
}>): JSX.Element | null {
  const [text, setText] = useState('');
  const pausedText = useTextAfterPause(text);
  /** The latest search. Its failure stays when a press on Retry takes the focus from the field. */
  const [search, setSearch] = useState('');
  if (pausedText !== '' && pausedText !== search) setSearch(pausedText);
  const matches = useCall(
    'listContracts',
    { query: { limit: maxListed, search } },
    { enabled: search !== '', keep: true },
  );
  const left = ((pausedText && matches.data) || library).filter((one) => !isAdded(one));
  const onSearch = library.length < maxListed ? undefined : setText;
  if (left.length === 0 && !onSearch) return null;
  return (
    <>
      <Choice
        label="Add contract"
        onSearch={onSearch}
        matchesOf={pausedText && matches.data && !matches.isPlaceholderData ? search : undefined}
        value=""
        options={[
          ['', 'Select contract'],
          ...left.map((one) => [one.contract_id, `${one.contract_id} (${one.type})`] as const),
        ]}
        onValue={(id) => id !== '' && onAdd(id)}
      />
      <QueryProblem query={matches} />
    </>
  );
}
