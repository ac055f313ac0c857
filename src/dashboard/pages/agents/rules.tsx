// Assignment rules: bundles for agents by pattern and tags, the lowest priority number first; and a tester for one
// agent.

import { type JSX, useState } from 'react';
import type { Input } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { counted, visible } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { envColumn, nameColumn } from '../../ui/columns.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Data, Empty, Name } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Table } from '../../ui/table.tsx';
import { maxReached, type Rule, RuleForm, reaches } from './rule-form.tsx';
import { type Tags, tagsText } from './tags.ts';
import { Tester } from './tester.tsx';

const tagWords = ({ tag_match: tags }: Rule): string =>
  tags === null ? 'any' : '_truncated' in tags ? 'too many to show' : tagsText(tags as Tags);

export function Rules(): JSX.Element {
  const env = useEnv();
  const rulesQuery = useCall('listRules', { query: { limit: 200 } });
  /** The rule to edit, or a new one; null: the form is closed. */
  const [form, setForm] = useState<Rule | 'new' | null>(null);
  const [removing, setRemoving] = useState<Rule | null>(null);
  const rows = (rulesQuery.data ?? []).filter((rule) => !env || rule.env === env);
  return (
    <>
      <Tester rules={rulesQuery.data ?? []} />
      <div className="decide-buttons">
        <ActButton operation="createRule" kind="primary" icon="plus" onClick={() => setForm('new')}>
          New rule
        </ActButton>
      </div>
      <QueryResult query={rulesQuery}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No assignment rules">
              <p>
                Rules assign a bundle to matching agents. Until you add one, agents get their direct
                assignment or the deployment of their environment.
              </p>
            </Empty>
          ) : (
            <Table<Rule>
              name="assignment rules"
              row="rule"
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
                  sort: tagWords,
                  cell: (rule) => <Name text={tagWords(rule)} />,
                },
                nameColumn('bundle', 'Bundle', (rule) => rule.bundle_name, 1.6),
                envColumn('env', 'Environment', (rule) => rule.env, 1.2),
                {
                  key: 'actions',
                  label: 'Actions',
                  width: 2,
                  cell: (rule) => (
                    <span className="decide-buttons">
                      <ActButton
                        operation="updateRule"
                        envs={[rule.env]}
                        kind="quiet"
                        aria-label={`Edit the rule for ${visible(rule.pattern).slice(0, 80)}`}
                        onClick={() => setForm(rule)}
                      >
                        Edit
                      </ActButton>
                      <ActButton
                        operation="deleteRule"
                        envs={[rule.env]}
                        kind="quiet"
                        icon="trash"
                        aria-label={`Delete the rule for ${visible(rule.pattern).slice(0, 80)}`}
                        onClick={() => setRemoving(rule)}
                      >
                        Delete
                      </ActButton>
                    </span>
                  ),
                },
              ]}
            />
          )
        }
      </QueryResult>
      <RuleForm
        rule={form}
        taken={(rulesQuery.data ?? []).map(({ priority }) => priority)}
        onClose={() => setForm(null)}
      />
      <Remove rule={removing} onClose={() => setRemoving(null)} />
    </>
  );
}

function Remove({
  rule,
  onClose,
}: {
  readonly rule: Rule | null;
  readonly onClose: () => void;
}): JSX.Element {
  const remove = useAction('deleteRule', ['listRules', 'resolveRule', 'listAgents']);
  const query = { bundle: rule?.bundle_name, env: rule?.env, limit: maxReached };
  const agentsQuery = useCall('listAgents', { query } as Input<'listAgents'>, { enabled: rule !== null });
  const assigned = (agentsQuery.data ?? []).filter(
    (agent) => agent.assignment_source === 'rule' && rule !== null && reaches(rule.pattern, {}, agent),
  ).length;
  const many = `${counted(assigned, 'agent')}${agentsQuery.data?.length === maxReached ? ' or more' : ''}`;
  return (
    <Confirm
      title="Delete rule"
      open={rule !== null}
      onClose={onClose}
      by={remove}
      act="Delete rule"
      onAct={() => rule && remove.mutate({ params: { rule_id: rule.id } }, { onSuccess: onClose })}
    >
      <p>
        The rule <Data text={rule?.pattern ?? ''} max={120} /> assigns{' '}
        <Data text={rule?.bundle_name ?? ''} max={120} />{' '}
        {agentsQuery.data === undefined ? 'to agents' : `to ${many}`} in {rule?.env}. After you delete it,
        they get the next matching rule, or the deployment of their environment.
      </p>
    </Confirm>
  );
}
