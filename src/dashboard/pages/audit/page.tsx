// The audit page: the filtered feed of the audit chain, and the chain as a file for offline verification.
import { type JSX, useEffect } from 'react';
import { auditActionText } from '../../../../packages/agent/src/rules/state-words.ts';
import { auditGrammar } from '../../../event/rules/query/fields.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { byCursor, useHosted, useHostedPages } from '../../lib/hosted-query.ts';
import { useSignedIn } from '../../lib/me.ts';
import { type QueryLanguage, textOfValues, usePageQuery } from '../../lib/page-query.ts';
import { type Moving, usePageRows } from '../../lib/query.ts';
import { instantsOf, spanOf } from '../../lib/range.ts';
import { type Search, useFilters } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { loadedText, plainJson, visible } from '../../lib/text.ts';
import { envsColumn, instantColumn, proseColumn, wordColumn } from '../../ui/columns.tsx';
import { PeekList, usePeek, Views } from '../../ui/list.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { NoMatch, NoSearch } from '../../ui/no-match.tsx';
import { Button, Data, PageHead, Time } from '../../ui/parts.tsx';
import { QueryBar } from '../../ui/query-bar.tsx';
import type { Column } from '../../ui/table.tsx';
import { Chain } from './chain.tsx';
import { ChangeTable, changeIn } from './change.tsx';

type Entry = HostedReply<'hostedListAudit'>['entries'][number];

const keyOf = ({ id }: Entry): string => id;

const actorTypes: { readonly [type: string]: string } = {
  operator: 'user',
  chat: 'chat user',
  agent: 'agent',
  key: 'API key',
  system: 'hub',
};
const actorType = ({ actor: { type } }: Entry): string => actorTypes[type] ?? type;

/** The stored summary; of a denied approval the entry contains the API's own word. */
const summaryText = ({ action_type: action, actor, subject, summary }: Entry): string =>
  action === 'approval.rejected'
    ? `${actor.display} denied a call of ${subject.name ?? subject.id}.`
    : summary;

const textsIn = (value: unknown): readonly string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string' && one !== '');

const envsOf = ({ details: { env, envs = env } }: Entry): readonly string[] => textsIn(envs);

const reasonOf = ({ details: { reason } }: Entry): string => textsIn(reason).join(' ');

const columns: readonly Column<Entry>[] = [
  instantColumn('when', 'Time', (entry) => entry.occurred_at, 1.6),
  proseColumn('who', 'Actor', (entry) => entry.actor.display, 1.6),
  wordColumn('as', 'Actor type', actorType, 1.1),
  proseColumn('action', 'Action', (entry) => auditActionText(entry.action_type), 1.6),
  proseColumn('summary', 'Summary', summaryText, 3.4),
  envsColumn('–')('env', 'Environment', envsOf, 1.4),
  proseColumn('reason', 'Reason', reasonOf, 1.6),
];

/** Actor types by view; people come first. */
const actors: { readonly [view: string]: readonly string[] } = {
  people: ['operator', 'chat'],
  machines: ['agent', 'key'],
  hub: ['system'],
};
const auditLanguage: QueryLanguage = {
  page: 'audit',
  grammar: auditGrammar,
  earlier: ['actor', 'subject'],
  textOf: textOfValues(auditGrammar, { actor: 'by', subject: 'subject' }),
};

/** No frame announces changed users, channels, settings and tools. */
const lookMs = 15_000;

/** The range in the address, in the names of the route. */
function rangeOfAudit(search: Search): Moving {
  const query = () => {
    const { since, until } = instantsOf(spanOf(search, serverNow()));
    return { from: since, to: until };
  };
  return { name: `${search.from ?? ''} ${search.to ?? ''}`, query };
}

