// How far a deployment has come: how many connected agents run it, who does not, and the way back while it goes wrong.
import { type JSX, useState } from 'react';
import { useCannotAct } from '../../frame/connection.tsx';
import type { Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import type { Env as Environment } from '../../lib/search.ts';
import { count, counted, severities } from '../../lib/text.ts';
import { ofDocument, unableIn } from '../../lib/unable.ts';
import { Answer, Failed } from '../../ui/answer.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data } from '../../ui/parts.tsx';

/**
 * The stream tells when the fleet's numbers change, and the answer is read again then. One agent that comes while
 * another goes leaves the numbers as they are: for the names of those that are behind it is read once in a while, too.
 */
const namesMs = 30_000;
const shownAgents = 100;

export interface Deployed {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly env: Environment;
  readonly forced: boolean;
  readonly reason: string | null;
  /** What the environment ran before; null when nothing. */
  readonly before: number | null;
  readonly warnings: Reply<'deployBundle'>['warnings'];
}

/** What a deployment makes old. */
export const touched = [
  'listDeployments',
  'listBundles',
  'listBundleVersions',
  'currentBundle',
  'bundleImpact',
] as const;

type Rollout = Reply<'deploymentRollout'>;

const isDone = ({ connected, running }: Rollout): boolean => connected > 0 && connected === running;

function useRollout(id: string) {
  const input = { params: { deployment_id: id }, query: { limit: shownAgents } };
  const known = useCall('deploymentRollout', input);
  const names = known.data?.current && known.data.agents.length > 0;
  return useCall('deploymentRollout', input, names ? { refetchMs: namesMs } : {});
}

/** In one line, for a list of environments; opened, it names who does not run it. */
export function RolloutLine({
  id,
  version,
}: {
  readonly id: string;
  readonly version: number;
}): JSX.Element | null {
  const { data, error } = useCall('deploymentRollout', {
    params: { deployment_id: id },
    query: { limit: 1 },
  });
  const [isOpen, setOpen] = useState(false);
  if (data === undefined && error) return <span className="muted">which agents run it is not known now</span>;
  if (!data?.current) return null;
  if (data.connected === 0) return <span className="muted numbers">no agent is connected</span>;
  const words = `${count(data.running)} of ${counted(data.connected, 'connected agent')} ${data.connected === 1 ? 'runs' : 'run'} it`;
  if (isDone(data)) return <span className="muted numbers">{words}</span>;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="tone-ask numbers">{words}</summary>
      {isOpen && <RolloutNow id={id} version={version} />}
    </details>
  );
}

function RolloutNow({ id, version }: { readonly id: string; readonly version: number }): JSX.Element {
  return (
    <Answer of={useRollout(id)} rows={2}>
      {(rollout) => <Numbers of={rollout} version={version} />}
    </Answer>
  );
}

export function RolloutPanel({
  of,
  onBack,
  onClose,
}: {
  readonly of: Deployed;
  /** The environment was rolled back, by this deployment. */
  readonly onBack: (deployed: Deployed) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const { id, name, version, env, before, forced, reason, warnings } = of;
  const [unable, findings] = [unableIn(warnings), ofDocument(warnings)];
  const found = useRollout(id);
  const cannot = useCannotAct();
  const back = useAction('deployBundle', touched);
  return (
    <section className="form" aria-live="polite">
      <p>
        <span className="tone-allow">
          <Icon name="check" />
        </span>{' '}
        <Data text={`${name} v${version}`} max={160} mono={false} /> is deployed to {env}
        {forced ? ', forced although the document has errors' : ''}.
        {reason !== null && (
          <>
            {' '}
            Reason: <Data text={reason} mono={false} max={500} />
          </>
        )}
      </p>
      {unable !== null && (
        <div className="notice notice-ask">
          <Icon name="triangle" />
          <p>
            <Data text={unable} mono={false} max={600} />
          </p>
        </div>
      )}
      {findings.length > 0 && (
        <details>
          <summary>{counted(findings.length, 'finding')} in the document</summary>
          <ul className="problems">
            {findings.slice(0, 50).map(({ line, column, severity, message }) => (
              <li key={`${line}:${column}:${message}`} className={severities[severity].tone}>
                {severities[severity].word} in line {line}: <Data text={message} mono={false} max={300} />
              </li>
            ))}
          </ul>
        </details>
      )}
      <Answer of={found} rows={3}>
        {(rollout) => <Numbers of={rollout} version={version} />}
      </Answer>
      {back.error && <Failed error={back.error} />}
      <div className="decide-buttons">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
        {before !== null && (
          <Button
            busy={back.isPending}
            disabled={cannot !== null}
            onClick={() =>
              back.mutate(
                { params: { name, version: before }, body: { env } },
                {
                  onSuccess: (made: Reply<'deployBundle'>) =>
                    onBack({
                      id: made.id,
                      name,
                      version: before,
                      env,
                      forced: made.forced,
                      reason: made.reason,
                      warnings: made.warnings,
                      before: version,
                    }),
                },
              )
            }
          >
            Roll back {env} to v{before} now
          </Button>
        )}
      </div>
    </section>
  );
}

function Numbers({ of, version }: { readonly of: Rollout; readonly version: number }): JSX.Element {
  const { connected, running, behind, unknown, current, versions, agents } = of;
  if (!current) return <p>Something else was deployed since: agents no longer come to this version.</p>;
  if (connected === 0) return <p className="numbers">No agent is connected: each gets it when it comes.</p>;
  const others = versions.filter((one) => one.version !== version);
  const named = (one: (typeof versions)[number]): string =>
    one.version === null ? 'a document of no recent deployment' : `v${one.version}`;
  return (
    <>
      <p className="numbers">
        {count(running)} of {counted(connected, 'connected agent')} {running === 1 ? 'runs' : 'run'} v
        {version}.
        {behind > 0 &&
          ` ${count(behind)} ${behind === 1 ? 'is' : 'are'} behind: ${others.map((one) => `${count(one.agents)} on ${named(one)}`).join(', ')}.`}
        {unknown > 0 && ` ${count(unknown)} never said what ${unknown === 1 ? 'it runs' : 'they run'}.`}
      </p>
      <progress max={connected} value={running} aria-label="Agents that run it" />
      {agents.length > 0 && (
        <details>
          <summary>{counted(behind + unknown, 'agent')} not yet</summary>
          <ul>
            {agents.map((agent) => (
              <li key={`${agent.agent_id}${agent.connected_at}`}>
                <Data text={agent.agent_id} max={120} />{' '}
                <span className="muted">
                  {agent.policy_version === null
                    ? 'unknown'
                    : agent.version === null
                      ? 'runs something else'
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
