// The form of a new or existing assignment rule, with the number of current agents that it matches.
import type { JSX } from 'react';
import { globMatch } from '../../../../packages/agent/src/rules/evaluate/glob.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { say } from '../../ui/messages.tsx';
import { Data } from '../../ui/parts.tsx';
import { QueryProblem } from '../../ui/query-result.tsx';
import { RecordForm } from '../../ui/resource.tsx';
import { useBundleNames } from './bundle-names.ts';
import { missingTag, type Tags, tagsOf, tagsProblem, tagsText } from './tags.ts';

export type Rule = Reply<'listRules'>[number];
type Agent = Reply<'listAgents'>[number];

/** Agents to count: one page of the fleet. */
export const maxReached = 500;

/** True if a rule with these fields matches an agent. */
export const reaches = (pattern: string, tags: Tags, agent: Agent): boolean =>
  globMatch(pattern, agent.agent_id) && missingTag(tags, agent.tags as Tags) === null;

const touched = ['listRules', 'resolveRule', 'listAgents', 'getRegistration'] as const;

interface Props {
  /** Null: a new rule. */
  readonly rule: Rule | null;
  /** Priorities of existing rules. */
  readonly taken: readonly number[];
  readonly onClose: () => void;
}

export function RuleForm({ rule, taken, onClose }: Props): JSX.Element {
  const bundles = useBundleNames(rule?.bundle_name);
  const make = useAction('createRule', touched);
  const update = useAction('updateRule', touched);
  const free = String(Math.max(0, ...taken) + 10);
  const initial = {
    pattern: rule?.pattern ?? '',
    tags: rule?.tag_match && !('_truncated' in rule.tag_match) ? tagsText(rule.tag_match as Tags) : '',
    priority: rule === null ? '' : String(rule.priority),
    bundle: rule?.bundle_name ?? '',
    env: rule?.env ?? ('production' as string),
  };
  const submit = (form: typeof initial): void => {
    const tags = tagsOf(form.tags);
    const body = {
      pattern: form.pattern,
      priority: Number(form.priority || free),
      tag_match: Object.keys(tags).length === 0 ? null : tags,
      bundle_name: form.bundle || (bundles.names[0] ?? ''),
      env: form.env as Environment,
    };
    const onSuccess = ({ warnings }: Reply<'createRule'>): void => {
      for (const warning of warnings ?? []) say(warning, 'deny');
      onClose();
    };
    if (rule === null) make.mutate({ body } as Input<'createRule'>, onSuccess);
    else update.mutate({ params: { rule_id: rule.id }, body } as Input<'updateRule'>, onSuccess);
  };
  return (
    <Dialog title={rule === null ? 'New rule' : 'Edit rule'} open onClose={onClose}>
      <RecordForm
        initial={initial}
        by={rule === null ? make : update}
        act={rule === null ? 'Add rule' : 'Save rule'}
        operation="createRule"
        envs={({ env }) => [env as Environment]}
        isOff={bundles.names.length === 0}
        fields={({ tags }) => [
          {
            ...{ name: 'pattern', label: 'Agents', required: true, maxLength: 200 },
            help: 'An agent ID pattern, such as shop-*.',
          },
          {
            ...{ name: 'tags', sent: 'tag_match', label: 'Required tags', problem: tagsProblem(tags) },
            help: 'Enter name=value pairs, separated by commas. Leave empty to match all tags.',
          },
          {
            ...{ name: 'priority', label: 'Priority', type: 'number', min: 0, placeholder: free },
            help: 'The matching rule with the lowest number applies. Each number must be unique.',
          },
          {
            ...{ name: 'bundle', label: 'Bundle', onSearch: bundles.onSearch },
            // Without a choice, a new rule has the first bundle.
            options: bundles.names.map((name, at) => [rule === null && at === 0 ? '' : name, name] as const),
          },
          { name: 'env', label: 'Rule environment', options: envs },
        ]}
        onSubmit={submit}
      >
        {({ pattern, tags, env }) => (
          <>
            <QueryProblem query={bundles.query} />
            {pattern !== '' && <Reach pattern={pattern} tags={tagsOf(tags)} env={env as Environment} />}
          </>
        )}
      </RecordForm>
    </Dialog>
  );
}

/** Known agents of the environment that the unsaved rule matches. */
function Reach({
  pattern,
  tags,
  env,
}: Readonly<{ pattern: string; tags: Tags; env: Environment }>): JSX.Element {
  const agentsQuery = useCall('listAgents', { query: { env, limit: maxReached } });
  const list = agentsQuery.data ?? [];
  const fit = list.filter((agent) => reaches(pattern, tags, agent));
  const byPerson = fit.filter((agent) => agent.assignment_source === 'explicit').length;
  return (
    <p className="muted numbers" role="status">
      {agentsQuery.data === undefined ? (
        'Finding matching agents…'
      ) : (
        <>
          {counted(fit.length, 'agent')} of{' '}
          {list.length === maxReached ? `the first ${maxReached}` : list.length} in {env}{' '}
          {fit.length === 1 ? 'matches' : 'match'}
          {fit.length > 0 && (
            <>
              :{' '}
              <Data
                text={fit
                  .slice(0, 3)
                  .map(({ agent_id: id }) => id)
                  .join(', ')}
                max={120}
              />
              {fit.length > 3 && ` and ${fit.length - 3} more`}
            </>
          )}
          {byPerson > 0 &&
            `; ${byPerson} of them ${byPerson === 1 ? 'keeps its' : 'keep their'} direct assignment`}
          .
        </>
      )}
    </p>
  );
}
