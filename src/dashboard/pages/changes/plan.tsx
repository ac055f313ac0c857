// The plan of a deployment: the difference from the current document, the affected agents, past calls, the reason, and
// the button.
import { type JSX, useRef, useState } from 'react';
import { ApiError, call, type Input, type Reply } from '../../lib/api.ts';
import { useActionBlockReason } from '../../lib/may.ts';
import { usePageMutation } from '../../lib/mutation.ts';
import { keyOf, queries, refresh, useCall } from '../../lib/query.ts';
import { useRefused } from '../../lib/refused.ts';
import type { Env as Environment } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { Diff } from '../../ui/diff.tsx';
import { Field } from '../../ui/form.tsx';
import { Button, Data, Name } from '../../ui/parts.tsx';
import { Failed, QueryProblem, QueryResult } from '../../ui/query-result.tsx';
import { Section } from '../../ui/section.tsx';
import { ReplayPanel } from '../documents/replay.tsx';
import { ForceForm } from './force.tsx';
import { useReviewed } from './reviewed.ts';
import type { Warnings } from './warnings.ts';

export interface DeploySource {
  readonly kind: 'composition' | 'bundle';
  readonly name: string;
  /** The source is a version of a bundle. */
  readonly version?: number;
}

const decode = (base64: string): string =>
  new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));

/** The text to deploy, and whether it changed while the page was open. */
function useNext(source: DeploySource) {
  const isBundle = source.kind === 'bundle';
  const yaml = useCall(
    'getBundleYaml',
    { params: { name: source.name, version: source.version ?? 0 } },
    { enabled: isBundle },
  );
  const preview = useCall('previewComposition', { params: { name: source.name } }, { enabled: !isBundle });
  const of = isBundle ? yaml : preview;
  const text = isBundle ? yaml.data : preview.data?.yaml_content;
  return {
    of,
    text,
    ...useReviewed(text, of.isFetching),
    problems: isBundle ? [] : (preview.data?.validation_errors ?? []),
  };
}

/** Queries that a deployment invalidates. */
const touched = [
  'listDeployments',
  'listBundles',
  'listBundleVersions',
  'currentBundle',
  'bundleImpact',
] as const;

interface ReviewedDeployment {
  readonly source: DeploySource;
  /** The reviewed text. */
  readonly text: string | undefined;
  readonly input: Omit<Input<'deployBundle'>, 'params'>;
}

/**
 * Deploys if the composition and the environment are as reviewed. The stream may be away, so the page may miss a
 * change.
 * @returns null otherwise: nothing is deployed, and the page shows the new state
 */
async function deployReviewed({ source: { kind, name, version = 0 }, text, input }: ReviewedDeployment) {
  const params = { name };
  try {
    if (kind === 'bundle') return await call('deployBundle', { params: { name, version }, ...input });
    const preview = await call('previewComposition', { params });
    if (preview.yaml_content !== text) {
      queries.setQueryData(keyOf('previewComposition', { params }), preview);
      return null;
    }
    const { deployment_id: id, warnings } = await call('deployComposition', { params, ...input });
    return { id, warnings };
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 412) return null;
    throw failure;
  }
}

/** @param base tag of the reviewed document in the environment */
function useDeploy(
  source: DeploySource,
  env: Environment,
  text: string | undefined,
  base: string | undefined,
  onDone: PlanProps['onDone'],
) {
  const deployment = usePageMutation(deployReviewed, () => refresh(touched));
  const run = (reason: string | null, isForced: boolean): void => {
    const input = {
      ...(isForced ? { query: { force: 'true' } as const } : {}),
      body: reason === null ? { env } : { env, reason },
      ifMatch: base,
    };
    deployment.mutate({ source, text, input }, (reply) => {
      if (reply) onDone(reply.id, reply.warnings);
    });
  };
  return { run, busy: deployment.isPending, error: deployment.error };
}

/** The document that runs, and whether it changed while the page was open. */
function useBase(name: string, env: Environment) {
  const current = useCall('currentBundle', { params: { name }, query: { env } });
  // A reload, or a failed one, keeps the earlier answer. After a 404, the cache keeps the document before it.
  const runsNone = useRef<Environment | null>(null);
  if (current.error?.status === 404) runsNone.current = env;
  else if (current.data && !current.error) runsNone.current = null;
  const none = runsNone.current === env;
  const before = none ? '' : current.data && decode(current.data.yaml_bytes);
  const tag = none ? '0' : current.data?.revision_hash;
  return { current, none, before, ...useReviewed(tag, current.isFetching) };
}

