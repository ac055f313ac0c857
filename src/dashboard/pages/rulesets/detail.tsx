// One ruleset: its versions, their texts and differences, its deployments, and the actions on them.

import { type JSX, useState } from 'react';
import type { HostedReply } from '../../lib/hosted.ts';
import { useHosted, useHostedAction } from '../../lib/hosted-query.ts';
import { useCall } from '../../lib/query.ts';
import { useRefused } from '../../lib/refused.ts';
import { type Env as Environment, envs, useFilters } from '../../lib/search.ts';
import { count, counted, visible } from '../../lib/text.ts';
import { unableIn } from '../../lib/unable.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { countColumn, timeColumn } from '../../ui/columns.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Env, Name, Select, Time } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useRemainingAgentsText } from '../bundles/remaining-agents.ts';
import { SameVersions } from '../bundles/same-versions.tsx';
import { UnchangedGuard } from '../changes/unchanged.tsx';
import { ForceForm } from './force.tsx';
import { RulesetForm } from './form.tsx';
import { VersionReplay } from './replay.tsx';

type Version = HostedReply<'hostedRulesetVersions'>['versions'][number];

const newest = 200;

export function RulesetDetail({ name }: { readonly name: string }): JSX.Element {
  const rulesetVersionsQuery = useHosted('hostedRulesetVersions', {
    params: { name },
    query: { limit: newest },
  });
  const [{ version }, change] = useFilters();
  const [editing, setEditing] = useState(false);
  return (
    <QueryResult query={rulesetVersionsQuery} rows={8}>
      {({ versions, has_more: more }) => {
        const chosen = versions.find((one) => String(one.version) === version) ?? versions[0];
        if (!chosen) return <p>This ruleset has no versions. Save a new version to create one.</p>;
        return (
          <>
            <h2 className="panel-name">
              <Data text={name} max={200} />
            </h2>
            <Runs versions={versions} name={name} />
            <div className="decide-buttons starters">
              <Select
                compact
                label="Version"
                value={String(chosen.version)}
                options={versions.map((one) => [
                  String(one.version),
                  `v${one.version}${one.deployed_envs.length > 0 ? ` (${one.deployed_envs.join(', ')})` : ''}`,
                ])}
                onValue={(next) => change({ version: next }, true)}
              />
              {more && <span className="muted">latest {newest}</span>}
              <Deploy name={name} version={chosen} versions={versions} />
              <ActButton operation="hostedPutRuleset" onClick={() => setEditing(true)}>
                Edit as new version
              </ActButton>
            </div>
            <p className="muted">
              Saved <Time at={chosen.created_at} /> by{' '}
              <Data text={chosen.uploaded_by} mono={false} max={80} />, {count(chosen.size_bytes)} bytes,
              SHA-256 <Data text={chosen.revision_hash} max={24} />
              {chosen.key_id && (
                <>
                  , signed by the key <Data text={chosen.key_id} max={24} />
                </>
              )}
              .
            </p>
            <Text name={name} version={chosen.version} versions={versions} />
            <section className="form">
              <h2>Versions</h2>
              <Table
                name="versions of a ruleset"
                sortAs="versions_sort"
                rows={versions}
                columns={versionColumns(versions, chosen.version, (next) =>
                  change({ version: String(next) }, true),
                )}
                keyOf={(one) => String(one.version)}
                bar={<span className="muted">{counted(versions.length, 'version')}</span>}
              />
            </section>
            <Dialog title="Edit ruleset" shape="wide" open={editing} onClose={() => setEditing(false)}>
              <RulesetForm
                name={name}
                onDone={() => {
                  setEditing(false);
                  change({ version: undefined }, true);
                }}
              />
            </Dialog>
          </>
        );
      }}
    </QueryResult>
  );
}

