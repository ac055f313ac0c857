// The columns of lists of runs.
import { usePrefs } from '../../lib/prefs.ts';
import { absolute, duration } from '../../lib/text.ts';
import {
  countColumn,
  envColumn,
  instantColumn,
  nameColumn,
  numberColumn,
  verdictColumn,
} from '../../ui/columns.tsx';
import { Name } from '../../ui/parts.tsx';
import { Ribbon, sumOf } from '../../ui/ribbon.tsx';
import type { Column } from '../../ui/table.tsx';
import type { Run } from './run.ts';
import { SealMark } from './seal.tsx';
import { callsOfRun, runSums } from './sums.ts';
import './runs.css';

const stageOf = ({ workflow }: Run): string =>
  workflow === null ? '' : '_truncated' in workflow ? 'too long to display' : workflow.active_stage;

function Calls({ run }: { readonly run: Run }) {
  const calls = callsOfRun(run);
  if (calls && sumOf(calls) > 0) return <Ribbon calls={calls} />;
  return <span className="muted">{calls ? 'none' : 'outcomes unknown'}</span>;
}

/** Milliseconds from the start to the last activity. */
const durationOf = (run: Run): number => Date.parse(run.last_activity_at) - Date.parse(run.started_at);

function Duration({ run }: { readonly run: Run }) {
  const { utc } = usePrefs();
  const title = `Last activity ${absolute(Date.parse(run.last_activity_at), utc)}`;
  return <span title={title}>{duration(durationOf(run))}</span>;
}

export const standingColumns: readonly Column<Run>[] = [
  instantColumn('started', 'Started', (run) => run.started_at, 2),
  {
    ...numberColumn(duration)('duration', 'Duration', durationOf, 0.9),
    cell: (run) => <Duration run={run} />,
  },
  {
    key: 'calls',
    label: 'Calls',
    width: 1.3,
    sort: (run) => run.counts.calls,
    text: runSums,
    cell: (run) => <Calls run={run} />,
  },
  verdictColumn('status', 'Status', (run) => run.status, 1.3),
];

export const runColumns: readonly Column<Run>[] = [
  {
    ...nameColumn<Run>('session', 'Session', (run) => run.session_id, 1.8),
    cell: (run) => (
      <span className="seal-cell">
        <SealMark run={run} />
        <Name text={run.session_id} />
      </span>
    ),
  },
  nameColumn('agent', 'Agent', (run) => run.agent_id, 1.5),
  ...standingColumns,
  nameColumn('stage', 'Stage', stageOf, 1.1),
  envColumn('env', 'Environment', (run) => run.environment, 1.3),
  nameColumn(
    'ruleset',
    'Ruleset',
    (run) => run.ruleset_name && `${run.ruleset_name} v${run.ruleset_version}`,
    1.3,
  ),
  countColumn('waiting', 'Pending approvals', (run) => run.pending_approval_count, 1),
];
