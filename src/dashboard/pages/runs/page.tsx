// The runs page: sessions by their latest activity, and a peek with the timeline of one of them.
import type { JSX } from 'react';
import { runGrammar } from '../../../event/rules/query/fields.ts';
import { linkTo } from '../../lib/address.ts';
import { useHostedAction } from '../../lib/hosted-query.ts';
import { type QueryLanguage, textOfValues, usePageQuery } from '../../lib/page-query.ts';
import { readOn } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { PeekList } from '../../ui/list.tsx';
import { say } from '../../ui/messages.tsx';
import { NoMatch, NoSearch } from '../../ui/no-match.tsx';
import { Empty, PageHead } from '../../ui/parts.tsx';
import { QueryBar, StateTerms } from '../../ui/query-bar.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { runColumns } from './columns.tsx';
import { RunDetail } from './detail.tsx';
import { useRunsInRange } from './in-range.tsx';
import { type Run, runKey } from './run.ts';

const runLanguage: QueryLanguage = {
  page: 'runs',
  grammar: runGrammar,
  earlier: ['status', 'agent_id'],
  textOf: textOfValues(runGrammar, { status: 'is', agent_id: 'agent' }),
};

const keyOf = (run: Run): string => runKey(run.agent_id, run.session_id);
const linkOf = (run: Run) => linkTo.run(run.agent_id, run.session_id);

export default function Runs(): JSX.Element {
  const page = usePageQuery(runLanguage);
  const { text: q, problem } = page;
  const isNarrowed = q !== '';
  const runs = useRunsInRange(isNarrowed ? { q } : {}, useEnv(), problem === null);
  const { query, total, rows, bar, cutOff } = runs;
  return (
    <div className="page">
      <PageHead title="Runs" />
      <QueryBar language={runLanguage} query={page} placeholder="is:denied agent:checkout-010" />
      <StateTerms
        language={runLanguage}
        query={page}
        words={['running', 'pending', 'denied', 'completed', 'stale']}
      />
      {problem ? (
        <NoSearch items="runs" />
      ) : (
        <PeekList
          name="runs"
          query={query}
          rows={rows}
          onEnd={() => readOn(query)}
          columns={runColumns}
          keyOf={keyOf}
          linkOf={linkOf}
          bar={bar}
          empty={
            cutOff ??
            (total !== 0 || isNarrowed ? (
              <NoMatch title="No runs match these filters" query={page} grammar={runGrammar} hasRange />
            ) : (
              <NoRuns />
            ))
          }
          title={(run) => `Run ${run.session_id}`}
          peek={(run) => <RunDetail agent={run.agent_id} session={run.session_id} isPeek />}
        />
      )}
    </div>
  );
}

function NoRuns(): JSX.Element {
  const make = useHostedAction('hostedSampleRun', ['hostedListRuns', 'hostedListRulesets']);
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
