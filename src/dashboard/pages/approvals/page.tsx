// The inbox: the queue by urgency, single and bulk decisions, and the history of decisions.
import './approvals.css';
import type { JSX } from 'react';
import type { Input } from '../../lib/api.ts';
import { useCall, useIsOld } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { SearchInput, Views } from '../../ui/list.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { waitingInput } from '../home/ahead.ts';
import { History } from './history.tsx';
import { type Approval, isOfSample } from './model.ts';
import { NotifySwitch } from './notify.tsx';
import { Queue } from './queue.tsx';
import { useSnoozed } from './snooze.tsx';

/** Maximum of approvals in the queue. The page displays when it is reached. */
const max = 200;

export default function Approvals(): JSX.Element {
  const [{ view, search = '' }] = useFilters();
  const env = useEnv();
  const isSnoozed = useSnoozed();
  const input: Input<'listApprovals'> =
    search === ''
      ? waitingInput(env)
      : { query: { status: 'pending', limit: max, search, ...(env ? { env } : {}) } };
  const pending = useCall('listApprovals', input, { keep: true });
  const isOld = useIsOld(pending, `${env} ${search}`);
  const summary = pending.data && !isOld ? summaryOf(pending.data, search !== '') : null;
  return (
    <div className="page approvals-page">
      <PageHead title="Inbox" summary={summary}>
        <NotifySwitch />
      </PageHead>
      <Views
        label="Views of approvals"
        views={[
          ['pending', 'Pending'],
          ['snoozed', 'Snoozed'],
          ['decided', 'Decided'],
        ]}
      >
        <search className="filter-bar">
          <SearchInput key={view} items="approvals" placeholder="Agent, tool, contract, message, person" />
        </search>
        {view === 'decided' ? (
          <History />
        ) : (
          <QueryResult query={pending} isOld={isOld}>
            {(list) => (
              <Queue
                key={view}
                list={list.filter((one) => isSnoozed(one) === (view === 'snoozed'))}
                narrowed={search !== ''}
                isSnoozed={view === 'snoozed'}
                isCut={list.length === max}
              />
            )}
          </QueryResult>
        )}
      </Views>
    </div>
  );
}

/** Counts the sample run's approval separately, because the badge and Home leave it out. */
function summaryOf(list: readonly Approval[], narrowed: boolean): string {
  const waiting = list.filter(({ status }) => status === 'pending');
  const size = waiting.filter((one) => !isOfSample(one)).length;
  const hasSample = size < waiting.length;
  if (narrowed) return `Search found ${counted(waiting.length, 'pending call')}.`;
  if (size === 0) return hasSample ? '1 pending call, from the sample run.' : 'No pending approvals.';
  const calls = waiting.length === max ? `${max}+ pending calls` : counted(size, 'pending call');
  return `${calls}${hasSample ? ', and 1 from the sample run' : ''}.`;
}
