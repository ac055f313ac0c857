// Items that need a person now, the most urgent first, with the page where a person can act.
import { Link } from '@tanstack/react-router';
import type { JSX, ReactNode } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { count, counted, duration } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { Icon, type IconName } from '../../ui/icons.tsx';
import { Data, Empty, Env, Time, TimeWords } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';

type AttentionItem = Reply<'attention'>['items'][number];

/** No frame announces most of the items. The hub computes them at most once in 5 s. */
const lookMs = 6_000;

export function NeedsAttention(): JSX.Element {
  const env = useEnv();
  const attention = useCall('attention', { query: env ? { env } : {} }, { refetchMs: lookMs });
  const size = attention.data?.items.length ?? 0;
  return (
    <section className="card" aria-labelledby="attention">
      <h2 id="attention">Needs attention{size > 0 && ` ${size}`}</h2>
      <QueryResult
        query={attention}
        rows={3}
        none={({ items }) =>
          items.length === 0 && (
            <Empty
              title="Nothing needs attention"
              text="Approvals close to their deadline, unusual denials and agents out of date appear here."
            />
          )
        }
      >
        {({ items }) => (
          <ul className="feed attention">
            {items.map((item) => (
              <li key={keyOf(item)} className="feed-row">
                <Sentence item={item} />
              </li>
            ))}
          </ul>
        )}
      </QueryResult>
    </section>
  );
}

/** Tokens of one service account have their own items. */
const keyOf = ({ kind, env, subject, facts, deadline }: AttentionItem): string =>
  JSON.stringify([kind, env, subject.id, facts.token, facts.token === undefined ? null : deadline]);

interface Words {
  readonly icon: IconName;
  readonly tone: string;
  readonly text: (item: AttentionItem, name: JSX.Element) => ReactNode;
  readonly link: (item: AttentionItem) => {
    readonly to: string;
    readonly params?: never;
    readonly search?: never;
  };
  readonly act: string;
}

type Filters = { readonly [name: string]: string | undefined };

const search = (filters: Filters) => ({ search: filters as never });

/** The agents in the environment of an item. */
const fleet = ({ env }: AttentionItem, filters: Filters) => ({
  to: '/fleet',
  ...search({ view: 'agents', ...filters, env: env ?? undefined }),
});

/** The version whose deployment began it. */
const sinceVersion = (version: AttentionItem['facts'][string] | undefined): string =>
  typeof version === 'number' ? ` since v${version}` : '';

const words: { readonly [K in AttentionItem['kind']]: Words } = {
  approval_deadline: {
    icon: 'diamond',
    tone: 'ask',
    text: ({ facts }, name) => (
      <>
        {name} from <Data text={String(facts.agent_id ?? '')} max={60} /> waits for a decision
      </>
    ),
    link: ({ subject }) => linkTo.approval(subject.id),
    act: 'Review',
  },
  deny_spike: {
    icon: 'slash',
    tone: 'deny',
    text: ({ count: calls, facts }, name) => (
      <>
        {name} denies or would deny {count(Math.round(calls / Math.max(1, Number(facts.usual))))} times as
        many calls as usual{sinceVersion(facts.version)}: {counted(calls, 'call')} in{' '}
        {duration(Number(facts.window_seconds) * 1000)}
      </>
    ),
    link: ({ subject, since, env }) => ({
      to: '/explore',
      ...search({
        q: 'verdict:(denied,would_deny)',
        decision_name: subject.id,
        from: since ?? undefined,
        env: env ?? undefined,
      }),
    }),
    act: 'Explore',
  },
  out_of_date: {
    icon: 'triangle',
    tone: 'drift',
    text: ({ count: agents, facts }, name) => (
      <>
        {counted(agents, 'agent')} of {name} {agents === 1 ? 'is' : 'are'} out of date
        {sinceVersion(facts.wanted_version)}
      </>
    ),
    link: (item) => fleet(item, { status: 'drift', bundle: item.subject.id, sort: 'since' }),
    act: 'Fleet',
  },
  silent_agents: {
    icon: 'agents',
    tone: 'drift',
    text: ({ count: agents, facts }) => (
      <>
        {counted(agents, 'agent')} that {agents === 1 ? 'is' : 'are'} usually connected{' '}
        {agents === 1 ? 'is' : 'are'} away: <Data text={String(facts.agent_id ?? '')} max={60} />
        {agents > 1 && ' and others'}
      </>
    ),
    link: (item) => fleet(item, { q: 'is:away' }),
    act: 'Fleet',
  },
  cannot_load: {
    icon: 'triangle',
    tone: 'drift',
    text: ({ count: agents }, name) => (
      <>
        {counted(agents, 'agent')} cannot load {name} and {agents === 1 ? 'keeps' : 'keep'} another document
      </>
    ),
    link: (item) => fleet(item, { bundle: item.subject.id }),
    act: 'Fleet',
  },
  tool_waits: {
    icon: 'tools',
    tone: 'ask',
    text: ({ count: tools }, name) => (
      <>
        {counted(tools, 'tool definition')} of {name} {tools === 1 ? 'waits' : 'wait'} for a person
      </>
    ),
    link: ({ env }) => ({ to: '/tools', ...search({ env: env ?? undefined }) }),
    act: 'Review',
  },
  delivery_failing: {
    icon: 'channels',
    tone: 'deny',
    text: ({ count: attempts }, name) => (
      <>
        The last {counted(attempts, 'delivery', 'deliveries')} of {name} failed
      </>
    ),
    link: ({ subject }) => linkTo.channel(subject.id),
    act: 'View channel',
  },
  key_expiring: {
    icon: 'keys',
    tone: 'ask',
    text: ({ subject, facts }, name) => (
      <>
        {subject.type === 'key' ? 'The key ' : 'The token '}
        {subject.type !== 'key' && (
          <>
            <Data text={String(facts.token ?? '')} max={60} /> of{' '}
          </>
        )}
        {name} expires
      </>
    ),
    link: ({ subject }) => ({ to: subject.type === 'key' ? '/admin/keys' : '/admin/service-accounts' }),
    act: 'View',
  },
  store: {
    icon: 'triangle',
    tone: 'deny',
    text: ({ facts }) => `The store is ${String(facts.state).replaceAll('_', ' ')}`,
    link: () => ({ to: '/admin/system' }),
    act: 'View system',
  },
};

function Sentence({ item }: { readonly item: AttentionItem }): JSX.Element {
  const { icon, tone, text, link, act } = words[item.kind];
  return (
    <>
      <span className="attention-what">
        <span className={`tone-${tone}`}>
          <Icon name={icon} />
        </span>
        <span>
          {text(item, <Data text={item.subject.name} max={80} />)}
          {item.env && (
            <>
              {' '}
              in <Env name={item.env} />
            </>
          )}
        </span>
      </span>
      <span className="muted">
        {item.deadline ? (
          <Left at={item.deadline} />
        ) : (
          item.since && (
            <>
              since <Time at={item.since} />
            </>
          )
        )}
      </span>
      <Link {...link(item)} className="button">
        {act}
        <span className="heard"> {item.subject.name.slice(0, 80)}</span>
      </Link>
    </>
  );
}

function Left({ at }: { readonly at: string }): JSX.Element {
  const left = Date.parse(at) - useNow(1_000);
  return (
    <TimeWords at={at} className="numbers">
      {left > 0 ? `${duration(left)} left` : 'expired'}
    </TimeWords>
  );
}
