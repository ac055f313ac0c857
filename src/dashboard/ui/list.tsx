// Shared parts of list pages: tabs for views, a search field bound to the address, and a table with a peek.
import { Tabs } from '@base-ui/react/tabs';
import { useNavigate } from '@tanstack/react-router';
import type { RowData } from '@tanstack/react-table';
import { type JSX, type ReactNode, useEffect, useRef, useState } from 'react';
import type { ThingLink } from '../lib/address.ts';
import { after } from '../lib/browser.ts';
import { readOn, useFirstRow } from '../lib/query.ts';
import { useFilters } from '../lib/search.ts';
import { maxRows } from '../lib/text.ts';
import { Field } from './form.tsx';
import { usePhone } from './narrow.ts';
import { Skeleton } from './parts.tsx';
import { Peek } from './peek.tsx';
import { QueryResult, type QueryState } from './query-result.tsx';
import { Table, type TableProps } from './table.tsx';

export interface PeekListProps<R> extends Omit<TableProps<R>, 'chosen' | 'onOpen' | 'linkOf'> {
  /** Further pages load at the end of the list, up to `maxRows`, and until one has a row. */
  readonly query: QueryState<unknown>;
  /** The data belongs to the previous filters. */
  readonly isOld?: boolean;
  /** Appears in place of an empty table. */
  readonly empty: ReactNode;
  /** The page of a row; absent if rows have none. */
  readonly linkOf?: ((row: R) => ThingLink) | undefined;
  /** Title of the peek. */
  readonly title?: ((row: R) => string) | undefined;
  /** Absent: a press on a row leads to its page. */
  readonly peek?: ((row: R) => ReactNode) | undefined;
}

/**
 * The row in the address (`peek`), and what a press on a row does: it opens the peek, or on a phone the page.
 * @param hasPeek false: a press opens the page on all screens
 */
export function usePeek<R>(
  rows: readonly R[],
  keyOf: (row: R) => string,
  linkOf: ((row: R) => ThingLink | undefined) | undefined,
  hasPeek = true,
) {
  const [{ peek: id }, change] = useFilters();
  const navigate = useNavigate();
  const isPage = usePhone() || !hasPeek;
  return {
    id,
    row: (isPage && linkOf) || id === undefined ? undefined : rows.find((one) => keyOf(one) === id),
    // Only the first opened row adds a history entry, so the browser's Back button closes the peek.
    open: (row: R): void => {
      const page = isPage ? linkOf?.(row) : undefined;
      if (page) void navigate({ ...page });
      else change({ peek: keyOf(row) }, id !== undefined);
    },
    close: () => change({ peek: undefined }, true),
  };
}

/** A list, with the selected row in a peek beside it. */
export function PeekList<R extends RowData>(props: PeekListProps<R>): JSX.Element {
  const { query, isOld, empty, title, peek, linkOf, ...table } = props;
  const { rows, keyOf } = table;
  const { id, row, open, close } = usePeek(rows, keyOf, linkOf, peek !== undefined);
  useFirstRow(query, rows.length > 0);
  return (
    <>
      <QueryResult
        query={query}
        rows={peek ? 10 : 3}
        isOld={isOld ?? false}
        none={() => rows.length === 0 && (query.hasNextPage ? <Skeleton /> : empty)}
      >
        {() => (
          <Table
            onEnd={() => {
              if (rows.length < maxRows) readOn(query);
            }}
            {...table}
            {...(linkOf ? { linkOf } : {})}
            {...(peek || linkOf ? { chosen: id, onOpen: open } : {})}
          />
        )}
      </QueryResult>
      {row !== undefined && peek && title && (
        <Peek key={keyOf(row)} title={title(row)} page={linkOf?.(row)} onClose={close}>
          {peek(row)}
        </Peek>
      )}
    </>
  );
}

const typingMs = 250;

/** The text, shortly after its last change; an empty text at once. */
export function useTextAfterPause(text: string): string {
  const [latest, setLatest] = useState(text);
  useEffect(() => {
    const timer = after(typingMs, () => setLatest(text));
    return () => timer.cancel();
  }, [text]);
  return text && latest;
}

/**
 * A search field. `search` in the address follows its text shortly after the last key press. Another search in the
 * address, from a link or from Back, replaces the text.
 */
export function SearchInput({ items }: { readonly items: string }): JSX.Element {
  const [{ search = '' }, change] = useFilters();
  const [text, setText] = useState(search);
  const ownSearch = useRef(search);
  useEffect(() => {
    if (search !== ownSearch.current) setText(search);
    ownSearch.current = search;
  }, [search]);
  useEffect(() => {
    if (text === search) return;
    const timer = after(typingMs, () => {
      ownSearch.current = text;
      change({ search: text }, true);
    });
    return () => timer.cancel();
  });
  return (
    <Field
      compact
      label={`Search in ${items}`}
      type="search"
      value={text}
      maxLength={255}
      placeholder={`Search in ${items}`}
      onValue={setText}
    />
  );
}

interface TabbedProps {
  readonly label: string;
  readonly views: readonly (readonly [key: string, name: string, ...rest: unknown[]])[];
  readonly current: string;
  readonly onView: (key: string) => void;
  /** Content of the current view. */
  readonly children: ReactNode;
}

/** Tabs, and the content of the current one. */
export const Tabbed = ({ label, views, current, onView, children }: TabbedProps): JSX.Element => (
  <Tabs.Root className="views" value={current} onValueChange={(key: string) => onView(key)}>
    <Tabs.List className="tabs" aria-label={label}>
      {views.map(([key, name]) => (
        <Tabs.Tab key={key} value={key}>
          {name}
        </Tabs.Tab>
      ))}
    </Tabs.List>
    <Tabs.Panel value={current} className="view" tabIndex={-1}>
      {children}
    </Tabs.Panel>
  </Tabs.Root>
);

/**
 * Tabs for the views of a page, bound to `view` in the address. The first view is the default. A row that is open in
 * one view (`peek`, in the inbox `id`) does not open in another.
 */
export function Views(props: Omit<TabbedProps, 'current' | 'onView'>): JSX.Element {
  const { views } = props;
  const first = views[0]?.[0] ?? '';
  const [{ view = first }, change] = useFilters();
  const show = (key: string): void =>
    change({ view: key === first ? undefined : key, peek: undefined, id: undefined, sort: undefined });
  return <Tabbed {...props} current={views.some(([key]) => key === view) ? view : first} onView={show} />;
}
