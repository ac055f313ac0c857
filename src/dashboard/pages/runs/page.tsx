// Runs: what is an agent doing, and where does it stand? Sessions by their last activity, one of them in a panel as a
// timeline.
import { type JSX, useMemo, useState } from 'react';
import { byOffset, useHostedAction, useHostedPages } from '../../lib/hosted-query.ts';
import { readOn } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { Answer, Failed } from '../../ui/answer.tsx';
import { countColumn, envColumn, nameColumn, timeColumn, verdictColumn } from '../../ui/columns.tsx';
import { Form } from '../../ui/form.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Empty, Name, PageHead, Select } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { RunDetail } from './detail.tsx';
import { type Run, runKey } from './run.ts';

const stageOf = ({ workflow }: Run): string =>
  workflow === null ? '' : '_truncated' in workflow ? 'too long to list' : workflow.active_stage;

const columns: readonly Column<Run>[] = [
  nameColumn('session', 'Session', (run) => run.session_id, 1.8),
  nameColumn('agent', 'Agent', (run) => run.agent_id, 1.6),
  verdictColumn('status', 'Status', (run) => run.status, 1.5),
  {
    key: 'stage',
    label: 'Stage',
    width: 1.3,
    sort: stageOf,
    cell: (run) => <Name text={stageOf(run) || '–'} />,
  },
  envColumn('env', 'Environment', (run) => run.environment, 1.3),
  {
    key: 'ruleset',
    label: 'Ruleset',
    width: 1.5,
    sort: (run) => run.ruleset_name ?? '',
    cell: (run) => <Name text={run.ruleset_name ? `${run.ruleset_name} v${run.ruleset_version}` : '–'} />,
  },
  countColumn('calls', 'Calls', (run) => run.counts.calls, 0.8),
  countColumn('blocked', 'Blocked', (run) => run.counts.blocked, 0.9),
  countColumn('waiting', 'Waiting approvals', (run) => run.pending_approval_count, 1),
  timeColumn('last', 'Last activity', (run) => run.last_activity_at, 1.2),
];

const statuses = [
  ['', 'Any status'],
  ['active', 'active'],
  ['approval_pending', 'waits for approval'],
  ['blocked', 'blocked'],
  ['completed', 'completed'],
  ['stale', 'stale'],
] as const;

export default function Runs(): JSX.Element {
  const [{ status = '', agent_id: agent = '', agent: of, session }, change] = useFilters();
  const env = useEnv();
  const [text, setText] = useState(agent);
  const query = { limit: 100, status, agent_id: agent };
  const found = useHostedPages('hostedListRuns', { query }, byOffset);
  const loaded = useMemo(() => (found.data?.pages ?? []).flatMap(({ runs }) => runs), [found.data]);
  const rows = env ? loaded.filter((run) => run.environment === env) : loaded;
  const total = found.data?.pages[0]?.total ?? 0;
  return (
    <div className="page">
      <PageHead
        title="Runs"
        says={found.data && `${counted(total, 'run')}${status || agent ? ' fit' : ''}.`}
      />
      <Form
        className="filter-bar"
        onSubmit={() => {
          change({ agent_id: text.trim() });
        }}
      >
        <label className="field">
          <span className="heard">Runs of the agent</span>
          <input
            type="search"
            value={text}
            maxLength={255}
            placeholder="Runs of the agent (its whole id)"
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <Select
          compact
          label="Status"
          value={status}
          options={statuses}
          onValue={(next) => change({ status: next })}
        />
        <Button submit>Find</Button>
      </Form>
      <Answer of={found} rows={10}>
        {() =>
          rows.length === 0 ? (
            <NoRuns filtered={status !== '' || agent !== '' || env !== undefined} />
          ) : (
            <Table
              name="runs"
              rows={rows}
              columns={columns}
              keyOf={(run) => runKey(run.agent_id, run.session_id)}
              chosen={of && session ? runKey(of, session) : undefined}
              onOpen={(run) =>
                change({ agent: run.agent_id, session: run.session_id }, session !== undefined)
              }
              onEnd={() => readOn(found)}
              bar={
                <span className="muted">
                  {env ? `${count(rows.length)} in ${env} of ` : ''}
                  {count(loaded.length)}
                  {found.hasNextPage
                    ? ` of ${count(total)} runs; scroll for more`
                    : ` ${loaded.length === 1 ? 'run' : 'runs'}`}
                </span>
              }
            />
          )
        }
      </Answer>
      <Dialog
        title="Run"
        shape="panel"
        open={of !== undefined && session !== undefined}
        onClose={() => change({ agent: undefined, session: undefined }, true)}
      >
        {of !== undefined && session !== undefined && (
          <RunDetail key={runKey(of, session)} agent={of} session={session} />
        )}
      </Dialog>
    </div>
  );
}

function NoRuns({ filtered }: { readonly filtered: boolean }): JSX.Element {
  const make = useHostedAction('hostedSampleRun', ['hostedListRuns', 'hostedListRulesets']);
  if (filtered) {
    return (
      <Empty title="No run fits">
        <p>Choose another status, agent or environment.</p>
      </Empty>
    );
  }
  return (
    <Empty title="There is no run yet">
      <p>
        A run begins when an agent reports calls with a session. The sample run shows what one looks like.
      </p>
      {make.error && <Failed error={make.error} />}
      <Button
        busy={make.isPending}
        onClick={() => make.mutate({}, { onSuccess: () => say('The sample run is there.', 'allow') })}
      >
        Load the sample run
      </Button>
    </Empty>
  );
}
