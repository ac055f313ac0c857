// The columns of the list of events.
import { verdictWordOf } from '../../../event/rules/query/match.ts';
import type { Reply } from '../../lib/api.ts';
import { argumentLine } from '../../lib/argument-line.ts';
import { afterCall, CallVerdict } from '../../ui/call-verdict.tsx';
import { envColumn, instantColumn, nameColumn, proseColumn, verdictColumn } from '../../ui/columns.tsx';
import type { Column } from '../../ui/table.tsx';

export type EventRow = Reply<'searchEvents'>[number];

/** A text from the payload. The hub leaves large fields out of lists. */
export const payloadText = ({ payload }: Pick<EventRow, 'payload'>, name: string): string => {
  const value = (payload as { readonly [name: string]: unknown } | null)?.[name];
  return typeof value === 'string' ? value : '';
};

const argumentsOf = ({ payload }: EventRow): string =>
  argumentLine((payload as { readonly tool_args?: unknown } | null)?.tool_args);

/** Columns whose values are those of the field of the same name in the query language. */
const queried: ReadonlySet<string> = new Set(['tool', 'verdict', 'agent', 'contract', 'env']);

/** The widths add up to the list beside the filters on a screen of 1,440 px. */
const listed: readonly Column<EventRow>[] = [
  instantColumn('time', 'Time', (row) => row.timestamp),
  nameColumn('tool', 'Tool', (row) => row.tool_name, 1.3),
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
  nameColumn('arguments', 'Arguments', argumentsOf, 1.6),
  nameColumn('agent', 'Agent', (row) => row.agent_id, 1.2),
  nameColumn('contract', 'Contract', (row) => payloadText(row, 'decision_name'), 1.3),
  proseColumn('reason', 'Reason', (row) => payloadText(row, 'reason'), 1.1),
  envColumn('env', 'Environment', (row) => row.env, 1.4),
];

export const columns = listed.map((column) =>
  queried.has(column.key) ? { ...column, field: column.key } : column,
);
