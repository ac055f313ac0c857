// Shared parts of list pages: tabs for views, a search field bound to the address, and a table with a detail panel.
import type { RowData } from '@tanstack/react-table';
import { type JSX, type ReactNode, type RefObject, useEffect, useState } from 'react';
import type { ApiError } from '../lib/api.ts';
import { after } from '../lib/browser.ts';
import { useFilters } from '../lib/search.ts';
import { Icon } from './icons.tsx';
import { Dialog } from './overlay.tsx';
import { QueryResult } from './query-result.tsx';
import { Table, type TableProps } from './table.tsx';

export interface ListWithPanelProps<R> extends Omit<TableProps<R>, 'chosen' | 'onOpen'> {
  readonly query: { readonly data: unknown; readonly error: ApiError | null; refetch(): unknown };
  /** The data belongs to the previous filters. */
  readonly isOld?: boolean;
  /** Appears in place of an empty table. */
  readonly empty: ReactNode;
  /** Title of the panel for the row in the address. */
  readonly title: (id: string) => string;
  readonly panel: (id: string) => ReactNode;
}

/** A list whose selected row (`id` in the address) is open in a panel, so a shared link opens the same row. */
export function ListWithPanel<R extends RowData>(props: ListWithPanelProps<R>): JSX.Element {
  const { query, isOld, empty, title, panel, ...table } = props;
  const { rows, keyOf } = table;
  const [{ id }, change] = useFilters();
  return (
    <>
      <QueryResult query={query} rows={10} isOld={isOld ?? false}>
        {() =>
          rows.length === 0 ? (
            empty
          ) : (
            // Only the first opened row adds a history entry, so the browser's Back button closes the panel.
            <Table {...table} chosen={id} onOpen={(row) => change({ id: keyOf(row) }, id !== undefined)} />
          )
        }
      </QueryResult>
      <Dialog
        title={title(id ?? '')}
        shape="panel"
        open={id !== undefined}
        onClose={() => change({ id: undefined }, true)}
      >
        {id !== undefined && panel(id)}
      </Dialog>
    </>
  );
}

const typingMs = 250;

/** A search field. `search` in the address follows its text shortly after the last key press. */
export function useSearchText(): readonly [text: string, setText: (text: string) => void] {
  const [{ search = '' }, change] = useFilters();
  const [text, setText] = useState(search);
  useEffect(() => {
    if (text === search) return;
    const timer = after(typingMs, () => change({ search: text }, true));
    return () => timer.cancel();
  });
  return [text, setText];
}

export function SearchInput({
  items,
  placeholder = `Search in ${items}`,
  field,
  className = 'field',
}: {
  /** The searched things, in the plural. */
  readonly items: string;
  /** Names of the searched fields, as a placeholder. */
  readonly placeholder?: string;
  readonly field?: RefObject<HTMLInputElement | null>;
  readonly className?: string;
}): JSX.Element {
  const [text, setText] = useSearchText();
  return (
    <label className={className}>
      {className !== 'field' && <Icon name="search" />}
      <span className="heard">Search in {items}</span>
      <input
        ref={field}
        type="search"
        value={text}
        maxLength={255}
        placeholder={placeholder}
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  );
}

/** Tabs for the views of a page, bound to `view` in the address. The first view is the default. */
export function Views({
  label,
  views,
}: {
  readonly label: string;
  readonly views: readonly (readonly [key: string, name: string])[];
}): JSX.Element {
  const first = views[0]?.[0];
  const [{ view = first }, change] = useFilters();
  return (
    <nav className="tabs" aria-label={label}>
      {views.map(([key, name]) => (
        <button
          key={key}
          type="button"
          aria-current={view === key ? 'page' : undefined}
          onClick={() => change({ view: key === first ? undefined : key, id: undefined, sort: undefined })}
        >
          {name}
        </button>
      ))}
    </nav>
  );
}
