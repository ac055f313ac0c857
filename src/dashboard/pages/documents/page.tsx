// The documents that agents load: bundles through /api/v1, rulesets through /v1. Both lists have one shape.
import { useNavigate } from '@tanstack/react-router';
import type { RowData } from '@tanstack/react-table';
import { type JSX, useMemo } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { byOffset, useHostedPages } from '../../lib/hosted-query.ts';
import { usePageRows, usePages } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { counted, loadedText } from '../../lib/text.ts';
import { countColumn, envsColumn, nameColumn, timeColumn, versionColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Data, Env, TabHead, Time } from '../../ui/parts.tsx';
import { QueryResult, type QueryState } from '../../ui/query-result.tsx';
import { type Resource, ResourceView } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import {
  type Deployments,
  documentCallsColumn,
  placesColumn,
  useDeployments,
} from '../policies/deployed.tsx';
import { RulesetForm } from './ruleset-form.tsx';
import { UploadBundle } from './upload.tsx';
import { type UseVersions, useBundleVersions, useRulesetVersions } from './versions.ts';

export function Documents(): JSX.Element {
  const deployments = useDeployments();
  return (
    <>
      <Bundles deployments={deployments} />
      <Rulesets deployments={deployments} />
    </>
  );
}

interface Placed {
  readonly deployments: Deployments;
}

/** The API whose agents load documents of a kind, and the versions of one. */
const kinds: {
  readonly [noun in 'bundle' | 'ruleset']: { readonly api: string; readonly useVersions: UseVersions };
} = {
  bundle: { api: '/api/v1', useVersions: useBundleVersions },
  ruleset: { api: '/v1', useVersions: useRulesetVersions },
};

interface ListProps<R> extends Placed {
  readonly noun: keyof typeof kinds;
  readonly columnsOf: (deployments: Deployments) => readonly Column<R>[];
  readonly add: NonNullable<Resource<R>['add']>;
  /** The text of an empty list. */
  readonly emptyText: string;
  readonly query: QueryState<unknown>;
  readonly rows: readonly R[];
  readonly envsOf: (row: R) => readonly string[];
}

function DocumentList<R extends RowData & { readonly name: string }>(props: ListProps<R>): JSX.Element {
  const { deployments, noun, columnsOf, add, emptyText, query, rows, envsOf } = props;
  const { api, useVersions } = kinds[noun];
  const title = noun === 'bundle' ? 'Bundle' : 'Ruleset';
  const columns = useMemo(() => columnsOf(deployments), [columnsOf, deployments]);
  const env = useEnv();
  const visibleRows = env ? rows.filter((row) => envsOf(row).includes(env)) : rows;
  const resource: Resource<R> = {
    name: `${noun}s`,
    noun,
    // Both lists are on one page, and their rows may have the same name.
    sortAs: noun === 'bundle' ? 'sort' : 'rulesets_sort',
    keyOf: ({ name }) => (noun === 'bundle' ? name : `ruleset ${name}`),
    columns,
    bar: loadedText(visibleRows.length, noun, query.hasNextPage ?? false),
    add: { ...add, kind: 'primary' },
    linkOf: ({ name }) => linkTo[noun](name),
    title: ({ name }) => `${title} ${name}`,
    peek: ({ name }) => <DocumentPeek name={name} useVersions={useVersions} />,
    empty: { title: env ? `No ${noun}s deployed to ${env}` : `No ${noun}s yet`, text: emptyText },
  };
  return (
    <section className="tab-part">
      <h2>
        {title}s <span className="tag">{api}</span>
      </h2>
      <ResourceView
        resource={resource}
        query={query}
        rows={visibleRows}
        head={(button) => (
          <TabHead
            summary={
              query.data !== undefined &&
              `${counted(visibleRows.length, noun)}${query.hasNextPage ? ' and more' : ''} ${env ? `deployed to ${env}` : 'in the hub'}.`
            }
          >
            {button}
          </TabHead>
        )}
      />
    </section>
  );
}

