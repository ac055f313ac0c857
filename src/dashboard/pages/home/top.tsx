// The contracts, tools and agents with most denials in the range: their calls by verdict and over time.
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import type { Input } from '../../lib/api.ts';
import type { rangeOf } from '../../lib/moving-range.ts';
import { useCall } from '../../lib/query.ts';
import type { Env } from '../../lib/search.ts';
import { barsOf, callsOf, pointsOf } from '../../lib/series.ts';
import { count } from '../../lib/text.ts';
import { Name } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Ribbon, Sparkline } from '../../ui/ribbon.tsx';

const lists = [
  ['contract', 'Top contracts', 'decision_name', 48],
  ['tool', 'Top tools', 'tool_name', 48],
  ['agent', 'Top agents', 'agent_id', 24],
] as const;
const top = 5;

interface TopProps {
  readonly moving: ReturnType<typeof rangeOf>;
  readonly env: Env | undefined;
  /** The lists load after the figures. */
  readonly enabled: boolean;
}

export const TopLists = (props: TopProps): JSX.Element => (
  <div className="home-top">
    {lists.map((list) => (
      <TopList key={list[0]} list={list} {...props} />
    ))}
  </div>
);

function TopList({
  list: [by, title, filter, points],
  moving,
  env,
  enabled,
}: TopProps & { readonly list: (typeof lists)[number] }): JSX.Element {
  const query = { by, top, points: pointsOf(moving.query(), points), ...(env ? { env } : {}) };
  const series = useCall('statsSeries', { query } as Input<'statsSeries'>, { enabled, keep: true, moving });
  return (
    <section className="card" aria-labelledby={`top-${by}`}>
      <h2 id={`top-${by}`}>{title}</h2>
      <QueryResult query={series} rows={3}>
        {({ series: rows }) => {
          const max = Math.max(1, ...rows.flatMap((row) => barsOf(row).totals));
          if (rows.length === 0) return <p className="muted">No calls in this range.</p>;
          return (
            <ul className="top-rows">
              {rows.map((row) => (
                <li key={row.value}>
                  {/* Many agents or tools beyond the counted ones are one row, which no filter matches. */}
                  {row.value === 'other' ? (
                    'other'
                  ) : (
                    <Link to="/explore" search={{ [filter]: row.value ?? '' } as never}>
                      <Name text={row.value ?? ''} />
                    </Link>
                  )}
                  <Ribbon calls={callsOf(row)} />
                  <Sparkline {...barsOf(row)} max={max} />
                  <span className="numbers">{count(row.total)}</span>
                </li>
              ))}
            </ul>
          );
        }}
      </QueryResult>
    </section>
  );
}