interface PlanProps {
  readonly source: DeploySource;
  readonly env: Environment;
  readonly onDone: (deploymentId: string, warnings: Warnings) => void;
}

export function Plan({ source, env, onDone }: PlanProps): JSX.Element {
  const cannot = useActionBlockReason(source.kind === 'bundle' ? 'deployBundle' : 'deployComposition', [env]);
  const [reason, setReason] = useState('');
  // A document that already runs is deployed on the second press: agents get it again.
  const [isWarned, setWarned] = useState(false);
  const next = useNext(source);
  const base = useBase(source.name, env);
  const { current, none, before } = base;
  const hasMoved = base.hasMoved || next.hasMoved;
  const runningVersion = none ? null : (current.data?.version ?? null);
  const isSame = !none && before !== undefined && before === next.text;
  const { run, busy, error } = useDeploy(source, env, next.reviewed, base.reviewed, onDone);
  // Loaded data stays after a failed reload, because the outcome of the action appears below it.
  const isRefused = useRefused(error?.code === 'unprocessable', env);
  // The comparison and the impact need each other.
  const missing = [...(next.text === undefined ? [next.of] : []), ...(before === undefined ? [current] : [])];
  const failed = missing.find(({ error: why }) => why !== null)?.error;
  if (failed)
    return <Failed error={failed} onRetry={() => void Promise.all(missing.map((one) => one.refetch()))} />;
  const label = actOf(source, env, isSame ? null : runningVersion);
  const send = (): void => run(reason.trim() === '' ? null : reason.trim(), false);
  return (
    <>
      <Comparison env={env} next={next} base={base} isSame={isSame} runningVersion={runningVersion} />
      {next.text !== undefined && <ReplayPanel key={next.text} yaml={next.text} env={env} isAutomatic />}
      {error && (
        <>
          <Failed error={error} />
          {error.code === 'unanswered' && (
            <p className="field-error">
              The deployment may have taken effect. Check the version in {env} before you try again.
            </p>
          )}
        </>
      )}
      {isRefused && (
        <ForceForm
          label="Deploy despite errors"
          action={`Force deploy to ${env}`}
          act="deploy a document with errors"
          word={env}
          busy={busy}
          isOff={hasMoved}
          reason={reason}
          onReason={setReason}
          onForce={() => run(reason.trim(), true)}
        >
          <p>
            A forced deployment is signed and sent despite the errors. Agents that cannot load it keep their
            current document; new agents get none. The deployment and the audit log record the reason.
          </p>
        </ForceForm>
      )}
      {hasMoved && <Moved env={env} next={next} base={base} />}
      {!isRefused && (
        <Field
          label="Reason"
          value={reason}
          onValue={setReason}
          maxLength={500}
          autoComplete="off"
          help="The deployment and the audit log contain the reason."
        />
      )}
      <div className="decide-buttons">
        {isSame && isWarned && (
          <p className="notice notice-ask unchanged" role="alert">
            {env} already runs this document, as v{runningVersion}. A deployment changes nothing. Press the
            button again to deploy anyway.
          </p>
        )}
        <Button
          kind="primary"
          busy={busy}
          disabled={next.reviewed === undefined || base.reviewed === undefined || hasMoved || cannot !== null}
          onClick={() => (isSame && !isWarned ? setWarned(true) : send())}
        >
          {label}
        </Button>
        {cannot && <span className="field-error">{cannot}</span>}
      </div>
    </>
  );
}

interface DifferenceProps {
  readonly env: Environment;
  readonly next: ReturnType<typeof useNext>;
  readonly base: ReturnType<typeof useBase>;
}

/** The sides of the difference that changed, and the button that accepts the new ones. */
const Moved = ({ env, next, base }: DifferenceProps): JSX.Element => (
  <div className="notice notice-ask" role="alert">
    <p>
      {base.hasMoved && `The document of ${env} changed while this page was open. `}
      {next.hasMoved && 'The composition changed while this page was open. '}
      The difference above is the new one.
    </p>
    <Button
      onClick={() => {
        base.accept();
        next.accept();
      }}
    >
      Use new difference
    </Button>
  </div>
);