/** A document beside its list: its versions and where they run, without actions. */
function DocumentPeek({
  name,
  useVersions,
}: Readonly<{ name: string; useVersions: UseVersions }>): JSX.Element {
  const versions = useVersions(name);
  return (
    <QueryResult query={versions} rows={4}>
      {(list) => (
        <ul className="feed">
          {list.map((one) => (
            <li key={one.version} className="feed-row">
              <span>
                <strong>v{one.version}</strong>{' '}
                {one.deployed_envs.map((env) => (
                  <Env key={env} name={env} />
                ))}
              </span>
              <span className="muted">
                <Time at={one.created_at} /> by <Data text={one.uploaded_by} mono={false} max={60} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </QueryResult>
  );
}

const nameOf = ({ name }: { readonly name: string }): string => name;

type Bundle = Reply<'listBundles'>[number];

const bundleColumns = (deployments: Deployments): readonly Column<Bundle>[] => [
  nameColumn('name', 'Bundle', (row) => row.name, 2),
  versionColumn('latest', 'Latest', (row) => row.latest_version),
  countColumn('contracts', 'Contracts', (row) => row.contract_count),
  documentCallsColumn(deployments),
  envsColumn('not deployed')('envs', 'Deployed to', (row) => row.deployed_envs, 2.4),
  timeColumn('deployed', 'Last deployed', (row) => row.last_deployed_at, 1.2),
  timeColumn('updated', 'Uploaded', (row) => row.last_updated, 1.2),
];

function Bundles({ deployments }: Placed): JSX.Element {
  const bundlesQuery = usePages('listBundles', { query: { limit: 1000 } }, { byOffset: true });
  const rows = usePageRows(bundlesQuery, ({ reply }) => reply, nameOf);
  return (
    <DocumentList
      noun="bundle"
      deployments={deployments}
      columnsOf={bundleColumns}
      add={{
        label: 'Upload bundle',
        icon: 'upload',
        operation: 'uploadBundle',
        command: 'uploadBundle',
        dialog: (close) => <UploadBundle onClose={close} />,
      }}
      emptyText="Bundles appear here when you deploy a composition or upload a bundle."
      query={bundlesQuery}
      rows={rows}
      envsOf={(row) => row.deployed_envs}
    />
  );
}

type Ruleset = HostedReply<'hostedListRulesets'>['rulesets'][number];

const rulesetColumns = (deployments: Deployments): readonly Column<Ruleset>[] => [
  nameColumn('name', 'Ruleset', (one) => one.name, 2),
  versionColumn('latest', 'Latest', (one) => one.latest_version, 0.9),
  countColumn('rules', 'Rules', (one) => one.rule_count, 0.8),
  documentCallsColumn(deployments),
  placesColumn('runs', 'Runs in', (one) => one.deployed, 2.4),
  nameColumn('revision', 'Latest SHA-256', (one) => one.revision_hash, 1.6),
  timeColumn('updated', 'Changed', (one) => one.updated_at, 1.2),
];

function Rulesets({ deployments }: Placed): JSX.Element {
  const rulesetsQuery = useHostedPages('hostedListRulesets', { query: { limit: 200 } }, byOffset);
  const rows = usePageRows(rulesetsQuery, ({ rulesets }) => rulesets, nameOf);
  return (
    <DocumentList
      noun="ruleset"
      deployments={deployments}
      columnsOf={rulesetColumns}
      add={{
        label: 'New ruleset',
        operation: 'hostedPutRuleset',
        command: 'newRuleset',
        dialog: (close) => <NewRuleset onClose={close} />,
      }}
      emptyText="Rulesets appear here when you create them. Agents that use the /v1 API load rulesets."
      query={rulesetsQuery}
      rows={rows}
      envsOf={({ deployed }) => deployed.map(({ env }) => env)}
    />
  );
}

function NewRuleset({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const navigate = useNavigate();
  const done = (name: string): void => {
    onClose();
    void navigate({ ...linkTo.ruleset(name) });
  };
  return (
    <Dialog title="New ruleset" shape="wide" open onClose={onClose}>
      <RulesetForm onDone={done} />
    </Dialog>
  );
}
