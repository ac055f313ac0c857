// Bundles: the documents that agents load, version by version: what runs where, what each changed, deploy, roll back, take away.
import { type JSX, useMemo, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { problemsOf } from '../../lib/engine.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv, useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { Diff } from '../../ui/diff.tsx';
import { download } from '../../ui/download.ts';
import { Editor } from '../../ui/editor.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Answer, Button, Data, Empty, Env, Failed, Name, PageHead, Select, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Problems } from '../contracts/form.tsx';
import { starterBundle } from '../contracts/starters.ts';
import { DeployDialog, type DeploySource } from './deploy.tsx';

type Row = Reply<'listBundles'>[number];

const columns: readonly Column<Row>[] = [
  {
    key: 'name',
    label: 'Bundle',
    width: 2,
    sort: (row) => row.name,
    cell: (row) => <Name text={row.name} />,
  },
  {
    key: 'latest',
    label: 'Latest',
    number: true,
    sort: (row) => row.latest_version,
    cell: (row) => `v${row.latest_version}`,
  },
  {
    key: 'contracts',
    label: 'Contracts',
    number: true,
    sort: (row) => row.contract_count ?? -1,
    cell: (row) => row.contract_count ?? '–',
  },
  {
    key: 'envs',
    label: 'Deployed to',
    width: 2.4,
    sort: (row) => row.deployed_envs.join(' '),
    cell: (row) =>
      row.deployed_envs.length === 0 ? (
        <span className="muted">nowhere</span>
      ) : (
        row.deployed_envs.map((env) => <Env key={env} of={env} />)
      ),
  },
  {
    key: 'deployed',
    label: 'Last deployed',
    width: 1.2,
    sort: (row) => Date.parse(row.last_deployed_at ?? '') || 0,
    text: (row) => row.last_deployed_at ?? '',
    cell: (row) => <Time at={row.last_deployed_at} />,
  },
  {
    key: 'updated',
    label: 'Uploaded',
    width: 1.2,
    sort: (row) => Date.parse(row.last_updated),
    text: (row) => row.last_updated,
    cell: (row) => <Time at={row.last_updated} />,
  },
];

export default function Bundles(): JSX.Element {
  const env = useEnv();
  const [{ id }, change] = useFilters();
  const [uploading, setUploading] = useState(false);
  const found = useCall('listBundles', { query: { limit: 1000 } });
  const rows = (found.data ?? []).filter((row) => !env || row.deployed_envs.includes(env));
  return (
    <div className="page">
      <PageHead
        title="Bundles"
        says={found.data && `${counted(rows.length, 'bundle')} ${env ? `deployed to ${env}` : 'in the hub'}.`}
      >
        <Button kind="primary" icon="upload" onClick={() => setUploading(true)}>
          Upload bundle
        </Button>
      </PageHead>
      <Answer of={found}>
        {() =>
          rows.length === 0 ? (
            <Empty title={env ? `Nothing is deployed to ${env}` : 'There is no bundle yet'}>
              <p>Deploy a composition, or upload a bundle of your own.</p>
            </Empty>
          ) : (
            <Table
              name="bundles"
              rows={rows}
              columns={columns}
              keyOf={(row) => row.name}
              chosen={id}
              onOpen={(row) => change({ id: row.name }, true)}
            />
          )
        }
      </Answer>
      <Dialog
        title={`Bundle ${id ?? ''}`}
        shape="panel"
        open={id !== undefined}
        onClose={() => change({ id: undefined }, true)}
      >
        {id !== undefined && <Detail key={id} name={id} />}
      </Dialog>
      <Upload open={uploading} onClose={() => setUploading(false)} />
    </div>
  );
}

function Upload({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): JSX.Element {
  const [text, setText] = useState(starterBundle);
  const upload = useAction('uploadBundle', ['listBundles', 'listBundleVersions']);
  const problems = useMemo(() => problemsOf(text), [text]);
  const done = ({ name, version }: Reply<'uploadBundle'>): void => {
    say(`${name} v${version} is stored. Deploy it to bring it to agents.`, 'allow');
    onClose();
  };
  return (
    <Dialog title="Upload bundle" shape="wide" open={open} onClose={onClose}>
      {open && <Editor label="Bundle as YAML" value={text} onValue={setText} problems={problems} />}
      <Problems of={problems} />
      {upload.error && <Failed error={upload.error} />}
      <div className="decide-buttons">
        <Button
          kind="primary"
          busy={upload.isPending}
          onClick={() => upload.mutate({ body: { yaml_content: text } }, { onSuccess: done })}
        >
          Upload bundle
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </Dialog>
  );
}

function Detail({ name }: { readonly name: string }): JSX.Element {
  const versions = useCall('listBundleVersions', { params: { name }, query: { limit: 200 } });
  const history = useCall('listDeployments', { query: { bundle_name: name, limit: 200 } });
  const [source, setSource] = useState<DeploySource | null>(null);
  const [removing, setRemoving] = useState<Environment | null>(null);
  return (
    <>
      <section className="form">
        <h3>What runs where</h3>
        <Answer of={history} rows={3}>
          {(list) => (
            <ul className="feed">
              {envs.map((env) => {
                const own = list.filter((one) => one.env === env);
                const isThere = versions.data?.some((one) => one.deployed_envs.includes(env)) ?? false;
                const now = isThere ? own[0] : undefined;
                const before = now && own.find((one) => one.bundle_version !== now.bundle_version);
                return (
                  <li key={env} className="feed-row">
                    <span>
                      <Env of={env} />{' '}
                      {now ? (
                        <>
                          runs v{now.bundle_version}, since <Time at={now.created_at} /> by{' '}
                          <Data text={now.deployed_by} mono={false} max={60} />
                        </>
                      ) : (
                        <span className="muted">does not have it</span>
                      )}
                    </span>
                    {now && (
                      <span className="decide-buttons">
                        {before && (
                          <Button
                            onClick={() =>
                              setSource({ kind: 'bundle', name, version: before.bundle_version, env })
                            }
                          >
                            Roll back to v{before.bundle_version}
                          </Button>
                        )}
                        <Button kind="quiet" onClick={() => setRemoving(env)}>
                          Undeploy
                        </Button>
                      </span>
                    )}
                  </li>
                );
              })}
            </ul>
          )}
        </Answer>
      </section>
      <Answer of={versions} rows={4}>
        {(list) => (
          <>
            <section className="form">
              <h3>Versions</h3>
              <ul className="feed">
                {list.map((one) => (
                  <li key={one.id} className="feed-row">
                    <span>
                      <strong>v{one.version}</strong> by <Data text={one.uploaded_by} mono={false} max={60} />{' '}
                      <Time at={one.created_at} className="muted" />{' '}
                      {one.deployed_envs.map((env) => (
                        <Env key={env} of={env} />
                      ))}
                    </span>
                    <Button onClick={() => setSource({ kind: 'bundle', name, version: one.version })}>
                      Deploy v{one.version}
                    </Button>
                  </li>
                ))}
              </ul>
            </section>
            <Compare name={name} versions={list.map(({ version }) => version)} />
          </>
        )}
      </Answer>
      <DeployDialog source={source} onClose={() => setSource(null)} />
      <Undeploy name={name} env={removing} onClose={() => setRemoving(null)} />
    </>
  );
}

function Compare({
  name,
  versions,
}: {
  readonly name: string;
  readonly versions: readonly number[];
}): JSX.Element {
  const [left, setLeft] = useState(String(versions[1] ?? versions[0] ?? 1));
  const [right, setRight] = useState(String(versions[0] ?? 1));
  const before = useCall('getBundleYaml', { params: { name, version: left } });
  const after = useCall('getBundleYaml', { params: { name, version: right } });
  const options = versions.map((version) => [String(version), `v${version}`] as const);
  return (
    <section className="form">
      <h3>What a version changed</h3>
      <div className="filter-bar">
        <Select label="From" value={left} options={options} onValue={setLeft} />
        <Select label="To" value={right} options={options} onValue={setRight} />
        <Button
          icon="download"
          disabled={after.data === undefined}
          onClick={() => download(`${name}-v${right}.yaml`, 'application/yaml', after.data ?? '')}
        >
          YAML of v{right}
        </Button>
      </div>
      <Answer of={after} rows={4}>
        {(text) =>
          before.data === undefined ? null : left === right ? (
            <Editor label={`YAML of version ${right}`} value={text} />
          ) : (
            <Diff before={before.data} after={text} />
          )
        }
      </Answer>
    </section>
  );
}

function Undeploy({
  name,
  env,
  onClose,
}: {
  readonly name: string;
  readonly env: Environment | null;
  readonly onClose: () => void;
}): JSX.Element {
  const remove = useAction('undeployBundle', [
    'listBundles',
    'listBundleVersions',
    'listDeployments',
    'currentBundle',
  ]);
  const done = (): void => {
    say(`${name} is no longer deployed to ${env}.`, 'allow');
    onClose();
  };
  return (
    <Dialog title="Undeploy bundle" open={env !== null} onClose={onClose}>
      <p>
        {env} no longer has <Data text={name} max={120} />. Connected agents keep the last document they have;
        new ones get none.
      </p>
      {remove.error && <Failed error={remove.error} />}
      <div className="decide-buttons">
        <Button
          kind="danger"
          busy={remove.isPending}
          onClick={() => env && remove.mutate({ query: { env, bundle_name: name } }, { onSuccess: done })}
        >
          Undeploy from {env}
        </Button>
        <Button onClick={onClose}>Keep it</Button>
      </div>
    </Dialog>
  );
}
