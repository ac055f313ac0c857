// Rulesets: the documents of the hosted API, version by version: what runs where, what each changed, saved, deployed, taken back.

import { type JSX, useMemo, useState } from 'react';
import type { z } from 'zod';
import type { rulesetDetail, rulesetVersion } from '../../../api/hosted/rulesets.ts';
import { problemsOf } from '../../lib/engine.ts';
import { useHosted, useHostedAction, useHostedLive } from '../../lib/hosted.ts';
import { envs, useEnv, useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { Diff } from '../../ui/diff.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import {
  Answer,
  Button,
  Data,
  Empty,
  Env,
  Failed,
  Field,
  Name,
  PageHead,
  Select,
  Time,
} from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Problems } from '../contracts/form.tsx';

interface Summary {
  readonly name: string;
  readonly latest_version: number;
  readonly version_count: number;
  readonly rule_count: number | null;
  readonly deployed: readonly {
    readonly env: string;
    readonly version: number;
    readonly deployed_at: string;
  }[];
  readonly updated_at: string;
}
type Version = z.output<typeof rulesetVersion>;
type Detail = z.output<typeof rulesetDetail>;

const root = '/v1/rulesets';
const pathOf = (name: string): string => `${root}/${encodeURIComponent(name)}`;

const columns: readonly Column<Summary>[] = [
  {
    key: 'name',
    label: 'Ruleset',
    width: 2,
    sort: (one) => one.name,
    cell: (one) => <Name text={one.name} />,
  },
  {
    key: 'latest',
    label: 'Latest',
    number: true,
    sort: (one) => one.latest_version,
    cell: (one) => `v${one.latest_version}`,
  },
  {
    key: 'rules',
    label: 'Rules',
    number: true,
    sort: (one) => one.rule_count ?? -1,
    cell: (one) => one.rule_count ?? '–',
  },
  {
    key: 'envs',
    label: 'Deployed to',
    width: 2.4,
    sort: (one) => one.deployed.map(({ env }) => env).join(' '),
    cell: (one) =>
      one.deployed.length === 0 ? (
        <span className="muted">nowhere</span>
      ) : (
        one.deployed.map(({ env, version }) => <Env key={env} of={`${env} v${version}`} />)
      ),
  },
  {
    key: 'at',
    label: 'Changed',
    width: 1.1,
    sort: (one) => Date.parse(one.updated_at),
    text: (one) => one.updated_at,
    cell: (one) => <Time at={one.updated_at} />,
  },
];

export default function Rulesets(): JSX.Element {
  const [{ id }, change] = useFilters();
  const [saving, setSaving] = useState(false);
  const found = useHosted<{ readonly rulesets: readonly Summary[]; readonly has_more: boolean }>(root, {
    limit: 200,
  });
  useHostedLive(root, ['bundle_uploaded', 'bundle_deployed']);
  return (
    <div className="page">
      <PageHead
        title="Rulesets"
        says={
          found.data &&
          `${counted(found.data.rulesets.length, 'ruleset')}${found.data.has_more ? ' and more' : ''}.`
        }
      >
        <Button kind="primary" icon="plus" onClick={() => setSaving(true)}>
          New ruleset
        </Button>
      </PageHead>
      <Answer of={found}>
        {({ rulesets }) =>
          rulesets.length === 0 ? (
            <Empty title="There is no ruleset yet">
              <p>Agents of the hosted API load rulesets. Save one here, or with PUT /v1/rulesets/NAME.</p>
            </Empty>
          ) : (
            <Table
              name="rulesets"
              rows={rulesets}
              columns={columns}
              keyOf={(one) => one.name}
              chosen={id}
              onOpen={(one) => change({ id: one.name }, true)}
            />
          )
        }
      </Answer>
      <Dialog
        title={`Ruleset ${id ?? ''}`}
        shape="panel"
        open={id !== undefined}
        onClose={() => change({ id: undefined }, true)}
      >
        {id !== undefined && <One key={id} name={id} />}
      </Dialog>
      <Dialog title="New ruleset" shape="wide" open={saving} onClose={() => setSaving(false)}>
        {saving && <Save onDone={() => setSaving(false)} />}
      </Dialog>
    </div>
  );
}

const first = `apiVersion: service/v1
kind: Ruleset
metadata:
  name: starter
defaults:
  mode: enforce
rules:
  - id: no-secrets
    type: pre
    tool: read_file
    when:
      args.path: { contains_any: [".env", "id_rsa"] }
    then:
      action: block
      message: "Secrets stay where they are"
`;

