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
import { Answer, Data, Empty, Env, Failed, PageHead, Time, Verdict, Waiting } from '../../ui/parts.tsx';
import { DeniedShare, VerdictChart } from '../../ui/verdict-charts.tsx';
import { ApprovalCard } from '../approvals/card.tsx';
import { deadlineOf } from '../approvals/model.ts';
import { waitingInput } from './ahead.ts';
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
          <WaitingCalls />
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
function WaitingCalls(): JSX.Element {
  const env = useEnv();
  const found = useCall('listApprovals', waitingInput(env));
  const [reasons, setReasons] = useState<{ readonly [id: string]: string }>({});
  return (
    <section className="card" aria-labelledby="waiting">
      <div className="card-head">
        <h2 id="waiting">Waiting for a person</h2>
        <Link to="/approvals">All approvals</Link>
      </div>
      <Answer of={found} rows={3}>
        {(list) => {
          const urgent = [...list].sort((a, b) => deadlineOf(a) - deadlineOf(b));
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

interface Change {
  readonly id: string;
  readonly at: string;
  readonly says: ReactNode;
}

/** Deploys, keys and rules of contracts, newest first. */
function Changes(): JSX.Element {
  const env = useEnv();
  const deployments = useCall('listDeployments', { query: { limit: 10, ...(env ? { env } : {}) } });
  const keys = useCall('listKeys', { query: { limit: 5 } });
  const contracts = useCall('listContracts', { query: { limit: 5 } });
  const recent = useCall('listApprovals', { query: { limit: 10, ...(env ? { env } : {}) } });
  const all: Change[] = [
    ...(deployments.data ?? []).map((one) => ({
      id: one.id,
      at: one.created_at,
      says: (
        <>
          <Data text={one.deployed_by} mono={false} max={60} /> deployed{' '}
          <Data text={`${one.bundle_name} v${one.bundle_version}`} max={80} /> to <Env of={one.env} />
        </>
      ),
    })),
    ...(keys.data ?? [])
      .filter((one) => !env || one.env === env)
      .map((one) => ({
        id: one.id,
        at: one.created_at,
        says: (
          <>
            Key <Data text={one.label ?? one.prefix} max={60} /> made for{' '}
            <Env of={one.env ?? 'every environment'} />
          </>
        ),
      })),
    ...(contracts.data ?? []).map((one) => ({
      id: `${one.contract_id} ${one.version}`,
      at: one.created_at,
      says: (
        <>
          Contract <Data text={one.contract_id} max={60} /> is at version {one.version}
        </>
      ),
    })),
    ...(recent.data ?? [])
      .filter((one) => one.decided_at !== null)
      .map((one) => ({
        id: one.id,
        at: one.decided_at ?? one.created_at,
        says: (
          <>
            <Verdict of={one.status} /> <Data text={one.tool_name} max={60} /> of{' '}
            <Data text={one.agent_id} max={60} />
            {one.decided_by && (
              <>
                {' '}
                by <Data text={one.decided_by} mono={false} max={60} />
              </>
            )}
          </>
        ),
      })),
  ].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const missing = [deployments, keys, contracts, recent].filter(({ data }) => data === undefined);
  const failed = missing.find(({ error }) => error !== null)?.error;
  return (
    <section className="card" aria-labelledby="changes">
      <h2 id="changes">Activity</h2>
      {failed && (
        <Failed error={failed} onRetry={() => void Promise.all(missing.map((one) => one.refetch()))} />
      )}
      {missing[0] && !failed ? (
        // What came first would look like all there is.
        <Waiting of={missing[0]} rows={5} />
      ) : failed && all.length === 0 ? null : all.length === 0 ? (
        <Empty title="Nothing has changed yet">
          <p>Deploys, keys, contracts and decisions are listed here.</p>
        </Empty>
      ) : (
        <ul className="feed">
          {all.slice(0, 12).map(({ id, at, says }) => (
            <li key={id} className="feed-row">
              <span>{says}</span>
              <Time at={at} className="muted" />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
