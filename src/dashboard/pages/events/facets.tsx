// Filters beside the list: the values of each field with their counts. A click sets or removes a filter.
import { type JSX, useState } from 'react';
import { hasFilter, toggled, useEventQuery } from '../../lib/event-query.ts';
import { count, counted } from '../../lib/text.ts';
import { Name, Verdict } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import type { EventRow } from './event-row.ts';
import { facetFields, facetNames, filterBy } from './facet-names.ts';
import type { filterOf } from './filters.ts';
import { useFacets } from './use-facets.ts';

const few = 6;

export function Facets({
  filter,
  question,
  enabled,
  rows,
  isSample,
  isMore,
}: {
  readonly filter: ReturnType<typeof filterOf>;
  /** Identifies the filter from minute to minute. */
  readonly question: string;
  readonly enabled: boolean;
  /** The rows to count here; null: the hub counts. */
  readonly rows: readonly EventRow[] | null;
  readonly isSample: boolean;
  /** There are more rows than the counted ones. */
  readonly isMore: boolean;
}): JSX.Element {
  const eventQuery = useEventQuery();
  const [open, setOpen] = useState<readonly string[]>([]);
  const eventFacets = useFacets(filter, question, enabled, rows);
  return (
    <aside className="facets" aria-label="Filters">
      <QueryResult {...eventFacets} rows={12}>
        {({ total, facets }) => {
          const least = rows !== null && isMore ? '≥ ' : '';
          return (
            <>
              <p className="facets-total">
                <strong className="numbers">
                  {least}
                  {count(total)}
                </strong>{' '}
                {total === 1 ? 'matching event' : 'matching events'}{' '}
                {isSample && <span className="tag">sample</span>}
              </p>
              {facetNames.map((name) => {
                const { top, rest } = facets[name];
                if (top.length === 0) return null;
                const all = open.includes(name);
                return (
                  <details key={name} className="facet" open>
                    <summary>{facetFields[name].label}</summary>
                    <ul>
                      {top.slice(0, all ? top.length : few).map(({ value, count: size }) => (
                        <li key={value}>
                          <button
                            type="button"
                            className="facet-value"
                            aria-pressed={hasFilter(eventQuery, filterBy(name, value))}
                            onClick={() => eventQuery.change(toggled(eventQuery, filterBy(name, value)))}
                          >
                            {name === 'first_verdict' ? <Verdict word={value} /> : <Name text={value} />}
                            <span className="muted numbers">
                              {least}
                              {count(size)}
                            </span>
                          </button>
                        </li>
                      ))}
                    </ul>
                    {top.length > few && (
                      <button
                        type="button"
                        className="link"
                        onClick={() => setOpen(all ? open.filter((one) => one !== name) : [...open, name])}
                      >
                        {all ? 'Show fewer' : `Show ${top.length - few} more`}
                      </button>
                    )}
                    {all && rest.values > 0 && (
                      <p className="muted">
                        {counted(rest.values, 'other value')} in {counted(rest.count, 'event')}. Use the
                        search to find them.
                      </p>
                    )}
                  </details>
                );
              })}
            </>
          );
        }}
      </QueryResult>
    </aside>
  );
}
