// Decided approvals: who, when, through which channel, why.
import { type JSX, useEffect, useMemo } from 'react';
import type { Reply } from '../../lib/api.ts';
import { readOn, usePages } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { count, visible } from '../../lib/text.ts';
import { Answer } from '../../ui/answer.tsx';
import { envColumn, nameColumn, verdictColumn } from '../../ui/columns.tsx';
import { Data, Empty, Name, Select, Skeleton, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';

const pageSize = 100;
const states = [
  ['', 'Any outcome'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['timeout', 'Timed out'],
] as const;

type Decided = Reply<'listApprovals'>[number];

const reasonOf = ({ decision_reason: reason }: Decided): string => (typeof reason === 'string' ? reason : '');
const decidedAt = (one: Decided): string => one.decided_at ?? one.created_at;
const none = <span className="muted">–</span>;

const columns: readonly Column<Decided>[] = [
  nameColumn('tool', 'Tool', (one) => one.tool_name, 1.6),
  verdictColumn('outcome', 'Outcome', (one) => one.status, 1.6),
  nameColumn('agent', 'Agent', (one) => one.agent_id, 1.6),
  envColumn('env', 'Environment', (one) => one.env, 1.5),
  {
    key: 'by',
    label: 'By',
    width: 2,
    sort: (one) => one.decided_by ?? '',
    cell: (one) =>
      one.decided_by ? <Name mono={false} text={one.decided_by} /> : <span className="muted">nobody</span>,
  },
  {
    key: 'through',
    label: 'Through',
    width: 1.1,
    sort: (one) => one.decided_via ?? '',
    cell: (one) => (one.decided_via ? visible(one.decided_via) : none),
  },
  {
    key: 'reason',
    label: 'Reason',
    width: 2,
    sort: reasonOf,
    cell: (one) => (reasonOf(one) === '' ? none : <Data text={reasonOf(one)} max={80} mono={false} />),
  },
  {
    key: 'when',
    label: 'When',
    width: 1.3,
    sort: (one) => Date.parse(decidedAt(one)),
    text: decidedAt,
    cell: (one) => <Time at={decidedAt(one)} />,
  },
];

export function History(): JSX.Element {
  const env = useEnv();
  const [{ status = '', search = '' }, change] = useFilters();
  const wanted = states.find(([key]) => key !== '' && key === status)?.[0] as
    | 'approved'
    | 'denied'
    | 'timeout'
    | undefined;
  const query = {
    limit: pageSize,
    ...(wanted ? { status: wanted } : {}),
    ...(env ? { env } : {}),
    ...(search ? { search } : {}),
  };
  const found = usePages('listApprovals', { query });
  const rows = useMemo(
    () => (found.data?.pages ?? []).flatMap(({ reply }) => reply).filter((one) => one.status !== 'pending'),
    [found.data],
  );
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = found;
  // One that was refused is asked for again by a press.
  const isMoreWanted = rows.length === 0 && hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    // The newest may all wait still.
    if (isMoreWanted) void fetchNextPage();
  }, [isMoreWanted, fetchNextPage]);
  return (
    <div className="card">
      <div className="card-head">
        <Select
          compact
          label="Outcome"
          value={status}
          options={states}
          onValue={(next) => change({ status: next })}
        />
      </div>
      <Answer of={found}>
        {() =>
          rows.length === 0 && hasNextPage ? (
            <Skeleton />
          ) : rows.length === 0 ? (
            <Empty title={search || wanted ? 'No decision fits' : 'Nothing was decided yet'}>
              <p>
                {search || wanted
                  ? 'Change the words, or look at every outcome.'
                  : 'What people decide is kept here, with who, when, through which channel and why.'}
              </p>
            </Empty>
          ) : (
            <Table
              name="decided approvals"
              rows={rows}
              columns={columns}
              keyOf={(one) => one.id}
              onOpen={(one) => change({ view: undefined, id: one.id })}
              onEnd={() => readOn(found)}
              bar={
                <span className="muted numbers">
                  {count(rows.length)} {hasNextPage ? 'newest; scroll for more' : 'decided'}
                </span>
              }
            />
          )
        }
      </Answer>
    </div>
  );
}
