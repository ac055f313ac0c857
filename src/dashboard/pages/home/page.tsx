// Home: is anything wrong? The answer in a sentence, then the figures, what waits for a person, and what changed last.
import { dayMs } from '../../../domain/duration.ts';
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
import { Answer } from '../../ui/answer.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { DeniedShare, VerdictChart } from '../../ui/verdict-charts.tsx';
import { ApprovalCard } from '../approvals/card.tsx';
import { deadlineOf, decisions } from '../approvals/model.ts';
import { waitingInput } from './ahead.ts';
import { Changes } from './changes.tsx';
import { Start } from './start.tsx';

const bucketMs = 30 * 60_000;
const shownApprovals = 3;

export default function Home(): JSX.Element {
  const stats = useCall('statsOverview');
  const fleet = fleetOf(useStore(fleetByEnv), useEnv());
  return (
    <div className="page">
      <PageHead title="Home" says={stats.data && <Summary stats={stats.data} fleet={fleet} />} />
      <Start />
      <Answer of={stats} rows={2}>
        {(data) => <Figures stats={data} fleet={fleet} />}
      </Answer>
      <div className="home-columns">
        <div>
          <Waiting />
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
    waits === 0
      ? 'Nothing waits for a person'
      : `${counted(waits, 'call')} ${waits === 1 ? 'waits' : 'wait'} for a person`,
    ...(fleet && fleet.drift > 0
      ? [`${counted(fleet.drift, 'agent')} ${fleet.drift === 1 ? 'does' : 'do'} not run what is deployed`]
      : []),
    ...(fleet && fleet.connected === 0 && stats.total_agents > 0 ? ['no agent is connected'] : []),
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
        name="Waiting approvals"
        value={count(stats.pending_approvals)}
        note={stats.pending_approvals === 0 ? 'nobody waits' : 'decide them below'}
        to="/approvals"
      />
      <Figure
        name="Agents connected"
        value={fleet ? count(fleet.connected) : '–'}
        note={`of ${count(stats.total_agents)} known`}
      />
      <Figure
        name="In drift"
        value={fleet ? count(fleet.drift) : '–'}
        note={fleet ? `${count(fleet.current)} current, ${count(fleet.unknown)} unknown` : 'unknown yet'}
      />
      <Figure
        name="Events in 24 h"
        value={count(stats.events_24h)}
        note={`${counted(stats.contracts_triggered_24h, 'contract')} triggered`}
      />
      <Figure
        name="Denied in 24 h"
        value={count(stats.denials_24h)}
        note={
          rate === null ? 'no calls yet' : `${rate < 0.1 && rate > 0 ? '< 0.1' : rate.toFixed(1)} % of calls`
        }
      />
      <Ungoverned />
      <Figure
        name="Observed in 24 h"
        value={count(stats.observe_findings_24h)}
        note="would have been denied"
      />
    </div>
  );
}

/** Tools that agents called and no contract looks at. */
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
      note={summary ? `called by ${counted(summary.with_ungoverned, 'agent')}` : 'unknown yet'}
      to="/agents"
    />
  );
}

/** The most urgent, decided here; the rest is a page away. */
function Waiting(): JSX.Element {
  const env = useEnv();
  const found = useCall('listApprovals', waitingInput(env));
  const [reasons, setReasons] = useState<{ readonly [id: string]: string }>({});
  const known = useStore(decisions);
  const lost = Object.values(known).flatMap((one) =>
    one.state === 'decided' && !one.mine ? [one.approval] : [],
  );
  return (
    <section className="card" aria-labelledby="waiting">
      <div className="card-head">
        <h2 id="waiting">Waiting for a person</h2>
        <Link to="/approvals">All approvals</Link>
      </div>
      <Answer of={found} rows={3}>
        {(list) => {
          // What somebody else decided first waits no more, and stays to say so to who pressed too late.
          const faster = lost.filter(({ id }) => !list.some((one) => one.id === id));
          const urgent = [...faster, ...[...list].sort((a, b) => deadlineOf(a) - deadlineOf(b))];
          if (urgent.length === 0)
            return (
              <p className="muted">Nothing waits. Calls that need a person appear here by themselves.</p>
            );
          return (
            <>
              {urgent.slice(0, shownApprovals).map((approval) => (
                <ApprovalCard
                  key={approval.id}
                  brief
                  approval={approval}
                  reason={reasons[approval.id] ?? ''}
                  onReason={(reason) => setReasons((before) => ({ ...before, [approval.id]: reason }))}
                />
              ))}
              {urgent.length > shownApprovals && (
                <Link to="/approvals">
                  {counted(urgent.length - shownApprovals, 'more call')} in the queue
                </Link>
              )}
            </>
          );
        }}
      </Answer>
    </section>
  );
}

function Rate(): JSX.Element {
  const env = useEnv();
  useNow(60_000);
  const until = Math.ceil(serverNow() / bucketMs) * bucketMs;
  const from = until - dayMs;
  const found = useCall(
    'eventHistogram',
    {
      query: {
        since: new Date(from).toISOString(),
        until: new Date(until).toISOString(),
        bucket_seconds: bucketMs / 1000,
        ...(env ? { env } : {}),
      },
    },
    { keep: true, moves: true },
  );
  const isOld = useIsOld(found, env ?? '');
  return (
    <section className="card" aria-labelledby="rate">
      <h2 id="rate">Calls in the last 24 hours</h2>
      <Answer of={found} rows={4} isOld={isOld}>
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
              <DeniedShare title="Share of calls that were denied" {...chart} />
            </div>
          );
        }}
      </Answer>
    </section>
  );
}
