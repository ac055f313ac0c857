// The overview: the state of the hub in a sentence, figures, pending approvals and the latest changes.
import '../approvals/approvals.css';
import './home.css';
import { Link } from '@tanstack/react-router';
import { type JSX, type ReactNode, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useCall, useIsOld } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { useStore } from '../../lib/store.ts';
import { count, counted } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { type FleetNumbers, fleetByEnv, fleetOf } from '../../live/fleet.ts';
import { PageHead } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { DeniedShare, VerdictChart } from '../../ui/verdict-charts.tsx';
import { ApprovalCard } from '../approvals/card.tsx';
import { deadlineOf, decisions } from '../approvals/model.ts';
import { statsInput, waitingInput } from './ahead.ts';
import { Changes } from './changes.tsx';
import { bucketMs, lastDay } from './last-day.ts';
import { Start } from './start.tsx';

const maxApprovals = 3;

export default function Home(): JSX.Element {
  const env = useEnv();
  const stats = useCall('statsOverview', statsInput(env));
  const fleet = fleetOf(useStore(fleetByEnv), env);
  return (
    <div className="page">
      <PageHead title="Overview" summary={stats.data && <Summary stats={stats.data} fleet={fleet} />} />
      <Start />
      <QueryResult query={stats} rows={2}>
        {(data) => <Figures stats={data} fleet={fleet} />}
      </QueryResult>
      <div className="home-columns">
        <div>
          <UrgentApprovals />
          <Rate />
        </div>
        <Changes />
      </div>
    </div>
  );
}

function Summary({
  stats,
  fleet,
}: {
  readonly stats: Reply<'statsOverview'>;
  readonly fleet: FleetNumbers | null;
}): JSX.Element {
  const waits = stats.pending_approvals;
  const parts = [
    waits === 0 ? 'No pending approvals' : counted(waits, 'pending approval'),
    ...(fleet && fleet.drift > 0 ? [`${counted(fleet.drift, 'agent')} out of date`] : []),
    ...(fleet && fleet.connected === 0 && stats.total_agents > 0 ? ['no connected agents'] : []),
  ];
  return <>{parts.join('; ')}.</>;
}

function Figure({
  name,
  value,
  note,
  to,
}: {
  name: string;
  value: string;
  note?: ReactNode;
  to?: string;
}): JSX.Element {
  const inside = (
    <>
      <span className="figure-name">{name}</span>
      <span className="figure-value">{value}</span>
      {note && <span className="figure-note">{note}</span>}
    </>
  );
  return to ? (
    <Link to={to} className="figure">
      {inside}
    </Link>
  ) : (
    <div className="figure">{inside}</div>
  );
}

function Figures({
  stats,
  fleet,
}: {
  readonly stats: Reply<'statsOverview'>;
  readonly fleet: FleetNumbers | null;
}): JSX.Element {
  const rate = stats.events_24h === 0 ? null : (stats.denials_24h / stats.events_24h) * 100;
  return (
    <div className="figures">
      <Figure
        name="Pending approvals"
        value={count(stats.pending_approvals)}
        note={stats.pending_approvals === 0 ? 'none' : 'decide below'}
        to="/inbox"
      />
      <Figure
        name="Connected agents"
        value={fleet ? count(fleet.connected) : '–'}
        note={`of ${counted(stats.total_agents, 'agent')}`}
      />
      <Figure
        name="Out of date"
        value={fleet ? count(fleet.drift) : '–'}
        note={fleet ? `${count(fleet.current)} up to date, ${count(fleet.unknown)} unknown` : 'loading'}
      />
      <Figure
        name="Events in 24 h"
        value={count(stats.events_24h)}
        note={`${counted(stats.contracts_triggered_24h, 'contract')} triggered`}
      />
      <Figure
        name="Denied in 24 h"
        value={count(stats.denials_24h)}
        note={rate === null ? 'no calls' : `${rate < 0.1 && rate > 0 ? '< 0.1' : rate.toFixed(1)} % of calls`}
      />
      <Ungoverned />
      <Figure
        name="Would deny in 24 h"
        value={count(stats.observe_findings_24h)}
        note="contracts in observe mode"
      />
    </div>
  );
}

