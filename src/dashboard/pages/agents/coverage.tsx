// Coverage by contracts: a bar for each agent of the fleet, and the tools of one agent with their contracts.
import type { JSX } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { counted, milliseconds } from '../../lib/text.ts';
import { countColumn, nameColumn, timeColumn, verdictColumn } from '../../ui/columns.tsx';
import { Data, Time } from '../../ui/parts.tsx';
import { QuerySection, Section } from '../../ui/section.tsx';
import { Table } from '../../ui/table.tsx';
import './bars.css';

type Covered = NonNullable<Reply<'listAgents'>[number]['coverage']>;

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
  const [search] = useFilters();
  const input = { params: { agent_id: id }, query: { include_verdicts: 'true', include_durations: 'true' } };
  const agentCoverageQuery = useCall('agentCoverage', input as Input<'agentCoverage'>, {
    moving: rangeOf(search),
  });
  const title = { title: 'Tool coverage', label: 'Coverage' };
  // The hub has no coverage of an agent without calls in the range.
  if (agentCoverageQuery.error?.status === 404) {
    return (
      <Section {...title}>
        <p className="muted">No tool calls in this range. Choose a longer one.</p>
      </Section>
    );
  }
  return (
    <QuerySection {...title} query={agentCoverageQuery} rows={3}>
      {({ tools, summary, deployed_bundle: bundle, time_window: period }) => (
        <>
          <p>
            <CoverageBar coverage={summary} />{' '}
            <span className="muted">
              {bundle && (
                <>
                  by <Data text={bundle.name} max={80} /> v{bundle.version},{' '}
                </>
              )}
              calls since <Time at={period.since} />
              {search.to && (
                <>
                  , before <Time at={period.until} />
                </>
              )}
            </span>
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
    </QuerySection>
  );
}
