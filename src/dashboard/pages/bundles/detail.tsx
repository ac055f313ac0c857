// One bundle: its deployments, its versions with their changes, and the actions deploy, roll back and undeploy.
import { useNavigate } from '@tanstack/react-router';
import { type JSX, type ReactNode, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { type ChangeLink, changeTo } from '../../lib/change-link.ts';
import { useCommand } from '../../lib/commands.ts';
import { useRefusal } from '../../lib/may.ts';
import { useCall } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { envsColumn, proseColumn, timeColumn } from '../../ui/columns.tsx';
import { Diff } from '../../ui/diff.tsx';
import { download } from '../../ui/download.ts';
import { Editor } from '../../ui/editor.tsx';
import { Select } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Button, Data, Env, Time } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { QuerySection, Section } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { thingPage } from '../../ui/thing-page.tsx';
import { PlainChangeButton } from '../changes/change-button.tsx';
import { RolloutLine } from '../changes/rollout.tsx';
import { ReplayPanel } from './replay.tsx';
import { SameVersions } from './same-versions.tsx';

function BundleDetail({ id: name }: { readonly id: string }): JSX.Element {
  const versions = useCall('listBundleVersions', { params: { name }, query: { limit: 200 } });
  const history = useCall('listDeployments', { query: { bundle_name: name, limit: 200 } });
  const navigate = useNavigate();
  const go = (link: ChangeLink): void => void navigate({ ...link });
  const runs = runningOf(versions.data, history.data);
  const newest = versions.data?.[0]?.version;
  useCommand('deploy', newest === undefined ? null : () => go(changeTo.bundle(name, newest)), { of: name });
  // Without a selected environment: the first one with a deployment, production before the others.
  const inEnv = (env: string): Running | undefined => runs?.find((one) => env === '' || one.env === env);
  const back = runs?.find(({ before }) => before !== undefined);
  useCommand(
    'rollBack',
    runs &&
      ((env) => {
        const one = env === '' ? back : inEnv(env);
        if (one?.before === undefined) say(`No other version was deployed to ${env} before.`);
        else go(changeTo.bundle(name, one.before, one.env));
      }),
    { of: name, why: back ? null : 'no other version was deployed before' },
  );
  useCommand(
    'undeploy',
    runs &&
      ((env) => {
        const one = inEnv(env);
        if (one) go(changeTo.undeploy(name, one.env));
      }),
    { of: name, why: runs?.length === 0 ? 'not deployed to any environment' : null },
  );
  return (
    <>
      <QuerySection title="Deployments" query={history} rows={3}>
        {(list) => (
          <ul className="feed">
            {envs.map((env) => {
              const own = list.filter((one) => one.env === env);
              const isThere = versions.data?.some((one) => one.deployed_envs.includes(env)) ?? false;
              const now = isThere ? own[0] : undefined;
              const before = now && own.find((one) => one.bundle_version !== now.bundle_version);
              return <DeploymentRow key={env} name={name} env={env} now={now} before={before} />;
            })}
          </ul>
        )}
      </QuerySection>
      <QueryResult query={versions} rows={4}>
        {(list) => (
          <>
            <Section title="Versions">
              <Table
                name="versions of a bundle"
                sortAs="versions_sort"
                rows={list}
                columns={versionColumns(list, name)}
                keyOf={(one) => one.id}
                bar={counted(list.length, 'version')}
              />
            </Section>
            <Compare name={name} versions={list.map(({ version }) => version)} />
          </>
        )}
      </QueryResult>
    </>
  );
}

type Deployment = Reply<'listDeployments'>[number];

/** The deployment of a bundle to an environment, and its actions. */
function DeploymentRow({
  name,
  env,
  now,
  before,
}: {
  readonly name: string;
  readonly env: Environment;
  readonly now: Deployment | undefined;
  /** The newest deployment of another version. */
  readonly before: Deployment | undefined;
}): JSX.Element {
  return (
    <li className="feed-row">
      <span>
        <Env name={env} />{' '}
        {now ? (
          <>
            runs v{now.bundle_version}, deployed <Time at={now.created_at} /> by{' '}
            <Data text={now.deployed_by} mono={false} max={60} />
            {now.forced && <span className="tone-deny">, forced</span>}
            {now.reason && <Data before=": " text={now.reason} mono={false} max={200} />}
            <br />
            <RolloutLine id={now.id} version={now.bundle_version} />
          </>
        ) : (
          <span className="muted">not deployed</span>
        )}
      </span>
      {now && (
        <span className="decide-buttons">
          {before && (
            <ActLink
              operation="deployBundle"
              env={env}
              link={changeTo.bundle(name, before.bundle_version, env)}
            >
              Roll back to v{before.bundle_version}
            </ActLink>
          )}
          <ActLink
            operation="undeployBundle"
            env={env}
            label={`Undeploy from ${env}`}
            link={changeTo.undeploy(name, env)}
          >
            Undeploy
          </ActLink>
        </span>
      )}
    </li>
  );
}

