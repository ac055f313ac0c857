// One agent: its assigned bundle with the reason, its running version, its tags, and its latest activity.

import { Link } from '@tanstack/react-router';
import { type JSX, useEffect, useRef } from 'react';
import { agentGrammar } from '../../../event/rules/query/fields.ts';
import { printQuery, valueTerm } from '../../../event/rules/query/print.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { keyOf, queries, useAction, useCall } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { CallVerdict } from '../../ui/call-verdict.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Field, Form, useFields } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Data, Env, Name, Time, Verdict } from '../../ui/parts.tsx';
import { QueryProblem, QueryResult } from '../../ui/query-result.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { AssignedBundle } from './assigned-bundle.tsx';
import { useBundleNames } from './bundle-names.ts';
import { useFleetChanges } from './fleet.ts';
import { AgentStreams } from './streams.tsx';
import { tagsOf, tagsProblem, tagsText } from './tags.ts';
import { AgentTimeline } from './timeline.tsx';

type Registration = Reply<'getRegistration'>;

export function AgentDetail({
  id,
  isPeek = false,
}: {
  readonly id: string;
  /** Without streams and the form. */
  readonly isPeek?: boolean;
}): JSX.Element {
  const registrationQuery = useCall('getRegistration', { params: { agent_id: id } });
  return (
    <QueryResult query={registrationQuery} rows={8}>
      {(agent) => (
        <>
          <h2 className="panel-name">
            <Data text={agent.agent_id} />
          </h2>
          <p className="muted">
            First seen <Time at={agent.created_at} />, last seen <Time at={agent.last_seen_at} />.
          </p>
          <Standing id={id} />
          <Why id={id} />
          {!isPeek && (
            <>
              <AgentTimeline id={id} />
              <AgentStreams id={id} />
              <Change agent={agent} />
            </>
          )}
          <Calls id={id} />
        </>
      )}
    </QueryResult>
  );
}

function Standing({ id }: { readonly id: string }): JSX.Element {
  // The search narrows in the store, the query to this agent alone.
  const q = printQuery({ terms: [valueTerm('agent', id)] }, agentGrammar);
  const agentsQuery = useCall('listAgents', { query: { search: id, q, limit: 1 } });
  const isOld = useFleetChanges(agentsQuery.data);
  const { refetch } = agentsQuery;
  useEffect(() => {
    if (isOld) void refetch();
  }, [isOld, refetch]);
  return (
    <QuerySection title="Running version" query={agentsQuery} rows={1}>
      {(list) => {
        const own = list.filter((one) => one.agent_id === id);
        if (own.length === 0) return <p className="muted">No running version is recorded for this agent.</p>;
        return (
          <ul className="feed">
            {own.map((one) => (
              <li key={one.env} className="feed-row">
                <span>
                  <Verdict word={one.status} /> {one.env && <Env name={one.env} />}{' '}
                  {one.version === null ? 'version unknown' : `runs v${one.version}`}
                  {one.followed_bundle && <Data before=" of " text={one.followed_bundle} max={80} />}
                </span>
                <span className="muted">
                  {one.connected ? (
                    <>
                      {counted(one.streams, 'open stream')}, the newest <Time at={one.connected_at} />
                    </>
                  ) : (
                    'not connected'
                  )}
                </span>
                {one.cannot_load && <p>{unableSentence(one)}</p>}
              </li>
            ))}
          </ul>
        );
      }}
    </QuerySection>
  );
}

/** Reason why an agent keeps a replaced document. */
const unableSentence = ({ last_api: api }: Reply<'listAgents'>[number]): string => {
  const why =
    api === 'hosted'
      ? '/v1, where agents load rulesets, but its document is a contract bundle'
      : '/api/v1, where agents load contracts, but its document is a ruleset';
  return `The agent cannot load its document. It last connected through ${why}. It keeps its current document.`;
};

