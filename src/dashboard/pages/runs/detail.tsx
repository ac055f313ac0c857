// One run: its seal, the state of its workflow, its lanes over time, its history with explanations, and its values.
import './runs.css';
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useHosted } from '../../lib/hosted-query.ts';
import { plainJson } from '../../lib/text.ts';
import { DataLink } from '../../ui/names.tsx';
import { Data, Env, PreciseTime, Time, Verdict } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Ribbon, sumOf } from '../../ui/ribbon.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { Evidence } from './evidence.tsx';
import { RunHistory } from './history.tsx';
import { RunLanes } from './lanes.tsx';
import type { Run } from './run.ts';
import { callsOfRun, runSums } from './sums.ts';
import { SessionValues } from './values.tsx';

interface RunPlace {
  readonly agent: string;
  readonly session: string;
}

export function RunDetail({
  agent,
  session,
  isPeek = false,
}: RunPlace & {
  /** Without the lanes, values and explanations, and of the evidence only the verification. */
  readonly isPeek?: boolean;
}): JSX.Element {
  const runsQuery = useHosted('hostedListRuns', {
    query: { agent_id: agent, session_id: session, limit: 1 },
  });
  return (
    <QueryResult query={runsQuery} rows={8}>
      {({ runs: [run] }) =>
        run === undefined ? (
          <p>
            This run does not exist. Its events were purged, or its agent has not reported any yet. Return to
            the list.
          </p>
        ) : (
          <>
            <Evidence run={run} isPeek={isPeek} />
            <Head run={run} />
            {run.workflow && <Workflow agent={agent} session={session} />}
            {!isPeek && <RunLanes run={run} />}
            <RunHistory run={run} isPeek={isPeek} />
            {!isPeek && <SessionValues agent={agent} session={session} />}
          </>
        )
      }
    </QueryResult>
  );
}

function Head({ run }: { readonly run: Run }): JSX.Element {
  const approval = run.pending_approval;
  const calls = callsOfRun(run);
  return (
    <section className="form">
      <h2 className="panel-name">
        <Data text={run.session_id} max={200} />
      </h2>
      <p>
        <Verdict word={run.status} /> <Env name={run.environment} /> by agent{' '}
        <DataLink link={linkTo.agent(run.agent_id)} text={run.agent_id} max={120} />{' '}
        {run.sample && <span className="tag">sample</span>}
      </p>
      <p className="muted">
        Started <PreciseTime at={run.started_at} />, last activity <PreciseTime at={run.last_activity_at} />.{' '}
        {runSums(run)}
      </p>
      {calls && sumOf(calls) > 0 && (
        <p className="run-calls">
          <Ribbon calls={calls} />
        </p>
      )}
      {run.ruleset_name && (
        <p>
          Ruleset:{' '}
          <Link {...linkTo.ruleset(run.ruleset_name)}>
            <Data text={run.ruleset_name} max={120} /> v{run.ruleset_version}
          </Link>
          .
        </p>
      )}
      {run.parent_session_id && (
        <p>
          Started by the run <Data text={run.parent_session_id} max={120} />.
        </p>
      )}
      {approval && (
        <p className="notice notice-ask">
          <span>
            Pending approval: <Data text={approval.tool_name} max={120} />, requested{' '}
            <Time at={approval.created_at} />. <Link {...linkTo.approval(approval.id)}>Open approval</Link>
          </span>
        </p>
      )}
    </section>
  );
}

function Workflow({ agent, session }: RunPlace): JSX.Element {
  const workflowStateQuery = useHosted('hostedWorkflowState', {
    params: { agent_id: agent },
    query: { session_id: session },
  });
  return (
    <QuerySection title="Workflow state" label="Workflow" query={workflowStateQuery} rows={2}>
      {(state) => {
        const blocked = typeof state.blocked_reason === 'string' ? state.blocked_reason : null;
        return (
          <>
            <p>
              <Data text={state.name} max={120} />, <Time at={state.updated_at} className="muted" />
            </p>
            <ol className="stages">
              {state.completed_stages.map((stage) => (
                <li key={plainJson(stage)} className="stage stage-done">
                  <Verdict word="completed" /> <Data text={plainJson(stage)} max={120} />
                </li>
              ))}
              {state.active_stage !== '' && (
                <li className="stage">
                  <Verdict word="active" /> <Data text={state.active_stage} max={120} />
                </li>
              )}
            </ol>
            {blocked && (
              <p className="tone-deny">
                Cannot continue: <Data text={blocked} mono={false} max={400} />
              </p>
            )}
            {state.snapshot_error && (
              <p className="muted">Part of the workflow state from the agent is not readable.</p>
            )}
          </>
        );
      }}
    </QuerySection>
  );
}
