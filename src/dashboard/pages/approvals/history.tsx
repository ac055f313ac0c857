// Decided approvals: decider, time, channel and reason.
import { useNavigate } from '@tanstack/react-router';
import { type JSX, useEffect, useMemo } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { argumentLine } from '../../lib/argument-line.ts';
import { readOn, usePages } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { envColumn, nameColumn, verdictColumn } from '../../ui/columns.tsx';
import { Data, Empty, Name, Select, Skeleton, Time } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { channelWord } from './model.ts';

const pageSize = 100;
const states = [
  ['', 'Any outcome'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['timeout', 'Expired'],
] as const;

type Decided = Reply<'listApprovals'>[number];

const reasonOf = ({ decision_reason: reason }: Decided): string => (typeof reason === 'string' ? reason : '');
const contractOf = ({ contract_name: name }: Decided): string => name ?? '';
const decidedAt = (one: Decided): string => one.decided_at ?? one.created_at;
const none = <span className="muted">–</span>;

const columns: readonly Column<Decided>[] = [
  nameColumn('tool', 'Tool', (one) => one.tool_name, 1.4),
  verdictColumn('outcome', 'Outcome', (one) => one.status, 1.4),
  nameColumn('arguments', 'Arguments', (one) => argumentLine(one.tool_args), 2),
  nameColumn('contract', 'Contract', contractOf, 1.3),
  nameColumn('agent', 'Agent', (one) => one.agent_id, 1.4),
  envColumn('env', 'Environment', (one) => one.env, 1.4),
  {
    key: 'by',
    label: 'Decided by',
    width: 1.8,
    sort: (one) => one.decided_by ?? '',
    cell: (one) =>
      one.decided_by ? <Name mono={false} text={one.decided_by} /> : <span className="muted">nobody</span>,
  },
  {
    key: 'through',
    label: 'Channel',
    width: 1.1,
    sort: (one) => one.decided_via ?? '',
    cell: (one) => (one.decided_via ? channelWord(one.decided_via) : none),
  },
  {
    key: 'reason',
    label: 'Reason',
    width: 1.7,
    sort: reasonOf,
    cell: (one) => (reasonOf(one) === '' ? none : <Data text={reasonOf(one)} max={80} mono={false} />),
  },
  {
    key: 'when',
    label: 'Time',
    width: 1.2,
    sort: (one) => Date.parse(decidedAt(one)),
    text: decidedAt,
    cell: (one) => <Time at={decidedAt(one)} />,
  },
];

export function History(): JSX.Element {
  const env = useEnv();
  const [{ status = '', search = '' }, change] = useFilters();
  const navigate = useNavigate();
  const selectedStatus = states.find(([key]) => key !== '' && key === status)?.[0] as
    | 'approved'
    | 'denied'
    | 'timeout'
    | undefined;
  const query = {
    limit: pageSize,
    ...(selectedStatus ? { status: selectedStatus } : {}),
    ...(env ? { env } : {}),
    ...(search ? { search } : {}),
  };
  const approvalsQuery = usePages('listApprovals', { query });
  const rows = useMemo(
    () =>
      (approvalsQuery.data?.pages ?? [])
        .flatMap(({ reply }) => reply)
        .filter((one) => one.status !== 'pending'),
    [approvalsQuery.data],
  );
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = approvalsQuery;
  // After an error, a click repeats the request.
  const isMoreWanted = rows.length === 0 && hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    // The newest approvals can all be pending.
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
      <QueryResult query={approvalsQuery}>
        {() =>
          rows.length === 0 && hasNextPage ? (
            <Skeleton />
          ) : rows.length === 0 ? (
            <Empty title={search || selectedStatus ? 'No decisions match these filters' : 'No decisions yet'}>
              <p>
                {search || selectedStatus
                  ? 'Change the search text, or select all outcomes.'
                  : 'Approved and denied calls appear here with the decider, time, channel and reason.'}
              </p>
            </Empty>
          ) : (
            <Table
              name="decided approvals"
              grid="Approvals"
              rows={rows}
              columns={columns}
              keyOf={(one) => one.id}
              linkOf={(one) => linkTo.approval(one.id)}
              onOpen={(one) => void navigate({ ...linkTo.approval(one.id) })}
              onEnd={() => readOn(approvalsQuery)}
              bar={
                <span className="muted numbers">
                  {hasNextPage
                    ? `${count(rows.length)} newest decisions loaded; scroll for more`
                    : counted(rows.length, 'decision')}
                </span>
              }
            />
          )
        }
      </QueryResult>
    </div>
  );
}
