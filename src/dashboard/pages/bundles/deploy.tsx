// Deploying, from a composition or a version: first the difference to what the environment runs and who is touched, then how many run it.
import { type JSX, useMemo, useState } from 'react';
import type { ApiError, Reply } from '../../lib/api.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { Diff } from '../../ui/diff.tsx';
import { Dialog } from '../../ui/overlay.tsx';
import { Answer, Button, Data, Failed, Name, Select, Verdict } from '../../ui/parts.tsx';
import { contractChanges } from './impact.ts';
import './bundles.css';

export interface DeploySource {
  readonly kind: 'composition' | 'bundle';
  readonly name: string;
  /** Of a bundle. */
  readonly version?: number;
  readonly env?: Environment;
}

const decode = (base64: string): string =>
  new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));

/** Agents that are asked for to be counted; more are said as `1,000+`. */
const maxAgents = 1_000;

export function DeployDialog({
  source,
  onClose,
}: {
  readonly source: DeploySource | null;
  readonly onClose: () => void;
}): JSX.Element {
  const back = source?.env !== undefined && source.kind === 'bundle';
  return (
    <Dialog
      title={source ? `${back ? 'Roll back' : 'Deploy'} ${source.name}` : 'Deploy'}
      shape="wide"
      open={source !== null}
      onClose={onClose}
    >
      {source && <Steps key={`${source.name}${source.version}`} source={source} onClose={onClose} />}
    </Dialog>
  );
}

function Steps({
  source,
  onClose,
}: {
  readonly source: DeploySource;
  readonly onClose: () => void;
}): JSX.Element {
  const chosen = useEnv();
  const [env, setEnv] = useState<Environment>(source.env ?? chosen ?? 'production');
  const [done, setDone] = useState<{ readonly env: Environment; readonly version: number } | null>(null);
  if (done) return <Progress name={source.name} {...done} onClose={onClose} />;
  return (
    <>
      {source.env === undefined && (
        <Select
          label="Environment to deploy to"
          value={env}
          options={envs.map((one) => [one, one] as const)}
          onValue={(next) => setEnv(next as Environment)}
        />
      )}
      <Plan
        key={env}
        source={source}
        env={env}
        onDone={(version) => setDone({ env, version })}
        onClose={onClose}
      />
    </>
  );
}

/** The text that would be deployed. */
function useNext(source: DeploySource) {
  const isBundle = source.kind === 'bundle';
  const yaml = useCall(
    'getBundleYaml',
    { params: { name: source.name, version: source.version ?? 0 } },
    { enabled: isBundle },
  );
  const preview = useCall('previewComposition', { params: { name: source.name } }, { enabled: !isBundle });
  return {
    text: isBundle ? yaml.data : preview.data?.yaml_content,
    problems: isBundle ? [] : (preview.data?.validation_errors ?? []),
    error: yaml.error ?? preview.error,
  };
}