/** Tools that agents call and no contract covers. */
function Ungoverned(): JSX.Element {
  const env = useEnv();
  const { data } = useCall('fleetCoverage', {
    query: { limit: 1, ...(env ? { env } : {}) },
  } as Input<'fleetCoverage'>);
  const summary = data?.fleet_summary;
  return (
    <Figure
      name="Ungoverned tools"
      value={summary ? count(summary.total_ungoverned_tools) : '–'}
      note={summary ? `called by ${counted(summary.with_ungoverned, 'agent')}` : 'loading'}
      to="/fleet"
    />
  );
}

/** The most urgent approval, with its buttons, and a link to the others. */
function UrgentApprovals(): JSX.Element {
  const env = useEnv();
  const approvalsQuery = useCall('listApprovals', waitingInput(env));
  const [reasons, setReasons] = useState<{ readonly [id: string]: string }>({});
  const decisionsById = useStore(decisions);
  const lost = Object.values(decisionsById).flatMap((one) =>
    one.state === 'decided' && !one.mine ? [one.approval] : [],
  );
  return (
    <section className="card" aria-labelledby="waiting">
      <div className="card-head">
        <h2 id="waiting">Most urgent approvals</h2>
        <Link to="/inbox">View all approvals</Link>
      </div>
      <QueryResult query={approvalsQuery} rows={3}>
        {(list) => {
          // An approval that another person decided first is no longer pending. It stays, so that a late click gets an
          // answer.
          const faster = lost.filter(({ id }) => !list.some((one) => one.id === id));
          const urgent = [...faster, ...[...list].sort((a, b) => deadlineOf(a) - deadlineOf(b))];
          if (urgent.length === 0)
            return (
              <p className="muted">
                No pending approvals. Calls that require approval appear here automatically.
              </p>
            );
          return (
            <>
              {urgent.slice(0, maxApprovals).map((approval) => (
                <ApprovalCard
                  key={approval.id}
                  brief
                  approval={approval}
                  reason={reasons[approval.id] ?? ''}
                  onReason={(reason) => setReasons((before) => ({ ...before, [approval.id]: reason }))}
                />
              ))}
              {urgent.length > maxApprovals && (
                <Link to="/inbox">{counted(urgent.length - maxApprovals, 'more call')} in the queue</Link>
              )}
            </>
          );
        }}
      </QueryResult>
    </section>
  );
}

function Rate(): JSX.Element {
  const env = useEnv();
  useNow(60_000);
  const { since, from, until } = lastDay(serverNow());
  const eventHistogramQuery = useCall(
    'eventHistogram',
    {
      query: {
        since: new Date(since).toISOString(),
        until: new Date(until).toISOString(),
        bucket_seconds: bucketMs / 1000,
        ...(env ? { env } : {}),
      },
    },
    { keep: true, moves: true },
  );
  const isOld = useIsOld(eventHistogramQuery, env ?? '');
  return (
    <section className="card" aria-labelledby="rate">
      <h2 id="rate">Calls in the last 24 hours</h2>
      <QueryResult query={eventHistogramQuery} rows={4} isOld={isOld}>
        {(list) => {
          const chart = {
            from,
            until,
            bucketMs,
            buckets: list.map(({ bucket_start, ...counts }) => ({ at: Date.parse(bucket_start), ...counts })),
          };
          return (
            <div className="home-charts">
              <VerdictChart title="Calls in the last 24 hours" {...chart} />
              <DeniedShare title="Denied share of calls" {...chart} />
            </div>
          );
        }}
      </QueryResult>
    </section>
  );
}
