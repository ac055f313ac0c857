// The columns of lists of agents.
import type { Reply } from '../../lib/api.ts';
import { counted } from '../../lib/text.ts';
import { callsColumn } from '../../ui/calls-cell.tsx';
import { nameColumn, verdictColumn } from '../../ui/columns.tsx';
import { Env, Name, Time } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table.tsx';
import { CoverageBar, coverageWords } from './coverage.tsx';

export type Agent = Reply<'listAgents'>[number];

const versionText = (version: number | null): string => (version === null ? '–' : `v${version}`);

const tagsText = ({ tags }: Agent): string =>
  '_truncated' in tags
    ? 'many'
    : Object.entries(tags)
        .map(([name, value]) => `${name}=${String(value)}`)
        .join(', ');

export const agentColumns: readonly Column<Agent>[] = [
  nameColumn('agent', 'Agent', (row) => row.agent_id, 2),
  verdictColumn('status', 'Status', (row) => row.status, 1.6),
  {
    key: 'connected',
    label: 'Connected',
    width: 1.2,
    sort: (row) => row.streams,
    text: (row) => String(row.connected),
    cell: (row) => (row.connected ? counted(row.streams, 'stream') : <span className="muted">no</span>),
  },
  {
    key: 'env',
    inCard: 'plain',
    label: 'Environment',
    width: 1.3,
    sort: (row) => row.env ?? '',
    cell: (row) => (row.env ? <Env name={row.env} /> : <span className="muted">–</span>),
  },
  {
    key: 'bundle',
    label: 'Bundle',
    width: 1.4,
    sort: (row) => row.resolved_bundle ?? row.followed_bundle ?? '',
    cell: (row) => <Name text={row.resolved_bundle ?? row.followed_bundle ?? '–'} />,
  },
  {
    key: 'wanted',
    label: 'Wanted',
    width: 0.9,
    number: true,
    sort: (row) => row.wanted_version ?? -1,
    cell: (row) => versionText(row.wanted_version),
  },
  {
    key: 'version',
    label: 'Runs',
    width: 0.8,
    number: true,
    sort: (row) => row.version ?? -1,
    cell: (row) => versionText(row.version),
  },
  {
    key: 'since',
    label: 'Out of date since',
    width: 1.2,
    // The longest first; current agents last.
    sort: ({ drift_since: since }) => (since === null ? Number.MAX_SAFE_INTEGER : Date.parse(since)),
    text: (row) => row.drift_since ?? '',
    cell: (row) => (row.drift_since ? <Time at={row.drift_since} /> : <span className="muted">–</span>),
  },
  callsColumn('agent', (row) => row.agent_id),
  {
    key: 'coverage',
    label: 'Tools enforced',
    width: 1.5,
    // The least governed agents first, those without calls last.
    sort: ({ coverage }) => (coverage ? coverage.enforced / Math.max(1, coverage.total_tools) : 2),
    text: ({ coverage }) => (coverage ? coverageWords(coverage) : ''),
    cell: (row) => <CoverageBar coverage={row.coverage ?? undefined} />,
  },
  {
    key: 'source',
    label: 'Assigned by',
    width: 1.2,
    sort: (row) => row.assignment_source,
    cell: (row) => row.assignment_source.replace('_', ' '),
  },
  {
    key: 'tags',
    label: 'Tags',
    width: 1.6,
    sort: tagsText,
    cell: (row) => <Name text={tagsText(row) || '–'} />,
  },
  {
    key: 'seen',
    label: 'Last seen',
    width: 1.1,
    sort: (row) => Date.parse(row.last_seen_at ?? '') || 0,
    text: (row) => row.last_seen_at ?? '',
    cell: (row) => <Time at={row.last_seen_at} />,
  },
];
