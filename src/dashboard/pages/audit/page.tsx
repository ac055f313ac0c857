// Audit: who did what? The feed of the audit chain, filtered in the address, and the chain itself as a file that can be
// checked offline.
import { type JSX, useEffect, useMemo, useState } from 'react';
import { auditSubjects } from '../../../domain/audit.ts';
import { dayMs } from '../../../domain/duration.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { useHosted, useHostedPages } from '../../lib/hosted-query.ts';
import { useSignedIn } from '../../lib/me.ts';
import { readOn } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { count, plainJson, visible } from '../../lib/text.ts';
import { Answer } from '../../ui/answer.tsx';
import { nameColumn, proseColumn, timeColumn } from '../../ui/columns.tsx';
import { Form } from '../../ui/form.tsx';
import { Dialog } from '../../ui/overlay.tsx';
import { Button, Data, Empty, Field, PageHead, Select, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Chain } from './chain.tsx';

type Entry = HostedReply<'hostedListAudit'>['entries'][number];

const columns: readonly Column<Entry>[] = [
  timeColumn('when', 'When', (entry) => entry.occurred_at, 1.1),
  proseColumn('who', 'Who', (entry) => entry.actor.display, 1.6),
  {
    key: 'as',
    label: 'As',
    width: 1.1,
    sort: (entry) => entry.actor.type,
    cell: (entry) => entry.actor.type,
  },
  nameColumn('action', 'Action', (entry) => entry.action_type, 1.6),
  proseColumn('summary', 'What', (entry) => entry.summary, 3.4),
];

const spans = [
  ['', 'Last 30 days'],
  ['1', 'Last day'],
  ['7', 'Last 7 days'],
  ['90', 'Last 90 days'],
  ['3650', 'From the beginning'],
] as const;
/** No frame tells of people, channels, settings and tools that change. */
const lookMs = 15_000;

export default function Audit(): JSX.Element {
  const me = useSignedIn();
  const [{ subject = '', actor = '', days = '', id }, change] = useFilters();
  const [text, setText] = useState(actor);
  // The start stays where it was when the page was opened: a moving one would be another list each time.
  const [openedAt] = useState(() => serverNow());
  const filter = {
    actor,
    ...(subject === '' ? { scope: 'all' } : { subject_type: [subject] }),
    ...(days === '' ? {} : { from: new Date(openedAt - Number(days) * dayMs).toISOString() }),
  };
  const found = useHostedPages(
    'hostedListAudit',
    { query: { limit: 100, ...filter } },
    ({ next_cursor: cursor }) => (cursor === null ? null : { cursor }),
    { own: true },
  );
  const rows = useMemo(() => (found.data?.pages ?? []).flatMap(({ entries }) => entries), [found.data]);
  const chosen = rows.find((entry) => entry.id === id);
  // The stream makes this small list old; what it does not tell of is found by looking.
  const newest = useHosted('hostedListAudit', { query: { limit: 1, ...filter } }, { refetchMs: lookMs });
  const head = newest.data?.entries[0]?.id;
  const isOld = found.data !== undefined && head !== undefined && !rows.some((entry) => entry.id === head);
  const isRead = id !== undefined || (found.data?.pages.length ?? 0) > 1;
  const { refetch, isFetching } = found;
  useEffect(() => {
    if (isOld && !isRead && !isFetching) void refetch();
  }, [isOld, isRead, isFetching, refetch]);
  return (
    <div className="page">
      <PageHead title="Audit" says="Every entry is a link of a chain whose head the hub signs each hour.">
        {!me.is_admin && <p className="muted">Only admins read the chain.</p>}
      </PageHead>
      {me.is_admin && <Chain />}
      <Form
        className="filter-bar"
        onSubmit={() => {
          change({ actor: text.trim() });
        }}
      >
        <Field label="Who, by id" value={text} maxLength={255} onValue={setText} placeholder="everybody" />
        <Select
          label="About"
          value={subject}
          options={[
            ['', 'Everything'],
            ...auditSubjects.map((kind) => [kind, kind.replace('_', ' ')] as const),
          ]}
          onValue={(next) => change({ subject: next })}
        />
        <Select label="Since" value={days} options={spans} onValue={(next) => change({ days: next })} />
        <Button submit>Find</Button>
      </Form>
      {isOld && isRead && (
        <button type="button" className="pill" onClick={() => void refetch()}>
          New entries. Show them
        </button>
      )}
      <Answer of={found} rows={10}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No entry fits">
              <p>Choose another time, person or subject.</p>
            </Empty>
          ) : (
            <Table
              name="audit entries"
              rows={rows}
              columns={columns}
              keyOf={(entry) => entry.id}
              chosen={id}
              nameOf={(entry) => visible(entry.summary).slice(0, 200)}
              onOpen={(entry) => change({ id: entry.id }, id !== undefined)}
              onEnd={() => readOn(found)}
              bar={
                <span className="muted">
                  {count(rows.length)}
                  {found.hasNextPage ? '+ entries; scroll for more' : ' entries'}
                </span>
              }
            />
          )
        }
      </Answer>
      <Dialog
        title="Audit entry"
        shape="panel"
        open={chosen !== undefined}
        onClose={() => change({ id: undefined }, true)}
      >
        {chosen && <One entry={chosen} onActor={(who) => change({ actor: who, id: undefined })} />}
      </Dialog>
    </div>
  );
}

function One({
  entry,
  onActor,
}: {
  readonly entry: Entry;
  readonly onActor: (id: string) => void;
}): JSX.Element {
  const facts: readonly (readonly [string, string | null])[] = [
    ['Action', entry.action_type],
    ['Subject', `${entry.subject.type} ${entry.subject.name ?? entry.subject.id}`],
    ['Id of the subject', entry.subject.id],
    ['Who', `${entry.actor.display} (${entry.actor.type})`],
    ['Id of who', entry.actor.id],
    ['Agent', entry.agent_id],
    ['Session', entry.session_id],
  ];
  return (
    <>
      <p>
        <Data text={entry.summary} mono={false} max={1_000} />
      </p>
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
        <Button onClick={() => onActor(entry.actor.id)}>What else this one did</Button>
      </div>
      {Object.keys(entry.details).length > 0 && (
        <>
          <h3>Details</h3>
          <pre className="code">
            <Data text={plainJson(entry.details)} max={20_000} />
          </pre>
        </>
      )}
    </>
  );
}