type Version = Reply<'listBundleVersions'>[number];

/** A current deployment. */
interface Running {
  readonly env: Environment;
  readonly id: string;
  readonly version: number;
  /** The version before it; undefined for none. */
  readonly before: number | undefined;
}

/** The environments with a deployment; null while they load. */
function runningOf(
  versions: readonly Version[] | undefined,
  history: Reply<'listDeployments'> | undefined,
): readonly Running[] | null {
  if (!versions || !history) return null;
  return envs.flatMap((env) => {
    if (!versions.some((one) => one.deployed_envs.includes(env))) return [];
    const own = history.filter((one) => one.env === env);
    const [now] = own;
    if (now === undefined) return [];
    const { id, bundle_version: version } = now;
    return { env, id, version, before: own.find((one) => one.bundle_version !== version)?.bundle_version };
  });
}

const versionColumns = (versions: readonly Version[], name: string): readonly Column<Version>[] => [
  {
    key: 'version',
    label: 'Version',
    width: 1.3,
    sort: (one) => one.version,
    cell: (one) => (
      <>
        <strong>v{one.version}</strong> <SameVersions version={one} among={versions} />
      </>
    ),
  },
  {
    key: 'actions',
    label: 'Actions',
    width: 1.9,
    cell: (one) => (
      <ActLink operation="deployBundle" link={changeTo.bundle(name, one.version)}>
        Deploy v{one.version}
      </ActLink>
    ),
  },
  envsColumn('')('envs', 'Runs in', (one) => one.deployed_envs, 1.6),
  timeColumn('made', 'Uploaded', (one) => one.created_at, 1.1),
  proseColumn('by', 'Uploaded by', (one) => one.uploaded_by, 1.6),
];

function Compare({ name, versions }: Readonly<{ name: string; versions: readonly number[] }>): JSX.Element {
  const [left, setLeft] = useState(String(versions[1] ?? versions[0] ?? 1));
  const [right, setRight] = useState(String(versions[0] ?? 1));
  const env = useEnv() ?? 'production';
  const before = useCall('getBundleYaml', { params: { name, version: left } });
  const after = useCall('getBundleYaml', { params: { name, version: right } });
  const options = versions.map((version) => [String(version), `v${version}`] as const);
  return (
    <Section title="Compare versions">
      <div className="filter-bar">
        <Select label="From" value={left} options={options} onValue={setLeft} />
        <Select label="To" value={right} options={options} onValue={setRight} />
        <Button
          icon="download"
          disabled={after.data === undefined}
          onClick={() => download(`${name}-v${right}.yaml`, 'application/yaml', after.data ?? '')}
        >
          Download v{right}
        </Button>
      </div>
      <QueryResult query={after} rows={4}>
        {(text) =>
          left === right ? (
            <Editor label={`YAML of version ${right}`} value={text} />
          ) : (
            <QueryResult query={before} rows={4}>
              {(old) => (
                <>
                  <Diff before={old} after={text} />
                  <ReplayPanel key={`${left} ${right} ${env}`} yaml={text} env={env} base={Number(left)} />
                </>
              )}
            </QueryResult>
          )
        }
      </QueryResult>
    </Section>
  );
}

function ActLink({
  operation,
  env,
  ...rest
}: {
  readonly operation: 'deployBundle' | 'undeployBundle';
  readonly env?: Environment;
  readonly label?: string;
  readonly link: ChangeLink;
  readonly children: ReactNode;
}): JSX.Element {
  const why = useRefusal(operation, env ? [env] : []);
  return <PlainChangeButton {...rest} why={why} />;
}

export default thingPage(
  'Bundle',
  { to: '/policies', view: 'documents', label: 'View all documents' },
  BundleDetail,
);
