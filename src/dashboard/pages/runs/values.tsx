// A session's values in the hub: its counters, whose keys are the same for all clients, and other values by key.
import { type JSX, useMemo, useState } from 'react';
import { useHosted } from '../../lib/hosted-query.ts';
import { useCall } from '../../lib/query.ts';
import { sessionKeys } from '../../lib/session-keys.ts';
import { Field, Form } from '../../ui/form.tsx';
import { Button, Data } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Section } from '../../ui/section.tsx';

export function SessionValues({ agent, session }: Readonly<{ agent: string; session: string }>): JSX.Element {
  const events = useHosted('hostedSearchEvents', {
    query: { agent_id: agent, session_id: session, limit: 200 },
  });
  return (
    <Section title="Session values" label>
      <QueryResult query={events} rows={2}>
        {(page) => (
          <Counters
            session={session}
            tools={[...new Set(page.events.map(({ tool_name: tool }) => tool))].sort()}
          />
        )}
      </QueryResult>
      <LookUp />
    </Section>
  );
}

function Counters({ session, tools }: Readonly<{ session: string; tools: readonly string[] }>): JSX.Element {
  const keys = useMemo(() => sessionKeys(session, tools), [session, tools]);
  const sessionsQuery = useCall('readSessions', { body: { keys: keys.map(({ key }) => key) } });
  return (
    <QueryResult query={sessionsQuery} rows={2}>
      {({ values }) => {
        const kept = keys.flatMap((one) => {
          const value = values[one.key];
          return value === null || value === undefined ? [] : [{ ...one, value }];
        });
        return kept.length === 0 ? (
          <p className="muted">
            No session counters in the hub. The agent may keep them itself, or they expired 7 days after the
            last update.
          </p>
        ) : (
          <dl className="facts">
            {kept.map(({ key, label, tool, value }) => (
              <div key={key} className="fact" title={key}>
                <dt>
                  {label} {tool !== undefined && <Data text={tool} max={80} />}
                </dt>
                <dd className="numbers">
                  <Data text={value} max={200} />
                </dd>
              </div>
            ))}
          </dl>
        );
      }}
    </QueryResult>
  );
}

/** The hub does not list keys, so a person finds an agent's own values by key. */
function LookUp(): JSX.Element {
  const [typed, setTyped] = useState('');
  const [key, setKey] = useState('');
  const sessionsQuery = useCall('readSessions', { body: { keys: [key] } }, { enabled: key !== '' });
  return (
    <Form
      onSubmit={() => {
        setKey(typed.trim());
      }}
    >
      <Field
        label="Value key"
        value={typed}
        maxLength={256}
        onValue={setTyped}
        autoComplete="off"
        spellCheck={false}
      />
      <div>
        <Button submit disabled={typed.trim() === ''}>
          Find value
        </Button>
      </div>
      {key !== '' && (
        <QueryResult query={sessionsQuery} rows={1}>
          {({ values }) => {
            const value = values[key];
            return value === null || value === undefined ? (
              <p className="muted">
                No value found for the key <Data text={key} max={256} />.
              </p>
            ) : (
              <pre className="code">
                <Data text={value} max={20_000} />
              </pre>
            );
          }}
        </QueryResult>
      )}
    </Form>
  );
}
