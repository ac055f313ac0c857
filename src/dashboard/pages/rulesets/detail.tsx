// One ruleset: its versions, their texts and differences, its deployments, and the actions on them.
import { type JSX, useState } from 'react';
import { changeTo } from '../../lib/change-link.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { useHosted } from '../../lib/hosted-query.ts';
import { useRefusal } from '../../lib/may.ts';
import { type Env as Environment, envs, useFilters } from '../../lib/search.ts';
import { count, counted, visible } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { countColumn, envsColumn, proseColumn, timeColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Select } from '../../ui/form.tsx';
import { Button, Data, Env, Time } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Section } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { thingPage } from '../../ui/thing-page.tsx';
import { SameVersions } from '../bundles/same-versions.tsx';
import { PlainChangeButton } from '../changes/change-button.tsx';
import { RulesetForm } from './form.tsx';
import { VersionReplay } from './replay.tsx';

type Version = HostedReply<'hostedRulesetVersions'>['versions'][number];

const newest = 200;

function RulesetDetail({ id: name }: { readonly id: string }): JSX.Element {
  const rulesetVersionsQuery = useHosted('hostedRulesetVersions', {
    params: { name },
    query: { limit: newest },
  });
  const [{ version }, change] = useFilters();
  const [editing, setEditing] = useState(false);
  const refusal = useRefusal('deployBundle');
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
              <PlainChangeButton kind="primary" link={changeTo.bundle(name, chosen.version)} why={refusal}>
                Deploy v{chosen.version}
              </PlainChangeButton>
              <ActButton operation="hostedPutRuleset" onClick={() => setEditing(true)}>
                Edit as new version
              </ActButton>
            </div>
            <p className="muted">
              Saved <Time at={chosen.created_at} /> by{' '}
              <Data text={chosen.uploaded_by} mono={false} max={80} />, {count(chosen.size_bytes)} bytes,
              SHA-256 <Data text={chosen.revision_hash} max={24} />
              {chosen.key_id && <Data before=", signed by the key " text={chosen.key_id} max={24} />}.
            </p>
            <Text name={name} version={chosen.version} versions={versions} />
            <Section title="Versions">
              <Table
                name="versions of a ruleset"
                sortAs="versions_sort"
                rows={versions}
                columns={versionColumns(versions, chosen.version, (next) =>
                  change({ version: String(next) }, true),
                )}
                keyOf={(one) => String(one.version)}
                bar={counted(versions.length, 'version')}
              />
            </Section>
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
  envsColumn('')('envs', 'Runs in', (one) => one.deployed_envs, 1.5),
  timeColumn('saved', 'Saved', (one) => one.created_at, 1.2),
  proseColumn('by', 'Saved by', (one) => one.uploaded_by, 1.5),
  countColumn('bytes', 'Bytes', (one) => one.size_bytes),
];

const runsIn = (versions: readonly Version[], env: Environment): number | null =>
  versions.find(({ deployed_envs: deployed }) => deployed.includes(env))?.version ?? null;

function Runs({ versions, name }: Readonly<{ versions: readonly Version[]; name: string }>): JSX.Element {
  const refusals = {
    production: useRefusal('undeployBundle', ['production']),
    staging: useRefusal('undeployBundle', ['staging']),
    development: useRefusal('undeployBundle', ['development']),
  };
  const running = envs.filter((env) => runsIn(versions, env) !== null);
  return (
    <section className="form" aria-label="Deployments">
      <ul className="feed">
        {running.map((env) => (
          <li key={env} className="feed-row">
            <span>
              <Env name={env} /> runs v{runsIn(versions, env)}
            </span>
            <PlainChangeButton
              kind="quiet"
              link={changeTo.undeploy(name, env)}
              why={refusals[env]}
              label={`Undeploy from ${env}`}
            >
              Undeploy
            </PlainChangeButton>
          </li>
        ))}
      </ul>
      {running.length === 0 && (
        <p className="muted">Not deployed to any environment. Select a version to deploy it.</p>
      )}
    </section>
  );
}

function Text({
  name,
  version,
  versions,
}: Readonly<{ name: string; version: number; versions: readonly Version[] }>): JSX.Element {
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

export default thingPage(
  'Ruleset',
  { to: '/policies', view: 'documents', label: 'View all documents' },
  RulesetDetail,
);
