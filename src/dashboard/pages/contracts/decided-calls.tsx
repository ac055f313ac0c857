// The calls of the range that a contract decided: by verdict, over time, and the way to them in Explore.
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import type { Input } from '../../lib/api.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { useCall } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { barsOf, callsOf, pointsOf } from '../../lib/series.ts';
import { counted } from '../../lib/text.ts';
import { Ribbon, Sparkline, wordsOf } from '../../ui/ribbon.tsx';
import { QuerySection } from '../../ui/section.tsx';

const points = 48;

export function DecidedCalls({ id }: { readonly id: string }): JSX.Element {
  const [search] = useFilters();
  const env = useEnv();
  const moving = rangeOf(search);
  const query = { by: 'contract', values: [id], points: pointsOf(moving.query(), points) };
  const series = useCall(
    'statsSeries',
    { query: { ...query, ...(env ? { env } : {}) } } as Input<'statsSeries'>,
    {
      moving,
    },
  );
  return (
    <QuerySection
      title="Decided calls"
      label
      query={series}
      rows={1}
      none={({ series: [one] }) => (one?.total ?? 0) === 0 && 'This contract decided no call in this range.'}
    >
      {({ series: [one] }) =>
        one && (
          <div className="decide-buttons">
            <span className="calls-cell row">
              <Ribbon calls={callsOf(one)} />
              <Sparkline {...barsOf(one)} max={Math.max(1, ...barsOf(one).totals)} />
            </span>
            <span className="numbers">{wordsOf(callsOf(one))}</span>
            <Link to="/explore" search={{ decision_name: id } as never}>
              Show {counted(one.total, 'call')} in Explore
            </Link>
          </div>
        )
      }
    </QuerySection>
  );
}
