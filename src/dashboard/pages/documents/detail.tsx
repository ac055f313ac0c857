// The page of a document, one shape for bundles and rulesets: its deployments, its versions, and the text of one
// version, alone or compared with another one.
import { useNavigate } from '@tanstack/react-router';
import { type ComponentType, type JSX, useState } from 'react';
import { type ChangeLink, changeTo } from '../../lib/change-link.ts';
import { useCommand } from '../../lib/commands.ts';
import { useRefusal } from '../../lib/may.ts';
import { useCall } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv, useFilters } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { envsColumn, instantColumn, proseColumn } from '../../ui/columns.tsx';
import { Diff } from '../../ui/diff.tsx';
import { download } from '../../ui/download.ts';
import { Editor } from '../../ui/editor.tsx';
import { Select } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Button, Data, Env, Time } from '../../ui/parts.tsx';
import { QueryResult, type QueryState } from '../../ui/query-result.tsx';
import { QuerySection, Section } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { thingPage } from '../../ui/thing-page.tsx';
import { type ChangeButtonProps, PlainChangeButton } from '../changes/change-button.tsx';
import { RolloutLine } from '../changes/rollout.tsx';
import {
  type Deployment,
  type DocumentVersion,
  maxVersions,
  runningVersion,
  type UseVersions,
} from './versions.ts';

export interface VersionReplayProps {
  readonly name: string;
  readonly base: number;
  readonly candidate: number;
  /** The text of the candidate. */
  readonly yaml: string;
}

/** A vocabulary of documents: its routes, and its words on the page. */
export interface DocumentVocabulary {
  readonly noun: 'bundle' | 'ruleset';
  /** The API whose agents load such documents. */
  readonly api: '/api/v1' | '/v1';
  readonly created: 'Uploaded' | 'Saved';
  /** Labels of the choices of two versions. */
  readonly compareLabels: readonly [base: string, candidate: string];
  /** Columns of the versions beside the common ones. */
  readonly columns: readonly Column<DocumentVersion>[];
  readonly useVersions: UseVersions;
  readonly useText: (name: string, version: number) => QueryState<string>;
  /** Has a React key of the versions and the environment in the address, because a result belongs to them. */
  readonly Replay: ComponentType<VersionReplayProps>;
  /** The button that edits the newest version, and its form. */
  readonly Edit?: ComponentType<{ readonly name: string; readonly onSaved: () => void }>;
}

/** The page of one document. */
export const documentPage = (vocabulary: DocumentVocabulary): (() => JSX.Element) =>
  thingPage(
    vocabulary.noun === 'bundle' ? 'Bundle' : 'Ruleset',
    { to: '/policies', view: 'documents', label: 'View all documents' },
    ({ id }) => <DocumentDetail vocabulary={vocabulary} name={id} />,
  );

interface DetailProps {
  readonly vocabulary: DocumentVocabulary;
  readonly name: string;
}

function DocumentDetail({ vocabulary, name }: DetailProps): JSX.Element {
  const versions = vocabulary.useVersions(name);
  const history = useCall('listDeployments', { query: { bundle_name: name, limit: 200 } });
  const running = runningOf(versions.data, history.data);
  useDocumentCommands(name, versions.data?.[0]?.version, running);
  const [{ version }, change] = useFilters();
  const show = (next: number | undefined): void =>
    change({ version: next === undefined ? undefined : String(next) }, true);
  return (
    <QueryResult query={versions} rows={8}>
      {(list) => {
        const candidate = list.find((one) => String(one.version) === version) ?? list[0];
        return candidate === undefined ? (
          <p>This {vocabulary.noun} has no versions.</p>
        ) : (
          <>
            <p>
              <span className="tag">{vocabulary.api}</span>
            </p>
            <QuerySection title="Deployments" label query={history} rows={3}>
              {() => <Deployments name={name} running={running ?? []} />}
            </QuerySection>
            <Section title="Versions">
              <Table
                name={`versions of a ${vocabulary.noun}`}
                sortAs="versions_sort"
                rows={list}
                columns={versionColumns(vocabulary, name, list, candidate, show)}
                keyOf={(one) => String(one.version)}
                bar={
                  list.length === maxVersions
                    ? `newest ${maxVersions} versions`
                    : counted(list.length, 'version')
                }
              />
            </Section>
            <Text {...{ vocabulary, name, candidate, show }} versions={list} />
          </>
        );
      }}
    </QueryResult>
  );
}