const versionColumns = (
  versions: readonly Version[],
  visibleVersion: number,
  show: (version: number) => void,
): readonly Column<Version>[] => [
  {
    key: 'version',
    label: 'Version',
    sort: (one) => one.version,
    cell: (one) => (
      <>
        <Button kind="quiet" aria-pressed={one.version === visibleVersion} onClick={() => show(one.version)}>
          Show v{one.version}
        </Button>{' '}
        <SameVersions version={one} among={versions} />
      </>
    ),
  },
  {
    key: 'envs',
    label: 'Runs in',
    width: 1.5,
    sort: (one) => one.deployed_envs.join(', '),
    cell: (one) => one.deployed_envs.map((env) => <Env key={env} name={env} />),
  },
  timeColumn('saved', 'Saved', (one) => one.created_at, 1.2),
  {
    key: 'by',
    label: 'Saved by',
    width: 1.5,
    sort: (one) => one.uploaded_by,
    cell: (one) => <Name mono={false} text={one.uploaded_by} />,
  },
  countColumn('bytes', 'Bytes', (one) => one.size_bytes),
];

const runsIn = (versions: readonly Version[], env: Environment): number | null =>
  versions.find(({ deployed_envs: deployed }) => deployed.includes(env))?.version ?? null;

function Runs({
  versions,
  name,
}: {
  readonly versions: readonly Version[];
  readonly name: string;
}): JSX.Element {
  const undeploy = useHostedAction('hostedUndeployRuleset', ['hostedListRulesets', 'hostedRulesetVersions']);
  const [from, setFrom] = useState<Environment | null>(null);
  // Rulesets are deployed like bundles, so both share a history.
  const history = useCall(
    'listDeployments',
    { query: { bundle_name: name, env: from ?? 'production', limit: 1 } },
    { enabled: from !== null },
  );
  const remainingAgents = useRemainingAgentsText((from !== null && history.data?.[0]?.id) || null);
  const running = envs.filter((env) => runsIn(versions, env) !== null);
  return (
    <section className="form" aria-label="Deployments">
      <ul className="feed">
        {running.map((env) => (
          <li key={env} className="feed-row">
            <span>
              <Env name={env} /> runs v{runsIn(versions, env)}
            </span>
            <ActButton
              operation="hostedUndeployRuleset"
              envs={[env]}
              kind="quiet"
              aria-label={`Undeploy from ${env}`}
              onClick={() => setFrom(env)}
            >
              Undeploy
            </ActButton>
          </li>
        ))}
      </ul>
      {running.length === 0 && (
        <p className="muted">Not deployed to any environment. Select a version to deploy it.</p>
      )}
      <Confirm
        title="Undeploy ruleset"
        open={from !== null}
        onClose={() => setFrom(null)}
        by={undeploy}
        act={<>Undeploy from {from}</>}
        onAct={() =>
          from &&
          undeploy.mutate({ params: { name }, query: { env: from } }, { onSuccess: () => setFrom(null) })
        }
      >
        <p>
          Undeploying removes <Data text={name} max={120} /> v{from && runsIn(versions, from)} from {from}.{' '}
          {remainingAgents}; new agents get none.
        </p>
      </Confirm>
    </section>
  );
}

