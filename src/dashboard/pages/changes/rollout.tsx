// The progress of a deployment: how many connected agents run it, which ones do not, and a roll-back.
import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { count, counted } from '../../lib/text.ts';
import { Data } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import './changes.css';

/**
 * The progress reloads when the stream announces other figures of the fleet. It also reloads from time to time: if one
 * agent replaces another, the figures stay the same, but the names of late agents change.
 */
const namesMs = 30_000;
const maxAgents = 100;

type Rollout = Reply<'deploymentRollout'>;

const isDone = ({ connected, running }: Rollout): boolean => connected > 0 && connected === running;

function useRollout(id: string) {
  const input = { params: { deployment_id: id }, query: { limit: maxAgents } };
  const deploymentRolloutQuery = useCall('deploymentRollout', input);
  const names = deploymentRolloutQuery.data?.current && deploymentRolloutQuery.data.agents.length > 0;
  return useCall('deploymentRollout', input, names ? { refetchMs: namesMs } : {});
}

/** One line for a list of environments. Expanded, it lists the agents without the version. */
export function RolloutLine({ id, version }: Readonly<{ id: string; version: number }>): JSX.Element | null {
  const { data, error } = useCall('deploymentRollout', {
    params: { deployment_id: id },
    query: { limit: 1 },
  });
  const [isOpen, setOpen] = useState(false);
  if (data === undefined && error) return <span className="muted">agent versions are not available</span>;
  if (!data?.current) return null;
  if (data.connected === 0) return <span className="muted numbers">no connected agents</span>;
  const words = `${count(data.running)} of ${counted(data.connected, 'connected agent')} ${data.connected === 1 ? 'runs' : 'run'} it`;
  if (isDone(data)) return <span className="muted numbers">{words}</span>;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="tone-ask numbers">{words}</summary>
      {isOpen && <RolloutProgress id={id} version={version} />}
    </details>
  );
}

export function RolloutProgress({ id, version }: Readonly<{ id: string; version: number }>): JSX.Element {
  return (
    <QueryResult query={useRollout(id)} rows={2}>
      {(rollout) => <Numbers rollout={rollout} version={version} />}
    </QueryResult>
  );
}

function Numbers({ rollout, version }: { readonly rollout: Rollout; readonly version: number }): JSX.Element {
  const { connected, running, behind, unknown, current, versions, agents } = rollout;
  if (!current)
    return <p>This deployment is over. Agents that connect now do not get this version from it.</p>;
  if (connected === 0)
    return <p className="numbers">No connected agents. Each agent gets this version when it connects.</p>;
  const others = versions.filter((one) => one.version !== version);
  const nameOf = (one: (typeof versions)[number]): string =>
    one.version === null ? 'a document without a recent deployment' : `v${one.version}`;
  return (
    <>
      <p className="numbers">
        {count(running)} of {counted(connected, 'connected agent')} {running === 1 ? 'runs' : 'run'} v
        {version}.
        {behind > 0 &&
          ` ${count(behind)} ${behind === 1 ? 'is' : 'are'} behind: ${others.map((one) => `${count(one.agents)} on ${nameOf(one)}`).join(', ')}.`}
        {unknown > 0 && ` ${count(unknown)} did not report ${unknown === 1 ? 'its' : 'their'} version.`}
      </p>
      <progress max={connected} value={running} aria-label="Agents on this version" />
      {agents.length > 0 && (
        <details>
          <summary>{counted(behind + unknown, 'agent')} not on this version</summary>
          <ul>
            {agents.map((agent) => (
              <li key={`${agent.agent_id}${agent.connected_at}`}>
                <Data text={agent.agent_id} max={120} />{' '}
                <span className="muted">
                  {agent.policy_version === null
                    ? 'unknown'
                    : agent.version === null
                      ? 'runs another document'
                      : `runs v${agent.version}`}
                </span>
              </li>
            ))}
            {behind + unknown > agents.length && (
              <li className="muted">and {count(behind + unknown - agents.length)} more</li>
            )}
          </ul>
        </details>
      )}
    </>
  );
}