/** The version that an environment runs. */
interface Running {
  readonly env: Environment;
  readonly version: number;
  /** Absent if newer deployments fill the history. */
  readonly deployment: Deployment | undefined;
  /** The version before it; undefined for none. */
  readonly before: number | undefined;
}

/** The environments with a deployment; null while they load. */
function runningOf(
  versions: readonly DocumentVersion[] | undefined,
  history: readonly Deployment[] | undefined,
): readonly Running[] | null {
  if (!versions || !history) return null;
  return envs.flatMap((env) => {
    const own = history.filter((one) => one.env === env);
    const [deployment] = own;
    const version = runningVersion(versions, env, deployment);
    if (version === undefined) return [];
    const before = own.find((one) => one.bundle_version !== version)?.bundle_version;
    return { env, version, deployment, before };
  });
}

/** Deploys the newest version, rolls back, and undeploys. */
function useDocumentCommands(
  name: string,
  newest: number | undefined,
  running: readonly Running[] | null,
): void {
  const navigate = useNavigate();
  const go = (link: ChangeLink): void => void navigate({ ...link });
  const chosenEnv = useEnv();
  // With all environments: the first one with a deployment, production before the others.
  const runningIn = (env: string | undefined): readonly Running[] =>
    (running ?? []).filter((one) => !env || one.env === env);
  const backIn = (env: string | undefined): Running | undefined =>
    runningIn(env).find(({ before }) => before !== undefined);
  const rollBack = (env: string): void => {
    const one = backIn(env || chosenEnv);
    if (one?.before === undefined) say(`No other version was deployed to ${env} before.`);
    else go(changeTo.bundle(name, one.before, one.env));
  };
  const undeploy = (env: string): void => {
    const [one] = runningIn(env || chosenEnv);
    if (one) go(changeTo.undeploy(name, one.env));
  };
  useCommand('deploy', newest === undefined ? null : () => go(changeTo.bundle(name, newest)), { of: name });
  useCommand('rollBack', running && rollBack, {
    of: name,
    why: backIn(chosenEnv)
      ? null
      : `no other version was deployed ${chosenEnv ? `to ${chosenEnv} ` : ''}before`,
  });
  useCommand('undeploy', running && undeploy, {
    of: name,
    why: runningIn(chosenEnv).length === 0 ? `not deployed to ${chosenEnv ?? 'any environment'}` : null,
  });
}

