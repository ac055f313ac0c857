// One definition of a tool: its change word by word, its schemas as a tree, its agents, and the decision about it.
import './tools.css';
import { Link, useParams } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs } from '../../lib/search.ts';
import { counted, plainJson } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { nameColumn, timeColumn } from '../../ui/columns.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Field, Form } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Data, Env, Line, Name, PageHead, Time } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { type JsonObject, membersOf, previousOf, statusWord, type ToolPinDetail } from './model.ts';
import { Tree } from './tree.tsx';

export default function ToolPage(): JSX.Element {
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string };
  const pinQuery = useCall('getToolPin', { params: { pin_id: id } });
  return (
    <div className="page">
      <PageHead title="Tool definition">
        <Link to="/tools">View all tools</Link>
      </PageHead>
      <QueryResult query={pinQuery}>{(pin) => <Whole key={pin.id} pin={pin} />}</QueryResult>
    </div>
  );
}

function Whole({ pin }: { readonly pin: ToolPinDetail }): JSX.Element {
  const previous = previousOf(pin);
  return (
    <>
      <h2>
        <Name text={pin.tool} />
      </h2>
      <p>
        <Env name={pin.env} /> <Name text={pin.server} /> · {statusWord(pin)}
        {pin.decided_by !== null && (
          <>
            {' by '}
            <Line text={pin.decided_by} /> <Time at={pin.decided_at} />
          </>
        )}
      </p>
      {pin.reason !== null && (
        <p>
          Reason: <Data mono={false} text={pin.reason} />
        </p>
      )}
      <Decision pin={pin} />
      {pin.definition === null ? (
        <p className="muted">No agent has sent this definition yet. It appears here with the next report.</p>
      ) : (
        <Changes before={previous && membersOf(previous)} after={membersOf(pin)} />
      )}
      {previous && (
        <p className="muted">
          Compared with the definition that is {statusWord(previous)} since{' '}
          <Time at={previous.decided_at ?? previous.first_seen_at} />.
        </p>
      )}
      <Agents pin={pin} />
    </>
  );
}

const textMembers = [
  ['title', 'Title'],
  ['description', 'Description'],
  ['instructions', 'Instructions'],
] as const;
const treeMembers = [
  ['inputSchema', 'Input schema'],
  ['outputSchema', 'Output schema'],
  ['annotations', 'Annotations'],
] as const;

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : plainJson(value);

function Changes({ before, after }: Readonly<{ before: JsonObject | null; after: JsonObject }>): JSX.Element {
  const has = (member: string): boolean => after[member] !== undefined || before?.[member] !== undefined;
  return (
    <>
      {textMembers
        .filter(([member]) => has(member))
        .map(([member, label]) => (
          <section key={member} aria-label={label}>
            <h3>{label}</h3>
            {before ? (
              <Diff
                before={textOf(before[member])}
                after={textOf(after[member])}
                label={`Change of ${label}`}
              />
            ) : (
              <Data mono={false} text={textOf(after[member])} max={4000} />
            )}
          </section>
        ))}
      {treeMembers
        .filter(([member]) => has(member))
        .map(([member, label]) => (
          <section key={member} aria-label={label}>
            <h3>{label}</h3>
            <Tree before={before?.[member]} after={after[member]} isCompared={before !== null} />
          </section>
        ))}
    </>
  );
}

/** Accept or reject, with a reason, in chosen environments. */
function Decision({ pin }: { readonly pin: ToolPinDetail }): JSX.Element {
  const decide = useAction('decideToolPin', ['listToolPins', 'getToolPin']);
  const [reason, setReason] = useState('');
  const [chosen, setChosen] = useState<readonly Environment[]>([pin.env]);
  const names = chosen.join(', ');
  const submit = (decision: 'accepted' | 'rejected'): void =>
    decide.mutate(
      {
        params: { pin_id: pin.id },
        body: { decision, envs: [...chosen], ...(reason === '' ? {} : { reason }) },
      },
      () => say(`The definition is ${decision} in ${names}.`),
    );
  const toggle = (env: Environment): void =>
    setChosen((before) => (before.includes(env) ? before.filter((one) => one !== env) : [...before, env]));
  const button = { operation: 'decideToolPin', envs: chosen, busy: decide.isPending } as const;
  return (
    <Form label="Decision" onSubmit={() => {}}>
      <Field
        label="Reason"
        value={reason}
        maxLength={500}
        onValue={setReason}
        help="For example, the version of the server that you reviewed."
      />
      <fieldset className="tool-choices">
        <legend>Environments</legend>
        {envs.map((env) => (
          <label key={env}>
            <input type="checkbox" checked={chosen.includes(env)} onChange={() => toggle(env)} /> {env}
          </label>
        ))}
      </fieldset>
      {decide.error && <Failed error={decide.error} />}
      <div className="decide-buttons">
        <ActButton
          {...button}
          kind="primary"
          icon="check"
          disabled={chosen.length === 0 || pin.definition === null}
          onClick={() => submit('accepted')}
        >
          Accept in {names || 'no environment'}
        </ActButton>
        <ActButton
          {...button}
          kind="danger"
          icon="x"
          disabled={chosen.length === 0}
          onClick={() => submit('rejected')}
        >
          Reject in {names || 'no environment'}
        </ActButton>
      </div>
    </Form>
  );
}

type Agent = ToolPinDetail['agents'][number];

function Agents({ pin }: { readonly pin: ToolPinDetail }): JSX.Element {
  const columns: readonly Column<Agent>[] = [
    nameColumn('agent', 'Agent', ({ agent_id }) => agent_id, 2),
    timeColumn('since', 'Since', ({ first_seen_at }) => first_seen_at, 1),
    timeColumn('last', 'Last reported', ({ last_seen_at }) => last_seen_at, 1),
  ];
  return (
    <section aria-label="Agents">
      <h3>{counted(pin.agents.length, 'agent')}</h3>
      {pin.agents.length > 0 && (
        <Table
          name="tool-agents"
          row="agent"
          rows={pin.agents}
          columns={columns}
          keyOf={({ agent_id }) => agent_id}
        />
      )}
    </section>
  );
}