/** The loaded entries. They follow new ones by themselves as long as nobody reads further down. */
function useEntries(filter: object, enabled: boolean) {
  const [search] = useFilters();
  const query = { limit: 100, ...filter };
  const moving = rangeOfAudit(search);
  const auditQuery = useHostedPages('hostedListAudit', { query }, byCursor, { own: true, moving, enabled });
  const rows = usePageRows(auditQuery, ({ entries }) => entries);
  const { row: openRow } = usePeek(rows, keyOf, undefined);
  // The stream refreshes this small list; polling covers what the stream does not announce.
  const newest = useHosted(
    'hostedListAudit',
    { query: { limit: 1, ...filter } },
    { refetchMs: lookMs, moving, enabled },
  );
  const head = newest.data?.entries[0]?.id;
  const isOld =
    auditQuery.data !== undefined && head !== undefined && !rows.some((entry) => entry.id === head);
  const isRead = openRow !== undefined || (auditQuery.data?.pages.length ?? 0) > 1;
  const { refetch, isFetching } = auditQuery;
  useEffect(() => {
    if (isOld && !isRead && !isFetching) void refetch();
  }, [isOld, isRead, isFetching, refetch]);
  return { auditQuery, rows, hasHiddenEntries: isOld && isRead };
}

export default function Audit(): JSX.Element {
  const me = useSignedIn();
  const [{ view = 'people' }] = useFilters();
  const page = usePageQuery(auditLanguage);
  const { text: q, problem } = page;
  const filter = {
    ...(q ? { q } : {}),
    ...(actors[view] ? { actor_type: actors[view] } : {}),
    scope: 'all',
  };
  const { auditQuery, rows, hasHiddenEntries } = useEntries(filter, problem === null);
  return (
    <div className="page">
      <PageHead
        title="Audit"
        summary="Each entry is a link in a hash chain. The hub signs the end of the chain every hour."
      >
        {!me.is_admin && <p className="muted">Only admins can verify and download the chain.</p>}
      </PageHead>
      {me.is_admin && <Chain />}
      <Views
        label="Actors"
        views={[
          ['people', 'People'],
          ['machines', 'Agents and keys'],
          ['hub', 'Hub'],
          ['everyone', 'All'],
        ]}
      >
        <QueryBar
          language={auditLanguage}
          query={page}
          placeholder="action:key.created subject:channel agent:ci-1"
        />
        {hasHiddenEntries && (
          <button type="button" className="pill" onClick={() => void auditQuery.refetch()}>
            Show new entries
          </button>
        )}
        {problem ? (
          <NoSearch items="entries" />
        ) : (
          <PeekList
            query={auditQuery}
            name="audit entries"
            rows={rows}
            columns={columns}
            keyOf={keyOf}
            nameOf={(entry) => visible(entry.summary).slice(0, 200)}
            bar={loadedText(rows.length, 'entry', auditQuery.hasNextPage, 'entries')}
            empty={
              <NoMatch
                title="No entries match these filters"
                text="Entries appear here when somebody changes or decides something."
                query={page}
                grammar={auditGrammar}
                hasRange
              />
            }
            title={() => 'Audit entry'}
            peek={(entry) => (
              <One entry={entry} onActor={(who) => page.change(auditLanguage.textOf({ actor: who }))} />
            )}
          />
        )}
      </Views>
    </div>
  );
}

function One({ entry, onActor }: Readonly<{ entry: Entry; onActor: (id: string) => void }>): JSX.Element {
  const facts: readonly (readonly [string, string | null])[] = [
    ['Action', auditActionText(entry.action_type)],
    ['Subject', `${entry.subject.type.replaceAll('_', ' ')} ${entry.subject.name ?? entry.subject.id}`],
    ['Subject ID', entry.subject.id],
    ['Actor', `${entry.actor.display} (${actorType(entry)})`],
    ['Actor ID', entry.actor.id],
    ['Agent', entry.agent_id],
    ['Session', entry.session_id],
  ];
  const change = changeIn(entry.details);
  const { before, after, ...others } = entry.details;
  const details = change ? others : entry.details;
  return (
    <>
      <DataParagraph text={summaryText(entry)} mono={false} max={1_000} />
      <p className="muted">
        <Time at={entry.occurred_at} />
      </p>
      <dl className="arguments">
        {facts.map(
          ([name, value]) =>
            value !== null && (
              <div key={name} className="argument">
                <dt>{name}</dt>
                <dd>
                  <Data text={value} max={300} />
                </dd>
              </div>
            ),
        )}
      </dl>
      <div>
        <Button onClick={() => onActor(entry.actor.id)}>View all entries by this actor</Button>
      </div>
      {change && <ChangeTable change={change} />}
      {Object.keys(details).length > 0 && (
        <>
          <h2>Details</h2>
          <pre className="code">
            <Data text={plainJson(details)} max={20_000} />
          </pre>
        </>
      )}
    </>
  );
}
