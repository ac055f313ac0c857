// All rulesets with their deployed versions, and a peek of one of them.
import { useNavigate } from '@tanstack/react-router';
import { type JSX, useMemo, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useCommand } from '../../lib/commands.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { byOffset, useHostedPages } from '../../lib/hosted-query.ts';
import { useRefusal } from '../../lib/may.ts';
import { useEnv } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { countColumn, nameColumn, timeColumn, versionColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Env, TabHead, Time } from '../../ui/parts.tsx';
import { type Resource, ResourceView } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { RulesetForm } from './form.tsx';

type Ruleset = HostedReply<'hostedListRulesets'>['rulesets'][number];

const runsText = ({ deployed }: Ruleset): string =>
  deployed.map(({ env, version }) => `${env} v${version}`).join(', ');

const columns: readonly Column<Ruleset>[] = [
  nameColumn('name', 'Ruleset', (one) => one.name, 2),
  versionColumn('latest', 'Latest', (one) => one.latest_version, 0.9),
  countColumn('rules', 'Rules', (one) => one.rule_count, 0.8),
  {
    key: 'runs',
    label: 'Runs in',
    width: 2.4,
    sort: runsText,
    cell: (one) =>
      one.deployed.length === 0 ? (
        <span className="muted">not deployed</span>
      ) : (
        one.deployed.map(({ env, version }) => (
          <span key={env}>
            <Env name={env} /> v{version}{' '}
          </span>
        ))
      ),
  },
  nameColumn('revision', 'Latest SHA-256', (one) => one.revision_hash, 1.6),
  timeColumn('updated', 'Changed', (one) => one.updated_at, 1.2),
];

const rulesets: Resource<Ruleset> = {
  name: 'rulesets',
  noun: 'ruleset',
  sortAs: 'rulesets_sort',
  // A bundle may have the same name, and stands on the same page.
  keyOf: ({ name }) => `ruleset ${name}`,
  columns,
  linkOf: ({ name }) => linkTo.ruleset(name),
  title: ({ name }) => `Ruleset ${name}`,
  peek: (one) => <RulesetPeek ruleset={one} />,
  add: {
    label: 'New ruleset',
    kind: 'primary',
    operation: 'hostedPutRuleset',
    dialog: (close) => <NewRuleset onClose={close} />,
  },
};

function NewRuleset({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const navigate = useNavigate();
  return (
    <Dialog title="New ruleset" shape="wide" open onClose={onClose}>
      <RulesetForm
        onDone={(name) => {
          onClose();
          void navigate({ ...linkTo.ruleset(name) });
        }}
      />
    </Dialog>
  );
}

export function Rulesets(): JSX.Element {
  const env = useEnv();
  const adding = useState(false);
  useCommand('newRuleset', () => adding[1](true), { why: useRefusal('hostedPutRuleset') });
  const rulesetsQuery = useHostedPages('hostedListRulesets', { query: { limit: 200 } }, byOffset);
  const loaded = useMemo(
    () => (rulesetsQuery.data?.pages ?? []).flatMap(({ rulesets }) => rulesets),
    [rulesetsQuery.data],
  );
  const rows = env ? loaded.filter(({ deployed }) => deployed.some((one) => one.env === env)) : loaded;
  const empty = {
    title: env ? `No rulesets deployed to ${env}` : 'No rulesets yet',
    text: 'Rulesets appear here when you create them. Agents that use the /v1 API load rulesets.',
  };
  return (
    <ResourceView
      resource={{ ...rulesets, empty }}
      query={rulesetsQuery}
      rows={rows}
      adding={adding}
      head={(add) => (
        <TabHead
          summary={
            rulesetsQuery.data &&
            `${counted(rows.length, 'ruleset')}${rulesetsQuery.hasNextPage ? ' and more' : ''}${env ? ` ${rows.length === 1 ? 'runs' : 'run'} in ${env}` : ''}.`
          }
        >
          {add}
        </TabHead>
      )}
    />
  );
}

/** The deployments of a ruleset, without its texts and actions. */
const RulesetPeek = ({ ruleset }: { readonly ruleset: Ruleset }): JSX.Element => (
  <>
    <p>
      Latest version v{ruleset.latest_version}, changed <Time at={ruleset.updated_at} />.
    </p>
    <ul className="feed">
      {ruleset.deployed.map(({ env, version }) => (
        <li key={env} className="feed-row">
          <Env name={env} /> runs v{version}
        </li>
      ))}
    </ul>
    {ruleset.deployed.length === 0 && <p className="muted">Not deployed to any environment.</p>}
  </>
);
