// Coverage by contracts: a bar for each agent of the fleet, and the tools of one agent with their contracts.
import { type JSX, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { counted, milliseconds } from '../../lib/text.ts';
import { countColumn, nameColumn, timeColumn, verdictColumn } from '../../ui/columns.tsx';
import { Data } from '../../ui/parts.tsx';
import { PeriodSelect } from '../../ui/period.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Table } from '../../ui/table.tsx';
import './coverage.css';

export interface Covered {
  readonly total_tools: number;
  readonly enforced: number;
  readonly observed: number;
  readonly ungoverned: number;
}

export const coverageWords = ({ total_tools: total, enforced, observed, ungoverned }: Covered): string =>
  `${enforced} of ${counted(total, 'tool')} enforced, ${observed} observed only, ${ungoverned} ungoverned`;

/** A bar of enforced, observed and ungoverned tools, with a text for screen readers. */
export function CoverageBar({ coverage }: { readonly coverage: Covered | undefined }): JSX.Element {
  if (coverage === undefined || coverage.total_tools === 0) return <span className="muted">no calls</span>;
  const words = coverageWords(coverage);
  return (
    <span className="coverage" title={words}>
      <span className="coverage-bar" aria-hidden="true">
        {(['enforced', 'observed', 'ungoverned'] as const).map((kind) =>
          coverage[kind] === 0 ? null : (
            <span key={kind} className={`coverage-${kind}`} style={{ flexGrow: coverage[kind] }} />
          ),
        )}
      </span>
      <span className="numbers" aria-hidden="true">
        {coverage.enforced}/{coverage.total_tools}
      </span>
      <span className="heard">{words}</span>
    </span>
  );
}

const periods = ['1h', '24h', '7d', '30d'] as const;

type Tool = Reply<'agentCoverage'>['tools'][number];

/** The median. The other figures are in the tooltip. */
function Durations({
  durations,
}: Readonly<{ durations: NonNullable<Tool['durations']> | null }>): JSX.Element {
  if (durations === null) return <span className="muted">–</span>;
  const title =
    `95 % within ${milliseconds(durations.p95_ms)}, at most ${milliseconds(durations.max_ms)}; ` +
    `${counted(durations.runs, 'measured run')} among the newest 1,000 calls`;
  return <span title={title}>{milliseconds(durations.p50_ms)}</span>;
}

export function AgentCoverage({ id }: { readonly id: string }): JSX.Element {
  const [since, setSince] = useState<(typeof periods)[number]>('24h');
  const agentCoverageQuery = useCall('agentCoverage', {
    params: { agent_id: id },
    query: { since, include_verdicts: 'true', include_durations: 'true' },
  } as Input<'agentCoverage'>);
  return (
    <section className="form" aria-label="Coverage">
      <div className="card-head">
        <h2>Tool coverage</h2>
        <PeriodSelect label="Period" value={since} periods={periods} onValue={setSince} />
      </div>
      <QueryResult
        query={agentCoverageQuery}
        rows={3}
        none={({ tools }) => tools.length === 0 && 'No tool calls in this period. Choose a longer one.'}
      >
        {({ tools, summary, deployed_bundle: bundle }) => (
          <>
            <p>
              <CoverageBar coverage={summary} />{' '}
              {bundle && (
                <span className="muted">
                  by <Data text={bundle.name} max={80} /> v{bundle.version}
                </span>
              )}
            </p>
            <Table<Tool>
              name="tools of an agent"
              row="tool"
              sortAs="tools_sort"
              rows={tools}
              keyOf={(tool) => tool.tool_name}
              columns={[
                nameColumn('tool', 'Tool', (tool) => tool.tool_name, 1.6),
                verdictColumn(
                  'status',
                  'Status',
                  (tool) => (tool.status === 'observed' ? 'observed only' : tool.status),
                  1.7,
                ),
                nameColumn('contract', 'Contract', (tool) => tool.contract_name ?? '', 1.4),
                countColumn('calls', 'Calls', (tool) => tool.event_count, 0.8),
                countColumn('denied', 'Denied', (tool) => tool.deny_count ?? 0, 0.9),
                {
                  key: 'median',
                  label: 'Median time',
                  width: 1,
                  number: true,
                  sort: (tool) => tool.durations?.p50_ms ?? -1,
                  cell: ({ durations }) => <Durations durations={durations ?? null} />,
                },
                timeColumn('used', 'Last used', (tool) => tool.last_used, 1.2),
              ]}
            />
          </>
        )}
      </QueryResult>
    </section>
  );
}
