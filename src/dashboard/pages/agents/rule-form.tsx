// The form of a new or existing assignment rule, with the number of current agents that it matches.

import { type JSX, useState } from 'react';
import { globMatch } from '../../../../packages/agent/src/rules/evaluate/glob.ts';
import type { ApiError, Input, Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Form } from '../../ui/form.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Data, Field, Select } from '../../ui/parts.tsx';
import { FormFailed, QueryProblem } from '../../ui/query-result.tsx';
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
  /** The rule to edit, or `new`; null: the form is closed. */
  readonly rule: Rule | 'new' | null;
  /** Priorities of existing rules. */
  readonly taken: readonly number[];
  readonly onClose: () => void;
}

export const RuleForm = ({ rule, taken, onClose }: Props): JSX.Element => (
  <Dialog
    title={rule === 'new' || rule === null ? 'New rule' : 'Edit rule'}
    open={rule !== null}
    onClose={onClose}
  >
    {rule !== null && <RuleFields rule={rule === 'new' ? null : rule} taken={taken} onClose={onClose} />}
  </Dialog>
);

function RuleFields({
  rule,
  taken,
  onClose,
}: {
  readonly rule: Rule | null;
  readonly taken: readonly number[];
  readonly onClose: () => void;
}): JSX.Element {
  const bundles = useCall('listBundles', { query: { limit: 1000 } });
  const make = useAction('createRule', touched);
  const update = useAction('updateRule', touched);
  const [form, setForm] = useState({
    pattern: rule?.pattern ?? '',
    priority: rule === null ? '' : String(rule.priority),
    tags: rule?.tag_match && !('_truncated' in rule.tag_match) ? tagsText(rule.tag_match as Tags) : '',
    bundle: rule?.bundle_name ?? '',
    env: rule?.env ?? 'production',
  });
  const free = String(Math.max(0, ...taken) + 10);
  const error: ApiError | null = make.error ?? update.error;
  const fields = error?.fields ?? {};
  const bundle = form.bundle || (bundles.data?.[0]?.name ?? '');
  const names = new Set([
    ...(bundles.data ?? []).map(({ name }) => name),
    ...(bundle === '' ? [] : [bundle]),
  ]);
  const tags = tagsOf(form.tags);
  const wrongTags = tagsProblem(form.tags);
  const submit = (): void => {
    const body = {
      pattern: form.pattern,
      priority: Number(form.priority || free),
      tag_match: Object.keys(tags).length === 0 ? null : tags,
      bundle_name: bundle,
      env: form.env as Environment,
    };
    const onSuccess = ({ warnings }: Reply<'createRule'>): void => {
      for (const warning of warnings ?? []) say(warning, 'deny');
      onClose();
    };
    if (rule === null) make.mutate({ body } as Input<'createRule'>, { onSuccess });
    else update.mutate({ params: { rule_id: rule.id }, body } as Input<'updateRule'>, { onSuccess });
  };
  return (
    <Form onSubmit={submit}>
      <Field
        label="Agents"
        required
        maxLength={200}
        value={form.pattern}
        onValue={(pattern) => setForm({ ...form, pattern })}
        help="An agent ID pattern, such as shop-*."
        error={fields.pattern}
      />
      <Field
        label="Required tags"
        value={form.tags}
        onValue={(next) => setForm({ ...form, tags: next })}
        help="Enter name=value pairs, separated by commas. Leave empty to match all tags."
        error={wrongTags ?? fields.tag_match}
      />
      <Field
        label="Priority"
        type="number"
        min={0}
        value={form.priority}
        placeholder={free}
        onValue={(priority) => setForm({ ...form, priority })}
        help="The matching rule with the lowest number applies. Each number must be unique."
        error={fields.priority}
      />
      <Select
        label="Bundle"
        value={bundle}
        options={[...names].map((one) => [one, one] as const)}
        onValue={(next) => setForm({ ...form, bundle: next })}
      />
      <QueryProblem query={bundles} />
      <Select
        label="Rule environment"
        value={form.env}
        options={envs.map((one) => [one, one] as const)}
        onValue={(env) => setForm({ ...form, env: env as Environment })}
      />
      {form.pattern !== '' && <Reach pattern={form.pattern} tags={tags} env={form.env as Environment} />}
      <FormFailed error={error} />
      <ActButton
        operation="createRule"
        envs={[form.env as Environment]}
        kind="primary"
        submit
        busy={make.isPending || update.isPending}
        disabled={bundle === '' || wrongTags !== null}
      >
        {rule === null ? 'Add rule' : 'Save rule'}
      </ActButton>
    </Form>
  );
}

/** Known agents of the environment that the unsaved rule matches. */
function Reach({
  pattern,
  tags,
  env,
}: {
  readonly pattern: string;
  readonly tags: Tags;
  readonly env: Environment;
}): JSX.Element {
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
