// The calls that a replay would decide otherwise, as a table: what was decided before, what would be, and why that is
// uncertain.
import type { JSX } from 'react';
import { count, counted } from '../lib/text.ts';
import { nameColumn, timeColumn, verdictColumn } from './columns.tsx';
import { Data, Name } from './parts.tsx';
import { type Column, Table } from './table.tsx';

export interface ReplayedCall {
  readonly id: string;
  readonly tool: string;
  readonly agent: string;
  readonly at: string;
  /** Words that `Verdict` knows. */
  readonly before: string;
  readonly after: string;
  readonly contract: string | null;
  readonly message: string | null;
  /** Why the answer is uncertain; empty when it is not. */
  readonly doubts: readonly string[];
}

const doubtsOf = ({ doubts }: ReplayedCall): string => doubts.join('; ');

const columns: readonly Column<ReplayedCall>[] = [
  nameColumn('tool', 'Tool', (one) => one.tool, 1.5),
  verdictColumn('before', 'Before', (one) => one.before, 1.3),
  verdictColumn('after', 'After', (one) => one.after, 1.3),
  {
    key: 'contract',
    label: 'Contract',
    width: 1.4,
    sort: (one) => one.contract ?? '',
    cell: (one) => <Name text={one.contract ?? '–'} />,
  },
  {
    key: 'message',
    label: 'Message',
    width: 2,
    sort: (one) => one.message ?? '',
    cell: (one) => <Data text={one.message ?? '–'} mono={false} max={120} />,
  },
  {
    key: 'uncertain',
    label: 'Uncertain because',
    width: 2,
    sort: doubtsOf,
    cell: (one) => <span className="muted">{doubtsOf(one) || '–'}</span>,
  },
  nameColumn('agent', 'Agent', (one) => one.agent, 1.4),
  timeColumn('when', 'When', (one) => one.at, 1.2),
];

export function ReplayTable({
  calls,
  leftOut,
}: {
  readonly calls: readonly ReplayedCall[];
  readonly leftOut: number;
}): JSX.Element | null {
  if (calls.length === 0) return null;
  return (
    <>
      <Table
        bar={<span className="muted">{counted(calls.length, 'call')} would be decided otherwise</span>}
        name="calls that would be decided otherwise"
        rows={calls}
        columns={columns}
        keyOf={(one) => one.id}
      />
      {leftOut > 0 && <p className="muted numbers">and {count(leftOut)} more</p>}
    </>
  );
}
