// Requests to the assistant and their costs, by day.
import { type JSX, useMemo, useState } from 'react';
import { dayMs } from '../../../shared/duration.ts';
import type { Reply } from '../../lib/api.ts';
import { useCall, useIsOld } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { countText, type Slot, type Track } from '../../ui/chart.ts';
import { Select } from '../../ui/form.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { TimeChart } from '../../ui/time-chart.tsx';

type Usage = Reply<'aiUsage'>;

const periods = ['7', '30', '90'].map((days) => [days, `last ${days} days`] as const);

const dollars = (usd: number | null): string => (usd === null ? 'unknown' : `$${usd.toFixed(2)}`);

const tracks: readonly Track[] = [
  { key: 'read', label: 'input tokens', icon: 'down', color: '--accent', text: countText },
  { key: 'written', label: 'output tokens', icon: 'up', color: '--bar-observe', text: countText },
  { key: 'questions', label: 'questions', text: countText },
  { key: 'cost', label: 'cost', text: dollars },
];

export function AiUsage(): JSX.Element {
  const [period, setPeriod] = useState('30');
  const days = Number(period);
  const aiUsageQuery = useCall('aiUsage', { query: { days } }, { keep: true });
  const isOld = useIsOld(aiUsageQuery, period);
  return (
    <section className="form" aria-label="Assistant usage">
      <div className="card-head">
        <h3>Usage</h3>
        <Select compact label="Period" value={period} options={periods} onValue={setPeriod} />
      </div>
      <QueryResult query={aiUsageQuery} rows={3} isOld={isOld}>
        {(usage) => (
          <>
            <p>
              {counted(usage.query_count, 'question')}{' '}
              {usage.total_cost_usd === null ? 'at an unknown cost' : `for ${dollars(usage.total_cost_usd)}`}.
            </p>
            {usage.daily.length > 0 && <UsageChart usage={usage} days={days} />}
          </>
        )}
      </QueryResult>
    </section>
  );
}

/** Days are UTC days, as in the hub. */
function UsageChart({ usage, days }: { readonly usage: Usage; readonly days: number }): JSX.Element {
  const slots = useMemo(
    (): readonly Slot[] =>
      usage.daily.map((day) => ({
        at: Date.parse(day.date),
        values: [day.input_tokens, day.output_tokens, day.queries, day.cost_usd],
      })),
    [usage],
  );
  const until = (slots.at(-1)?.at ?? 0) + dayMs;
  return (
    <TimeChart
      title="Tokens by day"
      shape="stack"
      tracks={tracks}
      slots={slots}
      absent={0}
      sums={[usage.total_input_tokens, usage.total_output_tokens, usage.query_count, usage.total_cost_usd]}
      from={until - days * dayMs}
      until={until}
      slotMs={dayMs}
      utc
    />
  );
}
