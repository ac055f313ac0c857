// The state of a list whose filters match nothing: the terms, the environment and the range that narrow it, each with
// the button that takes it away.
import type { JSX, ReactNode } from 'react';
import type { QueryGrammar } from '../../event/rules/query/fields.ts';
import { printQuery } from '../../event/rules/query/print.ts';
import { minuteMs } from '../../shared/duration.ts';
import type { PageQuery } from '../lib/page-query.ts';
import { lengthOf, rangeBefore, ranges, spanOf } from '../lib/range.ts';
import { useFilters } from '../lib/search.ts';
import { serverNow } from '../lib/server-time.ts';
import { middleCut, visible } from '../lib/text.ts';
import { Button, Empty } from './parts.tsx';

/** In place of a list while the query of its page has a mistake. @param items plural */
export const NoSearch = ({ items }: { readonly items: string }): JSX.Element => (
  <Empty title="No search with this query" text={`Correct the query to see ${items}.`} />
);

interface NoMatchProps {
  readonly title: string;
  /** The query of the page; absent: the page has none. */
  readonly query?: PageQuery;
  readonly grammar?: QueryGrammar;
  /** The range narrows the list. */
  readonly hasRange?: boolean;
  readonly text?: ReactNode;
}

export function NoMatch({ title, query, grammar, hasRange = false, text }: NoMatchProps): JSX.Element {
  const [search, change] = useFilters();
  const now = serverNow();
  const { from } = spanOf(search, now);
  // A range before now ends with the current minute.
  const wider = hasRange
    ? ranges.find(([length]) => now - (lengthOf(length) ?? 0) < from - minuteMs)
    : undefined;
  const terms = (grammar && query?.query?.terms) ?? [];
  const textOf = (parts: typeof terms): string => (grammar ? printQuery({ terms: parts }, grammar) : '');
  return (
    <Empty title={title} text={text}>
      <div className="decide-buttons">
        {terms.map((term, at) => (
          <Button
            key={term.start}
            onClick={() => query?.change(textOf(terms.filter((_, one) => one !== at)))}
          >
            Remove {middleCut(visible(textOf([term])), 60)}
          </Button>
        ))}
        {search.env && <Button onClick={() => change({ env: undefined })}>Show all environments</Button>}
        {wider && (
          <Button onClick={() => change(rangeBefore(wider[0]))}>Show {wider[1].toLowerCase()}</Button>
        )}
      </div>
    </Empty>
  );
}
