// The inbox: the queue by urgency, single and bulk decisions, and the history of decisions.
import './approvals.css';
import type { JSX } from 'react';
import type { Input } from '../../lib/api.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { useCall, useIsOld } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { Views } from '../../ui/list.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { QueryBar } from '../../ui/query-bar.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { waitingInput } from '../home/ahead.ts';
import { History, inboxLanguage } from './history.tsx';
import { type Approval, isOfSample } from './model.ts';
import { NotifySwitch } from './notify.tsx';
import { Queue } from './queue.tsx';
import { useSnoozed } from './snooze.tsx';

/** Maximum of approvals in the queue. The page displays when it is reached. */
const max = 200;

export default function Approvals(): JSX.Element {
  const [{ view }] = useFilters();
  const env = useEnv();
  const isSnoozed = useSnoozed();
  const page = usePageQuery(inboxLanguage);
  const q = page.problem ? '' : page.text;
  const input: Input<'listApprovals'> =
    q === '' ? waitingInput(env) : { query: { status: 'pending', limit: max, q, ...(env ? { env } : {}) } };
  const pending = useCall('listApprovals', input, { keep: true });
  const isOld = useIsOld(pending, `${env} ${q}`);
  const summary = pending.data && !isOld ? summaryOf(pending.data, q !== '') : null;
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
        <QueryBar
          language={inboxLanguage}
          query={page}
          placeholder="tool:refund args.amount:>500 agent:ci-*"
          values={valuesOf(pending.data ?? [])}
        />
        {view === 'decided' ? (
          <History page={page} />
        ) : (
          <QueryResult query={pending} isOld={isOld}>
            {(list) => (
              <Queue
                key={view}
                list={list.filter((one) => isSnoozed(one) === (view === 'snoozed'))}
                narrowed={q !== ''}
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

const valuesOf = (list: readonly Approval[]) => ({
  tool: [...new Set(list.map((one) => one.tool_name))],
  agent: [...new Set(list.map((one) => one.agent_id))],
});

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