function Plan(props: {
  readonly source: DeploySource;
  readonly env: Environment;
  readonly onDone: (version: number) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const { source, env, onDone, onClose } = props;
  const me = useSignedIn();
  const next = useNext(source);
  const current = useCall('currentBundle', { params: { name: source.name }, query: { env } });
  const none = current.error?.status === 404;
  const before = current.data ? decode(current.data.yaml_bytes) : none ? '' : undefined;
  const status = useCall('agentStatus', { query: { bundle_name: source.name, env, limit: maxAgents } });
  const composition = useAction('deployComposition', [
    'listDeployments',
    'listBundles',
    'listBundleVersions',
    'currentBundle',
  ]);
  const bundle = useAction('deployBundle', [
    'listDeployments',
    'listBundles',
    'listBundleVersions',
    'currentBundle',
  ]);
  const changes = useMemo(
    () => (before === undefined || next.text === undefined ? null : contractChanges(before, next.text)),
    [before, next.text],
  );
  const error: ApiError | null = composition.error ?? bundle.error;
  const deploy = (force: boolean): void => {
    const query = force ? { query: { force: 'true' } } : {};
    if (source.kind === 'composition') {
      composition.mutate(
        { params: { name: source.name }, ...query, body: { env } },
        { onSuccess: ({ bundle_version: version }: Reply<'deployComposition'>) => onDone(version) },
      );
    } else {
      bundle.mutate(
        { params: { name: source.name, version: source.version ?? 0 }, ...query, body: { env } },
        { onSuccess: ({ bundle_version: version }: Reply<'deployBundle'>) => onDone(version) },
      );
    }
  };
  const failed = next.error ?? (none ? null : current.error);
  if (failed) return <Failed error={failed} />;
  const verb = source.env === undefined ? 'Deploy' : 'Roll back';
  const what =
    source.version === undefined ? '' : ` ${source.env === undefined ? '' : 'to '}v${source.version}`;
  return (
    <>
      <div className="deploy-columns">
        <section className="form">
          <h3>
            {none
              ? `The document (nothing runs in ${env} yet)`
              : `Difference to v${current.data?.version ?? '…'}, which ${env} runs`}
          </h3>
          {before !== undefined && next.text !== undefined && <Diff before={before} after={next.text} />}
        </section>
        <section className="form">
          <h3>What it changes</h3>
          {changes && <Impact changes={changes} />}
          <Answer of={status} rows={2}>
            {({ agents }) => (
              <p>
                {agents.length === 0
                  ? `No connected agent follows it in ${env}.`
                  : `${agents.length === maxAgents ? `${count(maxAgents)}+ streams` : counted(agents.length, 'open stream')} of agents get it at once.`}
              </p>
            )}
          </Answer>
          {next.problems.map((problem) => (
            <p key={problem} className="field-error">
              <Data text={problem} mono={false} max={400} />
            </p>
          ))}
        </section>
      </div>
      {error && <Failed error={error} />}
      <div className="decide-buttons">
        <Button
          kind="primary"
          busy={composition.isPending || bundle.isPending}
          disabled={next.text === undefined || before === undefined}
          onClick={() => deploy(false)}
        >
          {`${verb}${source.env === undefined ? what : ` ${env}${what}`}${source.env === undefined ? ` to ${env}` : ''}`}
        </Button>
        {error?.status === 422 && me.is_admin && (
          <Button kind="danger" onClick={() => deploy(true)}>
            Force it all the same
          </Button>
        )}
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </>
  );
}

const tones = {
  added: 'tone-allow',
  removed: 'tone-deny',
  tightened: 'tone-allow',
  loosened: 'tone-deny',
  changed: 'tone-ask',
} as const;

function Impact({ changes }: { readonly changes: ReturnType<typeof contractChanges> }): JSX.Element {
  if (changes.length === 0) return <p className="muted">No contract changes.</p>;
  return (
    <ul className="feed">
      {changes.slice(0, 100).map(({ id, kind }) => (
        <li key={id} className="feed-row">
          <Name text={id} />
          <span className={tones[kind]}>{kind}</span>
        </li>
      ))}
    </ul>
  );
}

/** How many of the open streams run the version, until all do. */
function Progress({
  name,
  env,
  version,
  onClose,
}: {
  name: string;
  env: Environment;
  version: number;
  onClose: () => void;
}): JSX.Element {
  const [wait, setWait] = useState(true);
  const found = useCall(
    'agentStatus',
    { query: { bundle_name: name, env, limit: maxAgents } },
    wait ? { refetchMs: 1_000 } : {},
  );
  const agents = found.data?.agents ?? [];
  const run = agents.filter((agent) => agent.status === 'current').length;
  const late = agents.filter((agent) => agent.status !== 'current');
  if (wait && agents.length > 0 && late.length === 0) setWait(false);
  return (
    <section className="form" aria-live="polite">
      <p>
        <Verdict of="allowed" /> {name} v{version} is deployed to {env}.
      </p>
      {found.data && (
        <>
          <p className="numbers">
            {agents.length === 0
              ? 'No agent is connected: each gets it when it comes.'
              : `${count(run)} of ${count(agents.length)} open streams run it.`}
          </p>
          {agents.length > 0 && <progress max={agents.length} value={run} aria-label="Streams that run it" />}
          {late.length > 0 && (
            <details>
              <summary>{counted(late.length, 'stream')} not yet</summary>
              <ul>
                {late.slice(0, 50).map((agent) => (
                  <li key={`${agent.agent_id}${agent.connected_at}`}>
                    <Data text={agent.agent_id} max={120} /> <Verdict of={agent.status} />
                  </li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
      <div className="decide-buttons">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </section>
  );
}
