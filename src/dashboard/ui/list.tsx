// What pages that list something share: views beside each other, a search in the address, a table whose rows open in a
// panel.
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
  readonly of: { readonly data: unknown; readonly error: ApiError | null; refetch(): unknown };
  /** What is there answers what was asked before. */
  readonly isOld?: boolean;
  /** Stands where there is no row. */
  readonly empty: ReactNode;
  /** The panel's name, for what the address names. */
  readonly title: (id: string) => string;
  readonly panel: (id: string) => ReactNode;
}

/** A list whose chosen row, `id` of the address, stands open in a panel: a link shows the same to somebody else. */
export function ListWithPanel<R extends RowData>(props: ListWithPanelProps<R>): JSX.Element {
  const { of, isOld, empty, title, panel, ...table } = props;
  const { rows, keyOf } = table;
  const [{ id }, change] = useFilters();
  return (
    <>
      <QueryResult query={of} rows={10} isOld={isOld ?? false}>
        {() =>
          rows.length === 0 ? (
            empty
          ) : (
            // The first one is a step that the browser's Back takes back; from one to the next is none.
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

/** The text that `search` of the address follows, a moment after the last key. */
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
  of,
  holds = `Search in ${of}`,
  field,
  className = 'field',
}: {
  /** What is searched, in the plural. */
  readonly of: string;
  /** What the text may be a part of, when that says more. */
  readonly holds?: string;
  readonly field?: RefObject<HTMLInputElement | null>;
  readonly className?: string;
}): JSX.Element {
  const [text, setText] = useSearchText();
  return (
    <label className={className}>
      {className !== 'field' && <Icon name="search" />}
      <span className="heard">Search in {of}</span>
      <input
        ref={field}
        type="search"
        value={text}
        maxLength={255}
        placeholder={holds}
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  );
}

/** Views of a page, by `view` of the address; the first is the default. */
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
