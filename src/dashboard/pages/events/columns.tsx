// The columns of the list of events.

import { argumentLine } from '../../../approval/rules/argument-line.ts';
import { verdictWordOf } from '../../../event/rules/query/match.ts';
import { textOrNull } from '../../lib/text.ts';
import { afterCall, CallVerdict } from '../../ui/call-verdict.tsx';
import {
  envColumn,
  instantColumn,
  lineColumn,
  nameColumn,
  proseColumn,
  verdictColumn,
} from '../../ui/columns.tsx';
import { lookOf } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table.tsx';
import { type EventRow, payloadField } from './event-row.ts';

const payloadText = (row: EventRow, name: string): string => textOrNull(payloadField(row, name)) ?? '';

const argumentsOf = (row: EventRow): string => argumentLine(payloadField(row, 'tool_args'));

/** Columns whose values are those of the field of the same name in the query language. */
const queried: ReadonlySet<string> = new Set(['tool', 'verdict', 'agent', 'contract', 'env']);

/** Tone of the first verdict, for the edge of a row. */
export const toneOf = ({ verdict, mode }: EventRow): string => lookOf(verdictWordOf(verdict, mode))[0];

/** The widths add up to the list beside the filters on a screen of 1,440 px. */
const listed: readonly Column<EventRow>[] = [
  instantColumn('time', 'Time', (row) => row.timestamp),
  nameColumn('tool', 'Tool', (row) => row.tool_name, 1.2),
  {
    ...verdictColumn<EventRow>(
      'verdict',
      'Verdict',
      ({ verdict, mode }) => verdictWordOf(verdict, mode),
      1.5,
    ),
    cell: ({ verdict, mode }) => <CallVerdict verdict={verdict} mode={mode} />,
  },
  proseColumn('then', 'Then', afterCall, 0.9),
  lineColumn('arguments', 'Arguments', argumentsOf, 1.5),
  nameColumn('agent', 'Agent', (row) => row.agent_id, 1.2),
  nameColumn('contract', 'Contract', (row) => payloadText(row, 'decision_name'), 1.2),
  proseColumn('reason', 'Reason', (row) => payloadText(row, 'reason')),
  envColumn('env', 'Environment', (row) => row.env, 1.4),
];

export const columns = listed.map((column) =>
  queried.has(column.key) ? { ...column, field: column.key } : column,
);
