// The runs page: sessions by their latest activity, and a peek with the timeline of one of them.
import type { JSX } from 'react';
import { runGrammar } from '../../../event/rules/query/fields.ts';
import { linkTo } from '../../lib/address.ts';
import { byOffset, useHostedAction, useHostedPages } from '../../lib/hosted-query.ts';
import { type QueryLanguage, textOfValues, usePageQuery } from '../../lib/page-query.ts';
import { usePageRows } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { countColumn, envColumn, nameColumn, timeColumn, verdictColumn } from '../../ui/columns.tsx';
import { PeekList } from '../../ui/list.tsx';
import { say } from '../../ui/messages.tsx';
import { Empty, PageHead } from '../../ui/parts.tsx';
import { QueryBar, StateTerms } from '../../ui/query-bar.tsx';
import { Failed } from '../../ui/query-result.tsx';
import type { Column } from '../../ui/table.tsx';
import { RunDetail } from './detail.tsx';
import { type Run, runKey } from './run.ts';

const stageOf = ({ workflow }: Run): string =>
  workflow === null ? '' : '_truncated' in workflow ? 'too long to display' : workflow.active_stage;

const columns: readonly Column<Run>[] = [
  nameColumn('session', 'Session', (run) => run.session_id, 1.8),
  nameColumn('agent', 'Agent', (run) => run.agent_id, 1.6),
  verdictColumn('status', 'Status', (run) => run.status, 1.5),
  nameColumn('stage', 'Stage', stageOf, 1.3),
  envColumn('env', 'Environment', (run) => run.environment, 1.3),
  nameColumn(
    'ruleset',
    'Ruleset',
    (run) => run.ruleset_name && `${run.ruleset_name} v${run.ruleset_version}`,
    1.5,
  ),
  countColumn('calls', 'Calls', (run) => run.counts.calls, 0.8),
  countColumn('blocked', 'Denied', (run) => run.counts.blocked, 0.9),
  countColumn('waiting', 'Pending approvals', (run) => run.pending_approval_count, 1),
  timeColumn('last', 'Last activity', (run) => run.last_activity_at, 1.2),
];

const runLanguage: QueryLanguage = {
  grammar: runGrammar,
  parameters: {
    is: {
      running: { status: 'active' },
      pending: { status: 'approval_pending' },
      denied: { status: 'blocked' },
      completed: { status: 'completed' },
      stale: { status: 'stale' },
    },
    agent: 'agent_id',
    run: 'session_id',
    env: 'env',
  },
  earlier: ['status', 'agent_id'],
  textOf: textOfValues(runGrammar, { status: 'is', agent_id: 'agent' }),
};

const keyOf = (run: Run): string => runKey(run.agent_id, run.session_id);
const linkOf = (run: Run) => linkTo.run(run.agent_id, run.session_id);

export default function Runs(): JSX.Element {
  const page = usePageQuery(runLanguage);
  const { env: queriedEnv, ...filters } = page.parameters;
  const chosenEnv = useEnv();
  const env = queriedEnv ?? chosenEnv;
  const isNarrowed = Object.keys(filters).length > 0;
  const query = { limit: 100, ...filters };
  const runsQuery = useHostedPages('hostedListRuns', { query }, byOffset);
  const loaded = usePageRows(runsQuery, ({ runs }) => runs);
  const rows = env ? loaded.filter((run) => run.environment === env) : loaded;
  const total = runsQuery.data?.pages[0]?.total ?? 0;
  return (
    <div className="page">
      <PageHead
        title="Runs"
        summary={runsQuery.data && `${counted(total, 'run')}${isNarrowed ? ' found' : ''}.`}
      />
      <QueryBar language={runLanguage} query={page} placeholder="is:denied agent:checkout-010" />
      <StateTerms
        language={runLanguage}
        query={page}
        words={['running', 'pending', 'denied', 'completed', 'stale']}
      />
      <PeekList
        name="runs"
        query={runsQuery}
        rows={rows}
        columns={columns}
        keyOf={keyOf}
        linkOf={linkOf}
        bar={`${env ? `${count(rows.length)} in ${env} of ` : ''}${count(loaded.length)}${
          runsQuery.hasNextPage
            ? ` of ${count(total)} runs; scroll for more`
            : ` ${loaded.length === 1 ? 'run' : 'runs'}`
        }`}
        empty={<NoRuns filtered={isNarrowed || env !== undefined} />}
        title={(run) => `Run ${run.session_id}`}
        peek={(run) => <RunDetail agent={run.agent_id} session={run.session_id} isPeek />}
      />
    </div>
  );
}

function NoRuns({ filtered }: { readonly filtered: boolean }): JSX.Element {
  const make = useHostedAction('hostedSampleRun', ['hostedListRuns', 'hostedListRulesets']);
  if (filtered) {
    return (
      <Empty title="No runs match these filters" text="Change the query, or select another environment." />
    );
  }
  return (
    <Empty
      title="No runs yet"
      text="Runs appear here when an agent reports calls with a session. To see an example, load the sample run."
    >
      {make.error && <Failed error={make.error} />}
      <ActButton
        operation="hostedSampleRun"
        busy={make.isPending}
        onClick={() => make.mutate({}, () => say('Sample run loaded.', 'allow'))}
      >
        Load sample run
      </ActButton>
    </Empty>
  );
}
