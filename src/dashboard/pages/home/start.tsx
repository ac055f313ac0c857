// The first steps on a hub without agents: create a key, deploy a bundle, start an agent with the key. The console
// ticks each step when the hub has seen it.
import { Link } from '@tanstack/react-router';
import { type JSX, type ReactNode, useState } from 'react';
import { sample } from '../../../run/rules/sample.ts';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { missingRole } from '../../lib/may.ts';
import { useSignedIn } from '../../lib/me.ts';
import { refresh, useAction, useCall } from '../../lib/query.ts';
import { refreshAll } from '../../live/cache.ts';
import { useFrames } from '../../live/use-frames.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Select } from '../../ui/form.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data, Time } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { starterBundle } from '../contracts/starters.ts';
import { snippets } from './snippets.ts';

function Step({
  done,
  title,
  children,
}: Readonly<{ done: boolean; title: string; children: ReactNode }>): JSX.Element {
  return (
    <li className={done ? 'step step-done' : 'step'}>
      <h3>
        <span className={done ? 'tone-allow' : 'muted'}>
          <Icon name={done ? 'check' : 'dash'} size={20} />
        </span>
        {title}
        <span className="heard">{done ? ' (done)' : ' (to do)'}</span>
      </h3>
      {children}
    </li>
  );
}

/** Stays visible until all three steps are done, also after a reload. */
export function Start(): JSX.Element | null {
  const me = useSignedIn();
  // The hub lists keys for operators.
  const canSeeKeys = missingRole(me.roles, 'operator') === null;
  const keys = useCall('listKeys', { query: { limit: 1 } }, { enabled: canSeeKeys });
  const deployments = useCall('listDeployments', { query: { limit: 20 } });
  const [hidden, setHidden] = useState(false);
  const [createdKey, setCreatedKey] = useState<Reply<'createKey'> | null>(null);
  const firstAgent = useHeard();
  const done = [
    (keys.data?.length ?? 0) > 0,
    deployments.data?.some((one) => one.bundle_name !== sample.rulesetName) ?? false,
    firstAgent !== undefined && firstAgent !== null,
  ];
  if (hidden || !keys.data || firstAgent === undefined || !deployments.data) return null;
  if (done.every(Boolean) && createdKey === null) return null;
  return (
    <section className="card start" aria-labelledby="start">
      <div className="card-head">
        <h2 id="start">
          {done.every(Boolean) ? 'Your first agent is governed' : 'Govern your first agent in three steps'}
        </h2>
        <Button kind="quiet" onClick={() => setHidden(true)}>
          Hide
        </Button>
      </div>
      <ol className="steps">
        <Step done={done[0] ?? false} title="Create a key">
          {createdKey === null &&
            (me.is_admin ? (
              <MakeKey onMade={setCreatedKey} />
            ) : (
              <p className="muted">Only an admin can create a key. Ask an admin to create one under Keys.</p>
            ))}
        </Step>
        <Step done={done[1] ?? false} title="Deploy the starter bundle">
          {!done[1] && <DeployStarter />}
        </Step>
        <Step done={done[2] ?? false} title="Start an agent with the key">
          {createdKey ? (
            <Snippet apiKey={createdKey.key} />
          ) : (
            <p className="muted">After you create a key, the code for your agent appears here.</p>
          )}
          <p className="muted" aria-live="polite">
            {firstAgent ? (
              <>
                Agent <Data text={firstAgent.agent} max={80} />{' '}
                {firstAgent.since === null ? (
                  'reported a call; its stream is closed'
                ) : (
                  <>
                    connected <Time at={firstAgent.since} />
                  </>
                )}
                .
              </>
            ) : (
              'Waiting for the agent to connect.'
            )}
          </p>
        </Step>
      </ol>
      <Sample />
    </section>
  );
}

interface Heard {
  readonly agent: string;
  /** Start of the agent's stream; null if the agent has only reported a call. */
  readonly since: string | null;
}

/**
 * The first agent; undefined while this is unknown. A stream changes the figures of the fleet, which invalidates its
 * list. An agent without a stream is found by its events.
 */