/** The difference from the running document, and the impact on agents. */
function Comparison({
  env,
  next,
  base: { current, none, before },
  isSame,
  runningVersion,
}: DifferenceProps & {
  readonly isSame: boolean;
  readonly runningVersion: number | null;
}): JSX.Element {
  const impact = useCall(
    'bundleImpact',
    {
      body: { yaml_content: next.text, env },
    } as Input<'bundleImpact'>,
    { enabled: next.text !== undefined },
  );
  return (
    <div className="columns-main">
      <Section
        title={
          none
            ? `Document (no bundle is deployed to ${env})`
            : `${isSame ? 'Identical to' : 'Changes from'} v${runningVersion ?? '…'}, deployed to ${env}`
        }
        label="Difference"
      >
        <QueryProblem query={next.of} />
        {!none && <QueryProblem query={current} />}
        {before !== undefined && next.text !== undefined && !isSame && (
          <Diff before={before} after={next.text} />
        )}
      </Section>
      <Section title="Impact" label>
        {next.text !== undefined && (
          <QueryResult query={impact} rows={4}>
            {(impact) => <Impact impact={impact} />}
          </QueryResult>
        )}
        {next.problems.map((problem) => (
          <p key={problem} className="field-error">
            <Data text={problem} mono={false} max={400} />
          </p>
        ))}
      </Section>
    </div>
  );
}

/** A deployment of a version below the current one is a roll-back, unless both are the same document. */
function actOf(source: DeploySource, env: Environment, runningVersion: number | null): string {
  const { version } = source;
  const isBack = version !== undefined && runningVersion !== null && version < runningVersion;
  if (isBack) return `Roll back ${env} to v${version}`;
  return `Deploy${version === undefined ? '' : ` v${version}`} to ${env}`;
}

const kinds = [
  ['added', 'tone-allow'],
  ['removed', 'tone-deny'],
  ['tightened', 'tone-allow'],
  ['loosened', 'tone-deny'],
  ['changed', 'tone-ask'],
] as const;
const maxContracts = 100;

/** The hub's analysis: changed contracts, and the agents that would get the document. */
function Impact({ impact }: { readonly impact: Reply<'bundleImpact'> }): JSX.Element {
  const { agents, comparable, unchanged } = impact;
  const isSame = impact.revision_hash === impact.current_revision_hash;
  const rows = kinds.flatMap(([kind, tone]) =>
    impact[kind].map((one) => ({
      id: one.contract_id,
      kind,
      tone,
      fields: 'fields' in one ? (one.fields as readonly string[]) : [],
    })),
  );
  const others = agents.versions.reduce((sum, one) => sum + (one.version === null ? one.agents : 0), 0);
  return (
    <>
      {comparable ? (
        <p className="numbers">
          {rows.length === 0
            ? 'No contract changes.'
            : `${kinds
                .filter(([kind]) => impact[kind].length > 0)
                .map(([kind]) => `${count(impact[kind].length)} ${kind}`)
                .join(', ')}, ${count(unchanged)} unchanged.`}
        </p>
      ) : (
        <p>The current document is not a contract bundle, so no comparison is available.</p>
      )}
      <ul className="feed">
        {rows.slice(0, maxContracts).map(({ id, kind, tone, fields }) => (
          <li key={`${kind} ${id}`} className="feed-row">
            <span className="impact-what">
              <Name text={id} />
              {fields.length > 0 && <span className="muted">in {fields.slice(0, 6).join(', ')}</span>}
            </span>
            <span className={tone}>{kind}</span>
          </li>
        ))}
        {rows.length > maxContracts && (
          <li className="muted">and {count(rows.length - maxContracts)} more</li>
        )}
      </ul>
      <p className="numbers">
        {agents.connected === 0
          ? `No connected agents use this bundle in ${impact.env}.`
          : isSame
            ? `${count(agents.running)} of ${counted(agents.connected, 'connected agent')} already ${agents.running === 1 ? 'runs' : 'run'} it.`
            : `${counted(agents.connected, 'connected agent')} ${agents.connected === 1 ? 'gets' : 'get'} it immediately${agents.running > 0 ? `; ${count(agents.running)} already ${agents.running === 1 ? 'runs' : 'run'} it` : ''}.`}
      </p>
      {agents.versions.length > 0 && (
        <p className="muted numbers">
          Currently{' '}
          {[
            ...agents.versions
              .filter(({ version }) => version !== null)
              .slice(0, 8)
              .map((one) => `${count(one.agents)} on v${one.version}`),
            ...(others > 0 ? [`${count(others)} on other documents`] : []),
            ...(agents.unknown > 0 ? [`${count(agents.unknown)} unknown`] : []),
          ].join(', ')}
          .
        </p>
      )}
    </>
  );
}
