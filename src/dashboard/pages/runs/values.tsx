// The values that a session keeps in the hub: its counters, by the keys that all clients use, and any other by its key.
import { type JSX, useMemo, useState } from 'react';
import { useHosted } from '../../lib/hosted-query.ts';
import { useCall } from '../../lib/query.ts';
import { sessionKeys } from '../../lib/session-keys.ts';
import { Answer } from '../../ui/answer.tsx';
import { Form } from '../../ui/form.tsx';
import { Button, Data, Field } from '../../ui/parts.tsx';

export function SessionValues({
  agent,
  session,
}: {
  readonly agent: string;
  readonly session: string;
}): JSX.Element {
  const events = useHosted('hostedSearchEvents', {
    query: { agent_id: agent, session_id: session, limit: 200 },
  });
  return (
    <section className="form" aria-label="Session values">
      <h3>Its session values</h3>
      <Answer of={events} rows={2}>
        {(found) => (
          <Counters
            session={session}
            tools={[...new Set(found.events.map(({ tool_name: tool }) => tool))].sort()}
          />
        )}
      </Answer>
      <LookUp />
    </section>
  );
}

function Counters({
  session,
  tools,
}: {
  readonly session: string;
  readonly tools: readonly string[];
}): JSX.Element {
  const keys = useMemo(() => sessionKeys(session, tools), [session, tools]);
  const found = useCall('readSessions', { body: { keys: keys.map(({ key }) => key) } });
  return (
    <Answer of={found} rows={2}>
      {({ values }) => {
        const kept = keys.flatMap((one) => {
          const value = values[one.key];
          return value === null || value === undefined ? [] : [{ ...one, value }];
        });
        return kept.length === 0 ? (
          <p className="muted">
            It keeps no counters in the hub: they are in the agent's own process, or ended 7 days after the
            last of them was written.
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
    </Answer>
  );
}

/** The hub lists no keys: an agent's own values are found by name. */
function LookUp(): JSX.Element {
  const [typed, setTyped] = useState('');
  const [key, setKey] = useState('');
  const found = useCall('readSessions', { body: { keys: [key] } }, { enabled: key !== '' });
  return (
    <Form
      onSubmit={() => {
        setKey(typed.trim());
      }}
    >
      <Field
        label="Another value, by its key"
        value={typed}
        maxLength={256}
        onValue={setTyped}
        autoComplete="off"
        spellCheck={false}
      />
      <div>
        <Button submit disabled={typed.trim() === ''}>
          Look it up
        </Button>
      </div>
      {key !== '' && (
        <Answer of={found} rows={1}>
          {({ values }) => {
            const value = values[key];
            return value === null || value === undefined ? (
              <p className="muted">
                There is no value under <Data text={key} max={256} />.
              </p>
            ) : (
              <pre className="code">
                <Data text={value} max={20_000} />
              </pre>
            );
          }}
        </Answer>
      )}
    </Form>
  );
}
