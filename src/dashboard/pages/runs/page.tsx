// The runs page: sessions by their latest activity, and a peek with the timeline of one of them.
import { type JSX, useState } from 'react';
import { runGrammar } from '../../../event/rules/query/fields.ts';
import { minuteMs } from '../../../shared/duration.ts';
import { linkTo } from '../../lib/address.ts';
import { byOffset, useHostedAction, useHostedPages } from '../../lib/hosted-query.ts';
import { type QueryLanguage, textOfValues, usePageQuery } from '../../lib/page-query.ts';
import { usePageRows } from '../../lib/query.ts';
import { spanOf } from '../../lib/range.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { count, counted, loadedText } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { PeekList } from '../../ui/list.tsx';
import { say } from '../../ui/messages.tsx';
import { NoMatch } from '../../ui/no-match.tsx';
import { Button, Empty, PageHead } from '../../ui/parts.tsx';
import { QueryBar, StateTerms } from '../../ui/query-bar.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { runColumns } from './columns.tsx';
import { RunDetail } from './detail.tsx';
import { isInRange, type Run, runKey } from './run.ts';

const runLanguage: QueryLanguage = {
  page: 'runs',
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

/** Pages without a run of the range that load by themselves. Then a press on a button reads on. */
const maxEmptyPages = 10;

/** Number of the last pages without a run that is visible. */
const emptyPages = (pages: readonly { readonly runs: readonly Run[] }[], visible: readonly Run[]): number => {
  const visibleRuns = new Set(visible);
  const last = pages.findLastIndex(({ runs }) => runs.some((run) => visibleRuns.has(run)));
  return pages.length - 1 - last;
};

/** The search of a range in the past, which reads newer runs first: how far it came, and whether it goes on. */
function useRunSearch(
  pages: readonly { readonly runs: readonly Run[] }[],
  rows: readonly Run[],
  mayHaveMore: boolean,
  question: string,
) {
  const [permitted, setPermitted] = useState({ question, pages: 0 });
  const permittedPages = permitted.question === question ? permitted.pages : 0;
  const isPaused = mayHaveMore && emptyPages(pages, rows) >= maxEmptyPages && pages.length >= permittedPages;
  return {
    isPaused,
    further: () => setPermitted({ question, pages: pages.length + maxEmptyPages }),
  };
}

export default function Runs(): JSX.Element {
  const [search] = useFilters();
  const page = usePageQuery(runLanguage);
  const { env: queriedEnv, ...filters } = page.parameters;
  const chosenEnv = useEnv();
  const env = queriedEnv ?? chosenEnv;
  const isNarrowed = Object.keys(filters).length > 0;
  const query = { limit: 100, ...filters };
  const runsQuery = useHostedPages('hostedListRuns', { query }, byOffset);
  const loaded = usePageRows(runsQuery, ({ runs }) => runs);
  // The newest activity comes first, and the route has no range.
  const span = spanOf(search, useNow(minuteMs));
  const rows = loaded.filter((run) => isInRange(run, span, env));
  const pages = runsQuery.data?.pages ?? [];
  const isPastRange = Date.parse(loaded.at(-1)?.last_activity_at ?? '') < span.from;
  const mayHaveMore = runsQuery.hasNextPage && !isPastRange;
  const question = JSON.stringify([filters, env, search.from, search.to]);
  const { isPaused, further } = useRunSearch(pages, rows, mayHaveMore, question);
  const hasNextPage = mayHaveMore && !isPaused;
  // The hub lists only the newest runs.
  const isCut = !isPastRange && (isPaused || (!mayHaveMore && pages.at(-1)?.has_more === true));
  const searched = `${counted(rows.length, 'run')} of this range among the newest ${count(loaded.length)}`;
  const furtherButton = isPaused && <Button onClick={further}>Search further</Button>;
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
        query={{ ...runsQuery, hasNextPage }}
        rows={rows}
        columns={runColumns}
        keyOf={keyOf}
        linkOf={linkOf}
        bar={
          isCut ? (
            <span className="muted">
              {searched} {furtherButton}
            </span>
          ) : (
            loadedText(rows.length, 'run', hasNextPage)
          )
        }
        empty={
          isCut ? (
            <Empty
              title={`No run of this range among the newest ${count(loaded.length)}`}
              text={
                isPaused
                  ? 'Older runs are not searched yet.'
                  : 'The list ends here. To reach older runs, add a term to the query.'
              }
            >
              {furtherButton}
            </Empty>
          ) : total > 0 || isNarrowed ? (
            <NoMatch title="No runs match these filters" query={page} grammar={runGrammar} hasRange />
          ) : (
            <NoRuns />
          )
        }
        title={(run) => `Run ${run.session_id}`}
        peek={(run) => <RunDetail agent={run.agent_id} session={run.session_id} isPeek />}
      />
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