function Why({ id }: { readonly id: string }): JSX.Element {
  const resolveRuleQuery = useCall('resolveRule', { params: { agent_id: id } });
  return (
    <QuerySection title="Assigned document" query={resolveRuleQuery} rows={1}>
      {(resolution) => (
        <p>
          <AssignedBundle
            resolution={resolution}
            none="No assignment. The agent gets the deployment of its environment."
          />
        </p>
      )}
    </QuerySection>
  );
}

function Change({ agent }: { readonly agent: Registration }): JSX.Element {
  const bundles = useBundleNames(agent.bundle_name || null);
  const save = useAction('updateRegistration', ['listAgents', 'getRegistration', 'resolveRule']);
  // Another person's change must not discard input. The other fields follow the hub, and are not sent.
  const [typed, bindTyped, setTyped] = useFields<{ readonly [name: string]: string }>({});
  const form = {
    name: agent.display_name ?? '',
    tags: tagsText(agent.tags),
    bundle: agent.bundle_name ?? '',
    ...typed,
  };
  const bind = (name: keyof typeof form, sent?: string) => ({ ...bindTyped(name, sent), value: form[name] });
  // Until the answer is on the page: the fields would show the earlier state for a moment.
  const saved = useRef<typeof typed | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: an answer is a new registration
  useEffect(() => {
    const sent = saved.current;
    if (sent === null) return;
    saved.current = null;
    // Input since the press stays.
    setTyped((latest) =>
      Object.fromEntries(Object.entries(latest).filter(([name, value]) => value !== sent[name])),
    );
  }, [agent, setTyped]);
  const params = { agent_id: agent.agent_id };
  const submit = (): void => {
    const body = {
      ...('name' in typed ? { display_name: form.name || null } : {}),
      ...('tags' in typed ? { tags: tagsOf(form.tags) } : {}),
      ...('bundle' in typed ? { bundle_name: form.bundle || null } : {}),
    };
    save.mutate({ params, body } as Input<'updateRegistration'>, (reply) => {
      saved.current = typed;
      queries.setQueryData(keyOf('getRegistration', { params }), reply);
      const [warning] = reply.warnings ?? [];
      if (warning === undefined) say('Agent saved.', 'allow');
      else say(`Agent saved. ${warning}`, 'deny');
    });
  };
  return (
    <Form
      onSubmit={submit}
      by={save}
      act="Save agent"
      operation="updateRegistration"
      isOff={tagsProblem(form.tags) !== null}
    >
      <h2>Edit agent</h2>
      <Field {...bind('name', 'display_name')} label="Display name" maxLength={255} />
      <Field
        {...bind('tags')}
        label="Tags"
        help="Enter name=value pairs, separated by commas."
        error={tagsProblem(form.tags) ?? undefined}
      />
      <Choice
        {...bind('bundle', 'bundle_name')}
        label="Assigned bundle"
        options={[['', 'Use assignment rules'], ...bundles.names]}
        onSearch={bundles.onSearch}
      />
      <QueryProblem query={bundles.query} />
    </Form>
  );
}

function Calls({ id }: { readonly id: string }): JSX.Element {
  const [search] = useFilters();
  const env = useEnv();
  const query = { agent_id: id, limit: 10, ...(env ? { env } : {}) };
  const eventsQuery = useCall('searchEvents', { query }, { moving: rangeOf(search) });
  return (
    <QuerySection
      title="Recent calls"
      query={eventsQuery}
      rows={3}
      none={(list) =>
        list.length === 0 && 'No calls in this range. Calls appear here when the agent reports them.'
      }
    >
      {(list) => (
        <>
          <ul>
            {list.map((event) => (
              <li key={event.id} className="before-row">
                <CallVerdict {...event} />
                <Name text={event.tool_name} />
                <Time at={event.timestamp} className="muted" />
              </li>
            ))}
          </ul>
          <Link to="/explore" search={{ agent_id: id } as never}>
            View all events
          </Link>
        </>
      )}
    </QuerySection>
  );
}