/** Saves a document as the next version; where an environment is chosen it is deployed with the same call. */
function Save({ of, onDone }: { readonly of?: Detail; readonly onDone: () => void }): JSX.Element {
  const chosen = useEnv();
  const [name, setName] = useState(of?.name ?? 'starter');
  const [text, setText] = useState(of?.yaml_content ?? first);
  const [env, setEnv] = useState<string>(of ? '' : (chosen ?? ''));
  const put = useHostedAction<Version>(root);
  const problems = useMemo(() => problemsOf(text), [text]);
  const save = (): void =>
    put.mutate(
      { path: pathOf(name), method: 'PUT', yaml: text, query: env === '' ? { deploy: 'false' } : { env } },
      {
        onSuccess: ({ version }) => {
          say(`${name} v${version} is saved${env === '' ? '' : ` and deployed to ${env}`}.`, 'allow');
          onDone();
        },
      },
    );
  return (
    <>
      {!of && <Field label="Name" value={name} onValue={setName} />}
      <Editor label="Ruleset as YAML" value={text} onValue={setText} problems={problems} />
      <Problems of={problems} />
      <Select
        label="Deploy it to"
        value={env}
        options={[['', 'Nowhere yet'], ...envs.map((one) => [one, one] as const)]}
        onValue={setEnv}
      />
      {put.error && <Failed error={put.error} />}
      <div className="decide-buttons">
        <Button kind="primary" busy={put.isPending} onClick={save}>
          {env === '' ? 'Save ruleset' : `Deploy to ${env}`}
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </>
  );
}

function One({ name }: { readonly name: string }): JSX.Element {
  const newest = useHosted<Detail>(pathOf(name));
  const versions = useHosted<{ readonly versions: readonly Version[] }>(`${pathOf(name)}/versions`, {
    limit: 200,
  });
  const deploy = useHostedAction<unknown>(root);
  const [editing, setEditing] = useState(false);
  const [plan, setPlan] = useState<{ readonly version: number; readonly env: string } | null>(null);
  if (editing && newest.data) return <Save of={newest.data} onDone={() => setEditing(false)} />;
  return (
    <>
      <div>
        <Button kind="primary" disabled={!newest.data} onClick={() => setEditing(true)}>
          Edit ruleset
        </Button>
      </div>
      {deploy.error && <Failed error={deploy.error} />}
      <Answer of={versions} rows={4}>
        {({ versions: list }) => (
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
                    <span className="decide-buttons">
                      {envs
                        .filter((env) => !one.deployed_envs.includes(env))
                        .map((env) => {
                          const runs = list.find((other) => other.deployed_envs.includes(env));
                          const back = runs !== undefined && runs.version > one.version;
                          return (
                            <Button
                              key={env}
                              kind="quiet"
                              onClick={() => setPlan({ version: one.version, env })}
                            >
                              {back ? `Roll back ${env}` : `Deploy to ${env}`}
                            </Button>
                          );
                        })}
                    </span>
                  </li>
                ))}
              </ul>
            </section>
            <Compare name={name} versions={list.map(({ version }) => version)} />
          </>
        )}
      </Answer>
      <Dialog title={`Deploy ${name}`} open={plan !== null} onClose={() => setPlan(null)}>
        <p>
          {plan?.env} runs v{plan?.version} of <Data text={name} max={120} /> then. Connected agents get it at
          once.
        </p>
        <div className="decide-buttons">
          <Button
            kind="primary"
            busy={deploy.isPending}
            onClick={() =>
              plan &&
              deploy.mutate(
                {
                  path: `${pathOf(name)}/versions/${plan.version}/deploy`,
                  method: 'POST',
                  query: { env: plan.env },
                },
                {
                  onSettled: () => setPlan(null),
                  onSuccess: () => say(`${name} v${plan.version} is deployed to ${plan.env}.`, 'allow'),
                },
              )
            }
          >
            Deploy v{plan?.version} to {plan?.env}
          </Button>
          <Button onClick={() => setPlan(null)}>Cancel</Button>
        </div>
      </Dialog>
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
  const [left, setLeft] = useState('');
  const [right, setRight] = useState('');
  const from = left || String(versions[1] ?? versions[0] ?? 1);
  const to = right || String(versions[0] ?? 1);
  const before = useHosted<Detail>(`${pathOf(name)}/versions/${from}`);
  const after = useHosted<Detail>(`${pathOf(name)}/versions/${to}`);
  const options = versions.map((version) => [String(version), `v${version}`] as const);
  return (
    <section className="form">
      <h3>What a version changed</h3>
      <div className="filter-bar">
        <Select label="From" value={from} options={options} onValue={setLeft} />
        <Select label="To" value={to} options={options} onValue={setRight} />
      </div>
      <Answer of={after} rows={4}>
        {({ yaml_content: text }) =>
          before.data === undefined ? null : from === to ? (
            <Editor label={`YAML of version ${to}`} value={text} />
          ) : (
            <Diff before={before.data.yaml_content} after={text} />
          )
        }
      </Answer>
    </section>
  );
}