function Deployments({
  name,
  running,
}: Readonly<{ name: string; running: readonly Running[] }>): JSX.Element {
  if (running.length === 0)
    return <p className="muted">Not deployed to any environment. Select a version to deploy it.</p>;
  return (
    <ul className="feed">
      {envs.map((env) => {
        const one = running.find((other) => other.env === env);
        return (
          <li key={env} className="feed-row">
            <span>
              <Env name={env} />{' '}
              {one ? <RunningVersion {...one} /> : <span className="muted">not deployed</span>}
            </span>
            {one && (
              <span className="decide-buttons">
                {one.before !== undefined && (
                  <ActLink operation="deployBundle" env={env} link={changeTo.bundle(name, one.before, env)}>
                    Roll back to v{one.before}
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
      })}
    </ul>
  );
}

const RunningVersion = ({ version, deployment }: Running): JSX.Element => (
  <>
    runs v{version}
    {deployment && (
      <>
        , deployed <Time at={deployment.created_at} /> by{' '}
        <Data text={deployment.deployed_by} mono={false} max={60} />
        {deployment.forced && <span className="tone-deny">, forced</span>}
        {deployment.reason && <Data before=": " text={deployment.reason} mono={false} max={200} />}
        <br />
        <RolloutLine id={deployment.id} version={version} />
      </>
    )}
  </>
);

const maxNames = 3;

/** The other versions with the same document, newest first. */
function SameVersions({
  version: { version, revision_hash: hash },
  among,
}: Readonly<{ version: DocumentVersion; among: readonly DocumentVersion[] }>): JSX.Element | null {
  const same = among.filter((one) => one.revision_hash === hash && one.version !== version);
  if (same.length === 0) return null;
  const names = same.slice(0, maxNames).map((one) => `v${one.version}`);
  return (
    <span className="muted" title="Identical document (same hash)">
      same as {names.join(', ')}
      {same.length > maxNames && ' …'}
    </span>
  );
}

const versionColumns = (
  vocabulary: DocumentVocabulary,
  name: string,
  versions: readonly DocumentVersion[],
  candidate: DocumentVersion,
  show: (version: number) => void,
): readonly Column<DocumentVersion>[] => [
  {
    key: 'version',
    label: 'Version',
    width: 1.6,
    sort: (one) => one.version,
    cell: (one) => (
      <>
        <Button
          kind="quiet"
          aria-pressed={one.version === candidate.version}
          onClick={() => show(one.version)}
        >
          Show v{one.version}
        </Button>{' '}
        <SameVersions version={one} among={versions} />
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
  instantColumn('made', vocabulary.created, (one) => one.created_at),
  proseColumn('by', `${vocabulary.created} by`, (one) => one.uploaded_by, 1.6),
  ...vocabulary.columns,
];

interface TextProps extends DetailProps {
  readonly versions: readonly DocumentVersion[];
  readonly candidate: DocumentVersion;
  /** @param version undefined for the newest one */
  readonly show: (version: number | undefined) => void;
}

/** The text of a version; with another version, their difference and a replay. */
function Text({ vocabulary, name, versions, candidate, show }: TextProps): JSX.Element {
  const { version } = candidate;
  const env = useEnv();
  const [chosenBase, setBase] = useState<string | null>(null);
  const previous = versions[versions.indexOf(candidate) + 1]?.version;
  const base = chosenBase === null ? previous : chosenBase === '' ? undefined : Number(chosenBase);
  const before = vocabulary.useText(name, base ?? version);
  const after = vocabulary.useText(name, version);
  const options = versions.map((one) => [String(one.version), `v${one.version}`] as const);
  const [baseLabel, candidateLabel] = vocabulary.compareLabels;
  return (
    <Section title="Compare versions" label="Document">
      <div className="filter-bar">
        <Select
          label={baseLabel}
          value={base === undefined ? '' : String(base)}
          options={[['', 'No comparison'], ...options]}
          onValue={setBase}
        />
        <Select
          label={candidateLabel}
          value={String(version)}
          options={options}
          onValue={(next) => show(Number(next))}
        />
        <Button
          icon="download"
          disabled={after.data === undefined}
          onClick={() => download(`${name}-v${version}.yaml`, 'application/yaml', after.data ?? '')}
        >
          Download v{version}
        </Button>
        {vocabulary.Edit && <vocabulary.Edit name={name} onSaved={() => show(undefined)} />}
      </div>
      <Origin vocabulary={vocabulary} version={candidate} />
      <QueryResult query={after} rows={4}>
        {(text) =>
          base === undefined || base === version ? (
            <Editor label={`YAML of version ${version}`} value={text} />
          ) : (
            <QueryResult query={before} rows={4}>
              {(old) => (
                <>
                  <Diff before={old} after={text} />
                  <vocabulary.Replay
                    key={`${env} ${base} ${version}`}
                    {...{ name, base }}
                    candidate={version}
                    yaml={text}
                  />
                </>
              )}
            </QueryResult>
          )
        }
      </QueryResult>
    </Section>
  );
}

const Origin = ({
  vocabulary,
  version: { created_at: at, uploaded_by: by, size_bytes: bytes, revision_hash: hash, key_id: keyId },
}: {
  readonly vocabulary: DocumentVocabulary;
  readonly version: DocumentVersion;
}): JSX.Element => (
  <p className="muted">
    {vocabulary.created} <Time at={at} /> by <Data text={by} mono={false} max={80} />
    {bytes !== undefined && `, ${count(bytes)} bytes`}, SHA-256 <Data text={hash} max={24} />
    {keyId && <Data before=", signed by the key " text={keyId} max={24} />}.
  </p>
);

const ActLink = ({
  operation,
  env,
  ...button
}: Omit<ChangeButtonProps, 'why'> & {
  readonly operation: 'deployBundle' | 'undeployBundle';
  readonly env?: Environment;
}): JSX.Element => <PlainChangeButton {...button} why={useRefusal(operation, env ? [env] : [])} />;
