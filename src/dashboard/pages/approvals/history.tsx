// Decided approvals: decider, time, channel and reason.
import type { JSX } from 'react';
import { argumentLine } from '../../../approval/rules/argument-line.ts';
import { approvalGrammar } from '../../../event/rules/query/fields.ts';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { type PageQuery, type QueryLanguage, textOfValues } from '../../lib/page-query.ts';
import { usePageRows, usePages } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { loadedText, textOrNull } from '../../lib/text.ts';
import {
  envColumn,
  instantColumn,
  lineColumn,
  nameColumn,
  nameOrColumn,
  textColumn,
  verdictColumn,
  wordColumn,
} from '../../ui/columns.tsx';
import { StateTerms } from '../../ui/query-bar.tsx';
import { type Resource, ResourceView } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { channelWord } from './model.ts';

const pageSize = 100;
type Decided = Reply<'listApprovals'>[number];

const columns: readonly Column<Decided>[] = [
  nameColumn('tool', 'Tool', (one) => one.tool_name, 1.2),
  verdictColumn('outcome', 'Outcome', (one) => one.status, 1.4),
  lineColumn('arguments', 'Arguments', (one) => argumentLine(one.tool_args), 1.8),
  nameColumn('contract', 'Contract', (one) => one.contract_name, 1.3),
  nameColumn('agent', 'Agent', (one) => one.agent_id, 1.3),
  envColumn('env', 'Environment', (one) => one.env, 1.4),
  nameOrColumn('nobody', false)('by', 'Decided by', (one) => one.decided_by, 1.4),
  wordColumn('through', 'Channel', (one) => one.decided_via && channelWord(one.decided_via), 1.1),
  textColumn(80)('reason', 'Reason', (one) => textOrNull(one.decision_reason), 1.5),
  instantColumn('when', 'Time', (one) => one.decided_at ?? one.created_at),
];

export const inboxLanguage: QueryLanguage = {
  page: 'inbox',
  grammar: approvalGrammar,
  earlier: ['search', 'status'],
  textOf: textOfValues(approvalGrammar, { search: null, status: 'is' }),
};

/** @param page its query has no mistake */
export function History({ page }: { readonly page: PageQuery }): JSX.Element {
  const env = useEnv();
  const { text: q } = page;
  // Behind the person's own terms: the hub has an index for the first state.
  const text = [q, 'is:decided'].filter((part) => part !== '').join(' ');
  const query = { limit: pageSize, ...(env ? { env } : {}), q: text };
  const approvalsQuery = usePages('listApprovals', { query });
  const rows = usePageRows(approvalsQuery, ({ reply }) => reply);
  const { hasNextPage } = approvalsQuery;
  const decided: Resource<Decided> = {
    name: 'decided approvals',
    noun: 'decision',
    grid: 'Approvals',
    columns,
    keyOf: (one) => one.id,
    linkOf: (one) => linkTo.approval(one.id),
    bar: <span className="muted numbers">{loadedText(rows.length, 'decision', hasNextPage)}</span>,
    empty: q
      ? { title: 'No decisions match these filters', text: 'Change the query.' }
      : {
          title: 'No decisions yet',
          text: 'Approved and denied calls appear here with the decider, time, channel and reason.',
        },
  };
  return (
    <div className="card">
      <ResourceView
        resource={decided}
        query={approvalsQuery}
        rows={rows}
        head={() => (
          <div className="card-head">
            <StateTerms language={inboxLanguage} query={page} words={['approved', 'denied', 'expired']} />
          </div>
        )}
      />
    </div>
  );
}
