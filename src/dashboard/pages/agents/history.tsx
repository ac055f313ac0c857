// What happened to one agent over time, and the runs that it has: deployments, drift, and sessions with where they
// stand.
import { Link } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { useHosted } from '../../lib/hosted-query.ts';
import { useCall } from '../../lib/query.ts';
import { count, duration } from '../../lib/text.ts';
import { Answer, Button, Data, Env, Time, Verdict } from '../../ui/parts.tsx';
import type { Run } from '../runs/run.ts';
import { SessionValues } from '../runs/values.tsx';

const words = {
  deployment: 'Deployed',
  drift_detected: 'Drift began',
  drift_resolved: 'Drift ended',
  first_seen: 'Seen for the first time',
} as const;

export function AgentHistory({ id }: { readonly id: string }): JSX.Element {
  const found = useCall('agentHistory', { params: { agent_id: id }, query: { limit: 20 } });
  return (
    <section className="form" aria-label="History">
      <h3>What changed for it</h3>
      <Answer of={found} rows={3}>
        {({ events }) =>
          events.length === 0 ? (
            <p className="muted">Nothing was deployed for it yet.</p>
          ) : (
            <ul className="feed">
              {events.map((event) => (
                <li key={`${event.type}${event.timestamp}${event.environment}`} className="feed-row">
                  <span>
                    {words[event.type]}{' '}
                    {event.bundle_name && (
                      <>
                        <Data text={event.bundle_name} max={80} />
                        {event.bundle_version !== null && ` v${event.bundle_version}`}
                      </>
                    )}{' '}
                    {event.environment && <Env of={event.environment} />}{' '}
                    {event.deployed_by && (
                      <span className="muted">
                        by <Data text={event.deployed_by} mono={false} max={60} />
                      </span>
                    )}
                    {event.drift_duration_seconds !== null && (
                      <span className="muted">after {duration(event.drift_duration_seconds * 1000)}</span>
                    )}
                  </span>
                  <Time at={event.timestamp} className="muted" />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  );
}

const shown = 10;

/** A session, with its values once they are asked for. */
function AgentRun({ id, run }: { readonly id: string; readonly run: Run }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <div>
      <Verdict of={run.status} />{' '}
      <Link to="/runs" search={{ agent: id, session: run.session_id } as never}>
        <Data text={run.session_id} max={80} />
      </Link>{' '}
      <Button kind="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Hide values' : 'Values'}
      </Button>
      {open && <SessionValues agent={id} session={run.session_id} />}
    </div>
  );
}

export function AgentRuns({ id }: { readonly id: string }): JSX.Element {
  const found = useHosted('hostedListRuns', { query: { agent_id: id, limit: shown } });
  return (
    <section className="form" aria-label="Runs">
      <h3>Its sessions and runs</h3>
      <Answer of={found} rows={2}>
        {({ runs, total }) =>
          runs.length === 0 ? (
            <p className="muted">It reported no call with a session.</p>
          ) : (
            <>
              <ul className="feed">
                {runs.map((run) => (
                  <li key={run.session_id} className="feed-row">
                    <AgentRun id={id} run={run} />
                    <Time at={run.last_activity_at} className="muted" />
                  </li>
                ))}
              </ul>
              {total > shown && (
                <Link to="/runs" search={{ agent_id: id } as never}>
                  All its {count(total)} runs
                </Link>
              )}
            </>
          )
        }
      </Answer>
    </section>
  );
}
