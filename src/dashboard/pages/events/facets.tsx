// Filters beside the list: the values of each field with their counts. A click sets or removes a filter.
import { type JSX, useState } from 'react';
import { stateWord } from '../../../../packages/agent/src/rules/state-words.ts';
import { useCall, useIsOld } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { Name, Verdict } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import type { EventRow } from './columns.tsx';
import { facetLabels, facetNames } from './facet-names.ts';
import type { filterOf } from './filters.ts';
import { facetsOfRows } from './sample-events.ts';

const few = 6;

/** True if another value has the same display word. The raw value appears beside it then. */
const isTwice = (value: string, all: readonly { readonly value: string }[]): boolean =>
  all.some((other) => other.value !== value && stateWord(other.value) === stateWord(value)) &&
  stateWord(value) !== null;

export function Facets({
  filter,
  question,
  enabled,
  sampleRows,
}: {
  readonly filter: ReturnType<typeof filterOf>;
  /** Identifies the filter from minute to minute. */
  readonly question: string;
  readonly enabled: boolean;
  /** The rows of the list, if they are from the sample run. */
  readonly sampleRows: readonly EventRow[] | null;
}): JSX.Element {
  const [search, change] = useFilters();
  const [open, setOpen] = useState<readonly string[]>([]);
  const eventFacetsQuery = useCall('eventFacets', { query: filter }, { enabled, keep: true, moves: true });
  const isOld = useIsOld(eventFacetsQuery, question);
  return (
    <aside className="facets" aria-label="Filters">
      <QueryResult query={eventFacetsQuery} rows={12} isOld={isOld}>
        {(reported) => {
          const { total, facets } = sampleRows ? facetsOfRows(sampleRows) : reported;
          return (
            <>
              <p className="facets-total">
                <strong className="numbers">{count(total)}</strong>{' '}
                {total === 1 ? 'matching event' : 'matching events'}{' '}
                {sampleRows && <span className="tag">sample</span>}
              </p>
              {facetNames.map((name) => {
                const { top, rest } = facets[name];
                if (top.length === 0) return null;
                const all = open.includes(name);
                return (
                  <details key={name} className="facet" open>
                    <summary>{facetLabels[name]}</summary>
                    <ul>
                      {top.slice(0, all ? top.length : few).map(({ value, count: size }) => (
                        <li key={value}>
                          <button
                            type="button"
                            className="facet-value"
                            title={name === 'verdict' ? value : undefined}
                            aria-pressed={search[name] === value}
                            onClick={() =>
                              change({ [name]: search[name] === value ? undefined : value, id: undefined })
                            }
                          >
                            {name === 'verdict' ? <Verdict word={value} /> : <Name text={value} />}
                            {name === 'verdict' && isTwice(value, top) && <Name text={value} />}
                            <span className="muted numbers">{count(size)}</span>
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
