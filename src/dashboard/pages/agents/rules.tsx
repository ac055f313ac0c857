// Assignment rules: bundles for agents by pattern and tags, the lowest priority number first, and a tester for one
// agent.
import type { JSX } from 'react';
import type { Input } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { counted, visible } from '../../lib/text.ts';
import { countColumn, envColumn, lineColumn, nameColumn } from '../../ui/columns.tsx';
import { Data } from '../../ui/parts.tsx';
import { type Resource, ResourceView, removal } from '../../ui/resource.tsx';
import { maxReached, type Rule, RuleForm, reaches, rulesInput } from './rule-form.tsx';
import { type Tags, tagsText } from './tags.ts';
import { Tester } from './tester.tsx';

const tagWords = ({ tag_match: tags }: Rule): string =>
  tags === null ? 'any' : '_truncated' in tags ? 'too many to show' : tagsText(tags as Tags);

const rulesOf = (taken: readonly number[]): Resource<Rule> => ({
  name: 'assignment rules',
  noun: 'rule',
  keyOf: (rule) => rule.id,
  columns: [
    nameColumn('pattern', 'Agents', (rule) => rule.pattern, 2),
    countColumn('priority', 'Priority', (rule) => rule.priority),
    lineColumn('tags', 'Tags', tagWords, 1.6),
    nameColumn('bundle', 'Bundle', (rule) => rule.bundle_name, 1.6),
    envColumn('env', 'Environment', (rule) => rule.env, 1.2),
  ],
  add: {
    label: 'New rule',
    kind: 'primary',
    operation: 'createRule',
    dialog: (close) => <RuleForm rule={null} taken={taken} onClose={close} />,
  },
  actsWidth: 2,
  acts: [
    {
      label: 'Edit',
      name: ({ pattern }) => `Edit the rule for ${visible(pattern).slice(0, 80)}`,
      operation: 'updateRule',
      envs: ({ env }) => [env],
      dialog: (rule, close) => <RuleForm rule={rule} taken={taken} onClose={close} />,
    },
    removal({
      label: 'Delete',
      title: 'Delete rule',
      of: ({ pattern }: Rule) => `the rule for ${pattern}`,
      operation: 'deleteRule',
      envs: ({ env }) => [env],
      refreshes: ['listRules', 'resolveRule', 'listAgents'],
      input: ({ id, hash }) => ({ params: { rule_id: id }, ifMatch: hash }),
      text: (rule) => <Consequences rule={rule} />,
    }),
  ],
  empty: {
    title: 'No assignment rules',
    text: 'Rules assign a bundle to matching agents. Until you add one, agents get their direct assignment or the deployment of their environment.',
  },
});

export function Rules(): JSX.Element {
  const env = useEnv();
  const rulesQuery = useCall('listRules', rulesInput);
  const all = rulesQuery.data ?? [];
  return (
    <>
      <Tester rules={all} />
      <ResourceView
        resource={rulesOf(all.map(({ priority }) => priority))}
        query={rulesQuery}
        rows={all.filter((rule) => !env || rule.env === env)}
        head={(add) => <div className="decide-buttons">{add}</div>}
      />
    </>
  );
}

function Consequences({ rule }: { readonly rule: Rule }): JSX.Element {
  const query = { bundle: rule.bundle_name, env: rule.env, limit: maxReached };
  const agentsQuery = useCall('listAgents', { query } as Input<'listAgents'>);
  const assigned = (agentsQuery.data ?? []).filter(
    (agent) => agent.assignment_source === 'rule' && reaches(rule.pattern, {}, agent),
  ).length;
  const many = `${counted(assigned, 'agent')}${agentsQuery.data?.length === maxReached ? ' or more' : ''}`;
  return (
    <>
      The rule <Data text={rule.pattern} max={120} /> assigns <Data text={rule.bundle_name} max={120} />{' '}
      {agentsQuery.data === undefined ? 'to agents' : `to ${many}`} in {rule.env}. After you delete it, they
      get the next matching rule, or the deployment of their environment.
    </>
  );
}
