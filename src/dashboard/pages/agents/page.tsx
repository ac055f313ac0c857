// The fleet page: the matrix of documents and environments, the agents with their status, and assignment rules.

import { type JSX, useEffect, useMemo, useState } from 'react';
import { agentGrammar } from '../../../event/rules/query/fields.ts';
import { linkTo } from '../../lib/address.ts';
import { after } from '../../lib/browser.ts';
import { type QueryLanguage, textOfValues, usePageQuery } from '../../lib/page-query.ts';
import { useAction, usePageRows, usePages } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { count, counted, loadedText } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { PeekList, Views } from '../../ui/list.tsx';
import { say } from '../../ui/messages.tsx';
import { NoMatch, NoSearch } from '../../ui/no-match.tsx';
import { Button, PageHead } from '../../ui/parts.tsx';
import { QueryBar, StateTerms } from '../../ui/query-bar.tsx';
import { Failed, QueryProblem } from '../../ui/query-result.tsx';
import { useBundleNames } from './bundle-names.ts';
import { agentColumns } from './columns.tsx';
import { AgentDetail } from './detail.tsx';
import { useFleetChanges } from './fleet.ts';
import { FleetMatrix } from './matrix.tsx';
import { Rules } from './rules.tsx';

const pageSize = 500;
/** Maximum of agents in one assignment. */
const maxBulk = 100;
/** Delay before an old list reloads, in milliseconds, because changes of a fleet come in groups. */
const rereadMs = 1_000;

export default function Agents(): JSX.Element {
  const [{ view }] = useFilters();
  return (
    <div className="page">
      <PageHead title="Fleet" />
      <Views
        label="Views of the fleet"
        views={[
          ['matrix', 'Matrix'],
          ['agents', 'Agents'],
          ['assignment', 'Assignment'],
        ]}
      >
        {view === 'assignment' ? <Rules /> : view === 'agents' ? <Fleet /> : <FleetMatrix />}
      </Views>
    </div>
  );
}

const agentLanguage: QueryLanguage = {
  page: 'fleet',
  grammar: agentGrammar,
  earlier: ['search', 'status', 'connected', 'bundle'],
  textOf: ({ connected, ...filters }) =>
    textOfValues(agentGrammar, { search: null, status: 'is', connected: 'is', bundle: 'bundle' })({
      ...filters,
      connected: connected && (connected === 'true' ? 'connected' : 'away'),
    }),
};

function Fleet(): JSX.Element {
  const page = usePageQuery(agentLanguage);
  const { text: q, problem } = page;
  const env = useEnv();
  const [selectedIds, setSelected] = useState<ReadonlySet<string>>(new Set());
  const query = {
    limit: pageSize,
    ...(env ? { env } : {}),
    ...(q ? { q } : {}),
  };
  const agentsQuery = usePages('listAgents', { query }, { enabled: problem === null });
  const rows = usePageRows(agentsQuery, ({ reply }) => reply);
  // Another environment or query may leave out selected agents.
  const selected = useMemo(
    () => new Set(rows.map((row) => row.agent_id).filter((id) => selectedIds.has(id))),
    [rows, selectedIds],
  );
  const isOld = useFleetChanges(agentsQuery.data);
  // A short list reloads automatically, unless a person is selecting rows; a long one reloads on request.
  const isSmall = (agentsQuery.data?.pages.length ?? 0) <= 1 && selected.size === 0;
  const { refetch, isFetching } = agentsQuery;
  useEffect(() => {
    if (!isOld || !isSmall || isFetching) return;
    const timer = after(rereadMs, () => void refetch());
    return () => timer.cancel();
  }, [isOld, isSmall, isFetching, refetch]);
  return (
    <>
      <QueryBar
        language={agentLanguage}
        query={page}
        placeholder="is:out_of_date bundle:shop agent:ci-*"
        values={{ bundle: [...new Set(rows.flatMap((row) => row.resolved_bundle ?? []))] }}
      />
      <StateTerms
        language={agentLanguage}
        query={page}
        words={['connected', 'away', 'current', 'out_of_date', 'unknown']}
      />
      {selected.size > 0 && <BulkAssign ids={[...selected]} onLeft={(left) => setSelected(new Set(left))} />}
      {isOld && !isSmall && (
        <button type="button" className="pill" onClick={() => void refetch()}>
          Agents changed. Show current agents
        </button>
      )}
      {problem ? (
        <NoSearch items="agents" />
      ) : (
        <PeekList
          query={agentsQuery}
          name="agents"
          grid="Agents"
          rows={rows}
          columns={agentColumns}
          keyOf={(row) => row.agent_id}
          selected={selected}
          onSelect={setSelected}
          bar={loadedText(rows.length, 'agent', agentsQuery.hasNextPage)}
          empty={
            <NoMatch
              title={q || env ? 'No agents match these filters' : 'No agents yet'}
              text="Agents appear here when they connect or report a call with an API key."
              query={page}
              grammar={agentGrammar}
            />
          }
          linkOf={(row) => linkTo.agent(row.agent_id)}
          title={(row) => `Agent ${row.agent_id}`}
          peek={(row) => <AgentDetail id={row.agent_id} isPeek />}
        />
      )}
    </>
  );
}

function BulkAssign({
  ids,
  onLeft,
}: {
  readonly ids: readonly string[];
  /** Agents that stay selected. */
  readonly onLeft: (ids: readonly string[]) => void;
}): JSX.Element {
  const bundles = useBundleNames();
  const assign = useAction('bulkAssign', ['listAgents']);
  const [bundle, setBundle] = useState('');
  /** Progress of the assignment; null if none is running. */
  const [done, setDone] = useState<number | null>(null);
  const run = async (): Promise<void> => {
    let updated = 0;
    let at = 0;
    const words = bundle === '' ? 'set to use assignment rules' : `assigned to ${bundle}`;
    try {
      for (; at < ids.length; at += maxBulk) {
        setDone(at);
        const answer = await assign.mutateAsync({
          body: { agent_ids: ids.slice(at, at + maxBulk), bundle_name: bundle || null },
        });
        updated += answer.updated;
        for (const warning of answer.warnings ?? []) say(warning, 'deny');
      }
      say(`${counted(updated, 'agent')} ${words}.`, 'allow');
    } catch {
      // The reason appears beside the button.
      if (at > 0) say(`${counted(updated, 'agent')} ${words}; the others are still selected.`, 'deny');
    }
    setDone(null);
    onLeft(ids.slice(at));
  };
  return (
    <section className="filter-bar" aria-label="Assign the selected agents">
      <strong>{count(ids.length)} selected</strong>
      <Choice
        compact
        label="Bundle for the selected agents"
        value={bundle}
        options={[['', 'Use assignment rules'], ...bundles.names]}
        onSearch={bundles.onSearch}
        onValue={setBundle}
      />
      <ActButton operation="bulkAssign" kind="primary" busy={done !== null} onClick={() => void run()}>
        {done === null ? `Assign ${count(ids.length)}` : `Assigned ${count(done)} of ${count(ids.length)}`}
      </ActButton>
      <Button kind="quiet" disabled={done !== null} onClick={() => onLeft([])}>
        Clear selection
      </Button>
      <QueryProblem query={bundles.query} />
      {assign.error && <Failed error={assign.error} />}
    </section>
  );
}
