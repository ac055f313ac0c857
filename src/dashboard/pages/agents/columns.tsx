// The columns of lists of agents.
import type { Reply } from '../../lib/api.ts';
import { counted } from '../../lib/text.ts';
import { callsColumn } from '../../ui/calls-cell.tsx';
import {
  dueColumn,
  envColumn,
  lineColumn,
  nameColumn,
  timeColumn,
  verdictColumn,
  versionColumn,
  wordColumn,
} from '../../ui/columns.tsx';
import type { Column } from '../../ui/table.tsx';
import { CoverageBar, coverageWords } from './coverage.tsx';
import { type Tags, tagsText } from './tags.ts';

export type Agent = Reply<'listAgents'>[number];

const tagWords = ({ tags }: Agent): string => ('_truncated' in tags ? 'many' : tagsText(tags as Tags));

export const agentColumns: readonly Column<Agent>[] = [
  nameColumn('agent', 'Agent', (row) => row.agent_id, 1.75),
  verdictColumn('status', 'Status', (row) => row.status, 1.6),
  {
    key: 'connected',
    label: 'Connected',
    width: 1.2,
    sort: (row) => row.streams,
    text: (row) => String(row.connected),
    cell: (row) => (row.connected ? counted(row.streams, 'stream') : <span className="muted">no</span>),
  },
  envColumn('env', 'Environment', (row) => row.env, 1.3),
  nameColumn('bundle', 'Bundle', (row) => row.resolved_bundle ?? row.followed_bundle ?? '', 1.2),
  versionColumn('wanted', 'Wanted', (row) => row.wanted_version, 0.9),
  versionColumn('version', 'Runs', (row) => row.version, 0.8),
  {
    ...dueColumn<Agent>('since', 'Out of date since', (row) => row.drift_since, 1.1),
    // The longest first; current agents last.
    sort: ({ drift_since: since }) => (since === null ? Number.MAX_SAFE_INTEGER : Date.parse(since)),
  },
  callsColumn('agent', (row) => row.agent_id),
  {
    key: 'coverage',
    label: 'Tools enforced',
    width: 1.2,
    // The least governed agents first, those without calls last.
    sort: ({ coverage }) => (coverage ? coverage.enforced / Math.max(1, coverage.total_tools) : 2),
    text: ({ coverage }) => (coverage ? coverageWords(coverage) : ''),
    cell: (row) => <CoverageBar coverage={row.coverage ?? undefined} />,
  },
  {
    ...wordColumn<Agent>('source', 'Assigned by', (row) => row.assignment_source.replace('_', ' '), 1.2),
    isOptional: true,
  },
  { ...lineColumn<Agent>('tags', 'Tags', tagWords, 1.6), isOptional: true },
  timeColumn('seen', 'Last seen', (row) => row.last_seen_at, 1.1),
];