function useHeard(): Heard | null | undefined {
  const [firstAgent, setFirstAgent] = useState<Heard | null>(null);
  const enabled = !firstAgent?.since;
  const streams = useCall('agentStatus', { query: { limit: 1 } }, { enabled });
  const agents = useCall('listAgents', { query: { limit: 1 } }, { enabled });
  useFrames(({ type }) => {
    if (firstAgent === null && type === 'stats_changed') refresh(['listAgents']);
  });
  const stream = streams.data?.agents[0];
  const newestAgent = agents.data?.[0];
  if (stream && !firstAgent?.since) setFirstAgent({ agent: stream.agent_id, since: stream.connected_at });
  else if (newestAgent && !firstAgent) setFirstAgent({ agent: newestAgent.agent_id, since: null });
  return streams.data && agents.data ? firstAgent : undefined;
}

/** The sample run, for people who want to look around first. */
function Sample(): JSX.Element {
  const make = useAction('makeSampleRun');
  const remove = useAction('deleteSampleRun');
  const sampleRun = make.data;
  const error = make.error ?? remove.error;
  // The hub sends no frames about the sample run.
  const done = (): void => refreshAll();
  return (
    <>
      {error && <Failed error={error} />}
      <div className="decide-buttons">
        {sampleRun && !remove.isSuccess ? (
          <>
            <span>Sample run loaded.</span>
            <Link {...linkTo.approval(sampleRun.approval_id)} className="button">
              Decide sample call
            </Link>
            <Link to="/explore" search={{ run_id: sampleRun.run_id } as never} className="button">
              View sample calls
            </Link>
            <ActButton
              operation="deleteSampleRun"
              kind="quiet"
              busy={remove.isPending}
              onClick={() => remove.mutate({} as never, done)}
            >
              Delete sample run{' '}
            </ActButton>
          </>
        ) : (
          <ActButton
            operation="makeSampleRun"
            busy={make.isPending}
            onClick={() => make.mutate({} as never, done)}
          >
            Load sample run
          </ActButton>
        )}
      </div>
    </>
  );
}

function MakeKey({ onMade }: { readonly onMade: (key: Reply<'createKey'>) => void }): JSX.Element {
  const make = useAction('createKey', ['listKeys']);
  return (
    <>
      {make.error && <Failed error={make.error} />}
      <ActButton
        operation="createKey"
        kind="primary"
        icon="plus"
        busy={make.isPending}
        onClick={() => make.mutate({ body: { env: 'production', label: 'first agent' } }, onMade)}
      >
        Create key for production
      </ActButton>
    </>
  );
}

function Snippet({ apiKey }: { readonly apiKey: string }): JSX.Element {
  const [language, setLanguage] = useState('TypeScript');
  const text = snippets[language]?.(location.origin, apiKey) ?? '';
  return (
    <>
      <div className="filter-bar">
        <Select
          compact
          label="Language"
          value={language}
          options={Object.keys(snippets)}
          onValue={setLanguage}
        />
        <CopyButton text={text} noun="code" />
      </div>
      <pre className="code">
        <Data text={text} max={4_000} />
      </pre>
      <p className="muted">Copy the key now. You cannot see it again after you leave this page.</p>
    </>
  );
}

function DeployStarter(): JSX.Element {
  const upload = useAction('uploadBundle', ['listBundles']);
  const deploy = useAction('deployBundle', ['listDeployments', 'listBundles']);
  const run = async (): Promise<void> => {
    const { name, version } = await upload.mutateAsync({ body: { yaml_content: starterBundle } });
    await deploy.mutateAsync({ params: { name, version }, body: { env: 'production' } });
  };
  const error = upload.error ?? deploy.error;
  return (
    <>
      {error && <Failed error={error} />}
      <ActButton
        operation="deployBundle"
        envs={['production']}
        busy={upload.isPending || deploy.isPending}
        onClick={() => void run().catch(() => undefined)}
      >
        Deploy starter to production
      </ActButton>
    </>
  );
}
