// Assignment rules: which agents get which bundle, by pattern and tags, the lowest priority number first; and what a
// rule would do to an agent.
import { type JSX, useState } from 'react';
import { globMatch } from '../../../../packages/agent/src/rules/evaluate/glob.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv } from '../../lib/search.ts';
import { counted, visible } from '../../lib/text.ts';
import { envColumn, nameColumn } from '../../ui/columns.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/overlay.tsx';
import { Answer, Button, Data, Empty, Field, FormFailed, Name, Select } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { Tester } from './tester.tsx';

export function Rules(): JSX.Element {
  const env = useEnv();
  const found = useCall('listRules', { query: { limit: 200 } });
  const [making, setMaking] = useState(false);
  const [removing, setRemoving] = useState<Reply<'listRules'>[number] | null>(null);
  const rows = (found.data ?? []).filter((rule) => !env || rule.env === env);
  return (
    <>
      <Tester rules={found.data ?? []} />
      <div className="decide-buttons">
        <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
          New rule
        </Button>
      </div>
      <Answer of={found}>
        {() =>
          rows.length === 0 ? (
            <Empty title="There is no rule">
              <p>
                Without rules agents get what their environment deploys, or what a person assigned to them.
              </p>
            </Empty>
          ) : (
            <Table<Reply<'listRules'>[number]>
              name="assignment rules"
              rows={rows}
              keyOf={(rule) => rule.id}
              columns={[
                nameColumn('pattern', 'Agents', (rule) => rule.pattern, 2),
                {
                  key: 'priority',
                  label: 'Priority',
                  number: true,
                  sort: (rule) => rule.priority,
                  cell: (rule) => rule.priority,
                },
                {
                  key: 'tags',
                  label: 'Tags',
                  width: 1.6,
                  sort: (rule) => JSON.stringify(rule.tag_match),
                  cell: (rule) => <Name text={rule.tag_match ? JSON.stringify(rule.tag_match) : 'any'} />,
                },
                nameColumn('bundle', 'Bundle', (rule) => rule.bundle_name, 1.6),
                envColumn('env', 'Environment', (rule) => rule.env, 1.2),
                {
                  key: 'actions',
                  label: 'Actions',
                  width: 1.1,
                  cell: (rule) => (
                    <Button
                      kind="quiet"
                      icon="trash"
                      aria-label={`Delete the rule of ${visible(rule.pattern).slice(0, 80)}`}
                      onClick={() => setRemoving(rule)}
                    >
                      Delete
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Answer>
      <Make
        open={making}
        taken={(found.data ?? []).map(({ priority }) => priority)}
        onClose={() => setMaking(false)}
      />
      <Remove of={removing} onClose={() => setRemoving(null)} />
    </>
  );
}

/** Agents that are counted: one page of the fleet. */
const maxCounted = 500;

function Remove({
  of,
  onClose,
}: {
  readonly of: Reply<'listRules'>[number] | null;
  readonly onClose: () => void;
}): JSX.Element {
  const remove = useAction('deleteRule', ['listRules', 'resolveRule', 'listAgents']);
  const query = { bundle: of?.bundle_name, env: of?.env, limit: maxCounted };
  const found = useCall('listAgents', { query } as Input<'listAgents'>, { enabled: of !== null });
  const assigned = (found.data ?? []).filter(
    (agent) => agent.assignment_source === 'rule' && of !== null && globMatch(of.pattern, agent.agent_id),
  ).length;
  const many = `${counted(assigned, 'agent')}${found.data?.length === maxCounted ? ' or more' : ''}`;
  return (
    <Confirm
      title="Delete rule"
      open={of !== null}
      onClose={onClose}
      by={remove}
      act="Delete rule"
      onAct={() => of && remove.mutate({ params: { rule_id: of.id } }, { onSuccess: onClose })}
    >
      <p>
        The rule <Data text={of?.pattern ?? ''} max={120} /> gives{' '}
        <Data text={of?.bundle_name ?? ''} max={120} />{' '}
        {found.data === undefined ? 'to agents' : `to ${many}`} in {of?.env}. Without it they get what the
        next rule that fits says, or what their environment deploys.
      </p>
    </Confirm>
  );
}

function Make({
  open,
  taken,
  onClose,
}: {
  readonly open: boolean;
  readonly taken: readonly number[];
  readonly onClose: () => void;
}): JSX.Element {
  const bundles = useCall('listBundles', { query: { limit: 1000 } }, { enabled: open });
  const make = useAction('createRule', ['listRules', 'resolveRule', 'listAgents']);
  const [form, setForm] = useState({ pattern: '', priority: '', bundle: '', env: 'production' });
  const free = String(Math.max(0, ...taken) + 10);
  const fields = make.error?.fields ?? {};
  const bundle = form.bundle || (bundles.data?.[0]?.name ?? '');
  return (
    <Dialog title="New rule" open={open} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate(
            {
              body: {
                pattern: form.pattern,
                priority: Number(form.priority || free),
                bundle_name: bundle,
                env: form.env as Environment,
              },
            } as Input<'createRule'>,
            { onSuccess: onClose },
          );
        }}
      >
        <Field
          label="Agents"
          required
          value={form.pattern}
          onValue={(pattern) => setForm({ ...form, pattern })}
          help="A pattern such as shop-*."
          error={fields.pattern}
        />
        <Field
          label="Priority"
          type="number"
          value={form.priority}
          placeholder={free}
          onValue={(priority) => setForm({ ...form, priority })}
          help="The lowest number that fits decides; each is used once."
          error={fields.priority}
        />
        <Select
          label="Bundle"
          value={bundle}
          options={(bundles.data ?? []).map((one) => [one.name, one.name] as const)}
          onValue={(next) => setForm({ ...form, bundle: next })}
        />
        <Select
          label="Environment of the rule"
          value={form.env}
          options={envs.map((one) => [one, one] as const)}
          onValue={(env) => setForm({ ...form, env })}
        />
        <FormFailed error={make.error} />
        <Button kind="primary" submit busy={make.isPending} disabled={bundle === ''}>
          Add rule
        </Button>
      </form>
    </Dialog>
  );
}
