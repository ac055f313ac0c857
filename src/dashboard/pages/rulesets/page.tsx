// All rulesets with their deployed versions, and a peek of one of them.

import { useNavigate } from '@tanstack/react-router';
import { type JSX, useMemo, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useCommand } from '../../lib/commands.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { byOffset, useHostedPages } from '../../lib/hosted-query.ts';
import { useRefusal } from '../../lib/may.ts';
import { readOn } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { nameColumn, timeColumn } from '../../ui/columns.tsx';
import { usePeek } from '../../ui/list.tsx';
import { Dialog } from '../../ui/overlay.tsx';
import { Empty, Env, TabHead, Time } from '../../ui/parts.tsx';
import { Peek } from '../../ui/peek.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { RulesetForm } from './form.tsx';

type Ruleset = HostedReply<'hostedListRulesets'>['rulesets'][number];

const runsText = ({ deployed }: Ruleset): string =>
  deployed.map(({ env, version }) => `${env} v${version}`).join(', ');

const columns: readonly Column<Ruleset>[] = [
  nameColumn('name', 'Ruleset', (one) => one.name, 2),
  {
    key: 'latest',
    label: 'Latest',
    width: 0.9,
    number: true,
    sort: (one) => one.latest_version,
    cell: (one) => `v${one.latest_version}`,
  },
  {
    key: 'rules',
    label: 'Rules',
    width: 0.8,
    number: true,
    sort: (one) => one.rule_count ?? -1,
    cell: (one) => (one.rule_count === null ? '–' : count(one.rule_count)),
  },
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

/** A bundle may have the same name, and stands on the same page. */
const keyOf = ({ name }: Ruleset): string => `ruleset ${name}`;

export function Rulesets(): JSX.Element {
  const navigate = useNavigate();
  const env = useEnv();
  const [making, setMaking] = useState(false);
  useCommand('newRuleset', () => setMaking(true), { why: useRefusal('hostedPutRuleset') });
  const rulesetsQuery = useHostedPages('hostedListRulesets', { query: { limit: 200 } }, byOffset);
  const loaded = useMemo(
    () => (rulesetsQuery.data?.pages ?? []).flatMap(({ rulesets }) => rulesets),
    [rulesetsQuery.data],
  );
  const rows = env ? loaded.filter(({ deployed }) => deployed.some((one) => one.env === env)) : loaded;
  const peek = usePeek(rows, keyOf, (one) => linkTo.ruleset(one.name));
  return (
    <>
      <TabHead
        summary={
          rulesetsQuery.data &&
          `${counted(rows.length, 'ruleset')}${rulesetsQuery.hasNextPage ? ' and more' : ''}${env ? ` ${rows.length === 1 ? 'runs' : 'run'} in ${env}` : ''}.`
        }
      >
        <ActButton operation="hostedPutRuleset" kind="primary" icon="plus" onClick={() => setMaking(true)}>
          New ruleset
        </ActButton>
      </TabHead>
      <QueryResult query={rulesetsQuery} rows={6}>
        {() =>
          rows.length === 0 ? (
            <Empty title={env ? `No rulesets deployed to ${env}` : 'No rulesets yet'}>
              <p>Rulesets appear here when you create them. Agents that use the /v1 API load rulesets.</p>
            </Empty>
          ) : (
            <Table
              name="rulesets"
              row="ruleset"
              rows={rows}
              columns={columns}
              sortAs="rulesets_sort"
              keyOf={keyOf}
              chosen={peek.id}
              onOpen={peek.open}
              linkOf={(one) => linkTo.ruleset(one.name)}
              onEnd={() => readOn(rulesetsQuery)}
            />
          )
        }
      </QueryResult>
      <Dialog title="New ruleset" shape="wide" open={making} onClose={() => setMaking(false)}>
        <RulesetForm
          onDone={(name) => {
            setMaking(false);
            void navigate({ ...linkTo.ruleset(name) });
          }}
        />
      </Dialog>
      {peek.row && (
        <Peek
          key={peek.row.name}
          title={`Ruleset ${peek.row.name}`}
          page={linkTo.ruleset(peek.row.name)}
          onClose={peek.close}
        >
          <RulesetPeek ruleset={peek.row} />
        </Peek>
      )}
    </>
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