function Deploy({
  name,
  version,
  versions,
}: {
  readonly name: string;
  readonly version: Version;
  readonly versions: readonly Version[];
}): JSX.Element {
  const deploy = useHostedAction('hostedDeployRuleset', ['hostedListRulesets', 'hostedRulesetVersions']);
  const [open, setOpen] = useState(false);
  const [env, setEnv] = useState<Environment>('production');
  const isRefused = useRefused(deploy.error?.status === 422, env);
  const before = runsIn(versions, env);
  const isBack = before !== null && before > version.version;
  const isSame = versions.some(
    (one) => one.version === before && one.revision_hash === version.revision_hash,
  );
  const go = (forcedFor: string | null): void =>
    deploy.mutate(
      {
        params: { name, version: version.version },
        query: { env, ...(forcedFor === null ? {} : { force: true, reason: forcedFor }) },
      },
      {
        onSuccess: ({ warnings }) => {
          setOpen(false);
          say(`${name} v${version.version} deployed to ${env}.`, 'allow');
          const unable = unableIn(warnings);
          if (unable !== null) say(unable, 'deny');
        },
      },
    );
  return (
    <>
      <ActButton operation="hostedDeployRuleset" kind="primary" onClick={() => setOpen(true)}>
        Deploy v{version.version}
      </ActButton>
      <Dialog title="Deploy ruleset" shape="wide" open={open} onClose={() => setOpen(false)}>
        <Select
          label="Environment to deploy to"
          value={env}
          options={envs.map((one) => [one, one] as const)}
          onValue={(next) => setEnv(next as Environment)}
        />
        <p>
          {before === null
            ? `This ruleset is not deployed to ${env}.`
            : isSame
              ? `${env} already runs ${before === version.version ? '' : 'the same document, as '}v${before}.`
              : `${env} currently runs v${before}${isBack ? ', a later version' : ''}. Changes:`}
        </p>
        {before !== null && !isSame && (
          <>
            <Compared name={name} before={before} after={version.version} />
            <VersionReplay
              key={`${env} ${before}`}
              name={name}
              base={before}
              candidate={version.version}
              env={env}
            />
          </>
        )}
        {deploy.error && <Failed error={deploy.error} />}
        <div className="decide-buttons">
          <UnchangedGuard
            key={env}
            isUnchanged={isSame}
            state={`${env} already runs this document, as v${before}.`}
          >
            {(guard) => (
              <ActButton
                operation="hostedDeployRuleset"
                envs={[env]}
                kind="primary"
                busy={deploy.isPending}
                onClick={() => guard(() => go(null))}
              >
                {isBack ? 'Roll back' : 'Deploy'} v{version.version} to {env}
              </ActButton>
            )}
          </UnchangedGuard>
          <Button onClick={() => setOpen(false)}>Cancel</Button>
        </div>
        {isRefused && <ForceForm action="Deploy despite errors" busy={deploy.isPending} onForce={go} />}
      </Dialog>
    </>
  );
}

function Text({
  name,
  version,
  versions,
}: {
  readonly name: string;
  readonly version: number;
  readonly versions: readonly Version[];
}): JSX.Element {
  const [other, setOther] = useState('');
  const rulesetVersionQuery = useHosted('hostedRulesetVersion', { params: { name, version } });
  return (
    <section className="form" aria-label="Document">
      <div className="card-head">
        <h2>{other === '' ? 'Content' : 'Changes'}</h2>
        <Select
          compact
          label="Compare with"
          value={other}
          options={[
            ['', 'Compare with…'],
            ...versions
              .filter((one) => one.version !== version)
              .map((one) => [String(one.version), `v${one.version}`] as const),
          ]}
          onValue={setOther}
        />
      </div>
      {other !== '' && Number(other) !== version ? (
        <>
          <Compared name={name} before={Number(other)} after={version} />
          <VersionReplay key={`${other} ${version}`} name={name} base={Number(other)} candidate={version} />
        </>
      ) : (
        <QueryResult query={rulesetVersionQuery} rows={8}>
          {({ yaml_content: text }) => (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
            <section className="code" tabIndex={0} aria-label={`v${version} as YAML`}>
              <pre>{visible(text)}</pre>
            </section>
          )}
        </QueryResult>
      )}
    </section>
  );
}

function Compared(props: {
  readonly name: string;
  readonly before: number;
  readonly after: number;
}): JSX.Element {
  const { name } = props;
  const before = useHosted('hostedRulesetVersion', { params: { name, version: props.before } });
  const after = useHosted('hostedRulesetVersion', { params: { name, version: props.after } });
  return (
    <QueryResult query={before} rows={4}>
      {(old) => (
        <QueryResult query={after} rows={4}>
          {(next) => <Diff before={old.yaml_content} after={next.yaml_content} />}
        </QueryResult>
      )}
    </QueryResult>
  );
}
