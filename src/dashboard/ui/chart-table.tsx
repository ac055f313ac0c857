// The numbers of a chart as a table. The code loads on demand.
import type { JSX } from 'react';
import { useMemo } from 'react';
import { dayMs } from '../../shared/duration.ts';
import { absolute } from '../lib/text.ts';
import { type Slot, spanName, type Track } from './chart.ts';
import { type Column, Table } from './table.tsx';

export default function ChartTable({
  title,
  tracks,
  slots,
  slotMs,
  utc,
}: {
  readonly title: string;
  readonly tracks: readonly Track[];
  readonly slots: readonly Slot[];
  readonly slotMs: number;
  readonly utc: boolean;
}): JSX.Element {
  const columns = useMemo(
    (): readonly Column<Slot>[] => [
      {
        key: 'from',
        label: 'From',
        width: 2.6,
        sort: ({ at }) => at,
        text: ({ at }) => new Date(at).toISOString(),
        cell: ({ at }) => (slotMs % dayMs === 0 ? spanName(at, at + slotMs, slotMs, utc) : absolute(at, utc)),
      },
      ...tracks.map(
        ({ key, label, text }, index): Column<Slot> => ({
          key,
          label,
          number: true,
          sort: ({ values }) => values[index] ?? -1,
          text: ({ values }) => String(values[index] ?? ''),
          cell: ({ values }) => text(values[index] ?? null),
        }),
      ),
    ],
    [tracks, slotMs, utc],
  );
  return slots.length === 0 ? (
    <p className="muted">No data in this period.</p>
  ) : (
    <div className="chart-table">
      <Table
        name={`${title} as a table`}
        sortAs={`${title.toLowerCase().replace(/[^a-z0-9]+/g, '_')}_sort`}
        rows={slots}
        columns={columns}
        keyOf={({ at }) => String(at)}
      />
    </div>
  );
}
