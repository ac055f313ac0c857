// The inbox: the queue by urgency, single and bulk decisions, and the history of decisions.
import './approvals.css';
import type { JSX } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { type PageQuery, usePageQuery } from '../../lib/page-query.ts';
import { readOn, useCall, useFirstRow, useIsOld, usePageRows, usePages } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { cappedText, count, counted, maxRows } from '../../lib/text.ts';
import { Views } from '../../ui/list.tsx';
import { usePhone } from '../../ui/narrow.ts';
import { NoSearch } from '../../ui/no-match.tsx';
import { Empty, PageHead, Skeleton } from '../../ui/parts.tsx';
import { QueryBar } from '../../ui/query-bar.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { waitingInput } from '../home/ahead.ts';
import { History, inboxLanguage } from './history.tsx';
import { type Approval, isOfSample } from './model.ts';
import { NotifySwitch } from './notify.tsx';
import { Queue } from './queue.tsx';
import { useSnoozed, useSnoozedCount } from './snooze.tsx';

/** Approvals of a later page. The first one is small, because it appears first. */
const laterPage = { limit: 500 };

type View = 'pending' | 'mine' | 'snoozed' | 'decided';

/** The list of a view, by deadline; `total` is the number of pending calls at the hub. */
function usePending(view: View, { text: q, problem }: PageQuery) {
  const env = useEnv();
  const first = waitingInput(env);
  const text = [view === 'mine' ? 'is:mine' : '', q].filter((part) => part !== '').join(' ');
  const query = { ...first.query, ...(text === '' ? {} : { q: text }) };
  const options = { laterQuery: laterPage, keep: true, enabled: problem === null };
  const pending = usePages('listApprovals', { query }, options);
  const question = `${env} ${text}`;
  const isOld = useIsOld(pending, question);
  // Calls of another view do not open in this one.
  const isOfOther = useIsOld(pending, view === 'mine' ? 'mine' : 'all');
  const list = usePageRows(pending, ({ reply }) => reply);
  const stats = useCall('statsOverview', env ? { query: { env } } : undefined).data;
  const total = stats?.pending_approvals ?? null;
  return { pending, question, isOld, isOfOther, list, total, isCut: pending.hasNextPage };
}

export default function Approvals(): JSX.Element {
  const [filters] = useFilters();
  const page = usePageQuery(inboxLanguage);
  const view = (filters.view ?? 'pending') as View;
  const { text: q, problem } = page;
  const { pending, question, isOld, isOfOther, list, total, isCut } = usePending(view, page);
  const isSnoozed = useSnoozed();
  const { user_id: me } = useSignedIn();
  const isWhole = !isCut && !isOld && q === '' && view !== 'mine' && pending.data !== undefined;
  const waiting = list.filter(({ status }) => status === 'pending');
  const size = isCut && q === '' && view !== 'mine' ? (total ?? waiting.length) : null;
  const hasMine = isWhole || (view === 'mine' && q === '' && !isCut && !isOld);
  const numbers = {
    pending: isWhole ? waiting.filter((one) => !isSnoozed(one) && !isOfSample(one)).length : (total ?? 0),
    mine: hasMine ? waiting.filter(({ assignee }) => assignee?.id === me).length : 0,
    snoozed: isWhole ? waiting.filter(isSnoozed).length : 0,
  };
  // A phone has no room beside the names; the title and the navigation count there.
  const isPhone = usePhone();
  const tab = (name: string, number: number): string =>
    number > 0 && !isPhone ? `${name} ${count(number)}` : name;
  const visible = view === 'mine' ? list : list.filter((one) => isSnoozed(one) === (view === 'snoozed'));
  // A page without a visible row is passed over, but not in search of snoozed calls that are all listed.
  const snoozedCount = useSnoozedCount();
  const isFull = list.length >= maxRows;
  const mayHaveMore = !isFull && (view !== 'snoozed' || visible.length < snoozedCount);
  useFirstRow(pending, problem !== null || view === 'decided' || visible.length > 0 || !mayHaveMore);
  return (
    <div className="page approvals-page">
      <PageHead
        title="Inbox"
        summary={pending.data && !isOld ? summaryOf(waiting, q === '' ? view : null, isCut, size) : null}
      >
        <NotifySwitch />
      </PageHead>
      <Views
        label="Views of approvals"
        views={[
          ['pending', tab('Pending', numbers.pending)],
          ['mine', tab('Mine', numbers.mine)],
          ['snoozed', tab('Snoozed', numbers.snoozed)],
          ['decided', 'Decided'],
        ]}
      >
        <QueryBar
          language={inboxLanguage}
          query={page}
          placeholder="tool:refund args.amount:>500 agent:ci-*"
          values={valuesOf(list)}
        />
        {problem ? (
          <NoSearch items="approvals" />
        ) : view === 'decided' ? (
          <History page={page} />
        ) : (
          <QueryResult
            query={pending}
            isOld={isOld}
            none={() =>
              (isOfOther || (visible.length === 0 && isCut && mayHaveMore)) && <Skeleton rows={5} />
            }
          >
            {() => (
              <>
                <Queue
                  key={view}
                  list={visible}
                  question={question}
                  isOld={isOld}
                  narrowed={q !== '' || view === 'mine'}
                  empty={view === 'mine' && q === '' ? <NoneTaken /> : null}
                  isSnoozed={view === 'snoozed'}
                  hasLeft={({ status, assignee }) =>
                    view === 'mine' && status === 'pending' && assignee?.id !== me
                  }
                  isCut={isCut}
                  onEnd={() => mayHaveMore && readOn(pending)}
                />
                {isFull && isCut && (
                  <p className="muted numbers">
                    {count(list.length)} calls that expire first. For later ones, narrow the query
                  </p>
                )}
              </>
            )}
          </QueryResult>
        )}
      </Views>
    </div>
  );
}

const NoneTaken = (): JSX.Element => (
  <Empty
    title="No approvals taken"
    text="Open a pending approval and press Take. It stays here until it ends, or for 30 minutes."
  />
);

const valuesOf = (list: readonly Approval[]) => ({
  tool: [...new Set(list.map((one) => one.tool_name))],
  agent: [...new Set(list.map((one) => one.agent_id))],
});

/**
 * Counts the sample run's approval separately, because the badge and Home leave it out.
 * @param view null: a search
 * @param isCut the list does not contain all calls yet
 * @param total number of pending calls at the hub, where more are pending than the list contains; null: it has all
 */
function summaryOf(
  waiting: readonly Approval[],
  view: View | null,
  isCut: boolean,
  total: number | null,
): string {
  const size = waiting.filter((one) => !isOfSample(one)).length;
  const hasSample = size < waiting.length;
  const listed = cappedText(waiting.length, 'pending call', isCut);
  if (view === null) return `Search found ${listed}.`;
  if (view === 'mine') return `You have taken ${listed}.`;
  if (size === 0) return hasSample ? '1 pending call, from the sample run.' : 'No pending approvals.';
  const calls = counted(total === null ? size : Math.max(total, size), 'pending call');
  return `${calls}${hasSample ? ', and 1 from the sample run' : ''}.`;
}
