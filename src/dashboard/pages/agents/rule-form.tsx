// The form of a new or existing assignment rule, with the number of current agents that it matches.
import { type JSX, useState } from 'react';
import { globMatch } from '../../../../packages/agent/src/rules/evaluate/glob.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { EditConflict, useEditConflict } from '../../ui/edit-conflict.tsx';
import { say } from '../../ui/messages.tsx';
import { Data } from '../../ui/parts.tsx';
import { QueryProblem } from '../../ui/query-result.tsx';
import { RecordForm } from '../../ui/resource.tsx';
import { useBundleNames } from './bundle-names.ts';
import { missingTag, type Tags, tagsOf, tagsProblem, tagsText } from './tags.ts';

export type Rule = Reply<'listRules'>[number];
type Agent = Reply<'listAgents'>[number];

/** Query of all rules. A tenant has at most 200. */
export const rulesInput = { query: { limit: 200 } };

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

const textsOf = (rule: Rule | null, env: Environment) => ({
  pattern: rule?.pattern ?? '',
  tags: rule?.tag_match && !('_truncated' in rule.tag_match) ? tagsText(rule.tag_match as Tags) : '',
  priority: rule === null ? '' : String(rule.priority),
  bundle: rule?.bundle_name ?? '',
  env: (rule?.env ?? env) as string,
});

type Texts = ReturnType<typeof textsOf>;

/** The fields that a person changed. */
const changesOf = (texts: Texts, before: Texts): Partial<Texts> =>
  Object.fromEntries(Object.entries(texts).filter(([name, text]) => text !== before[name as keyof Texts]));

/** Fields of a request from fields of the form. */
function bodyOf({ pattern, tags, priority, bundle, env }: Partial<Texts>) {
  const tagMatch = tagsOf(tags ?? '');
  return {
    ...(pattern === undefined ? {} : { pattern }),
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    ...(tags === undefined ? {} : { tag_match: Object.keys(tagMatch).length === 0 ? null : tagMatch }),
    ...(bundle === undefined ? {} : { bundle_name: bundle }),
    ...(env === undefined ? {} : { env: env as Environment }),
  };
}

/** The state that the changes are based on, and the newest one. */
function useBase(rule: Rule | null, env: Environment) {
  const [base, setBase] = useState(rule);
  const before = textsOf(base, env);
  const [initial, setInitial] = useState(before);
  // The list on the page can leave the rule out: another user may have moved it to another environment.
  const { data } = useCall('listRules', rulesInput, { enabled: rule !== null });
  const newest = data?.find(({ id }) => id === rule?.id) ?? base;
  return {
    base,
    before,
    initial,
    isOld: newest?.hash !== base?.hash,
    /** Starts again from the newest state. @param texts the form's; null: the changes go */
    restart: (texts: Texts | null): void => {
      setInitial({ ...textsOf(newest, env), ...(texts && changesOf(texts, before)) });
      setBase(newest);
    },
  };
}

/** The bundles, and the one of a new rule until a person chooses another: the list can change its order. */
function useBundles(own: string | undefined) {
  const [first, setFirst] = useState<string | null>(null);
  const bundles = useBundleNames(own ?? first);
  const [newest = null] = bundles.names;
  if (first === null && newest !== null) setFirst(newest);
  return { bundles, defaultBundle: first ?? newest ?? '' };
}

export function RuleForm({ rule, taken, onClose }: Props): JSX.Element {
  const { base, before, initial, isOld, restart } = useBase(rule, useEnv() ?? 'production');
  const { bundles, defaultBundle } = useBundles(base?.bundle_name);
  const make = useAction('createRule', touched);
  const update = useAction('updateRule', touched);
  const { hasMoved, by, settle } = useEditConflict(isOld, update);
  const free = String(Math.max(0, ...taken) + 10);
  const submit = (form: Texts): void => {
    const texts = {
      ...form,
      priority: form.priority || free,
      bundle: form.bundle || defaultBundle,
    };
    const onSuccess = ({ warnings }: Reply<'createRule'>): void => {
      for (const warning of warnings ?? []) say(warning, 'deny');
      onClose();
    };
    if (base === null) make.mutate({ body: bodyOf(texts) } as Input<'createRule'>, onSuccess);
    else
      update.mutate(
        { params: { rule_id: base.id }, body: bodyOf(changesOf(texts, before)), ifMatch: base.hash },
        onSuccess,
      );
  };
  const again = (texts: Texts | null): void => settle(() => restart(texts));
  return (
    <Dialog title={rule === null ? 'New rule' : 'Edit rule'} open onClose={onClose}>
      <RecordForm
        key={base?.hash}
        initial={initial}
        by={rule === null ? make : by}
        act={rule === null ? 'Add rule' : 'Save rule'}
        operation="createRule"
        envs={({ env }) => [env as Environment]}
        isOff={bundles.names.length === 0 || hasMoved}
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
            options: bundles.names.map(
              (name) => [rule === null && name === defaultBundle ? '' : name, name] as const,
            ),
          },
          { name: 'env', label: 'Rule environment', options: envs },
        ]}
        onSubmit={submit}
      >
        {(texts) => (
          <>
            <QueryProblem query={bundles.query} />
            {texts.pattern !== '' && (
              <Reach pattern={texts.pattern} tags={tagsOf(texts.tags)} env={texts.env as Environment} />
            )}
            {hasMoved && <EditConflict noun="rule" onLoad={() => again(null)} onKeep={() => again(texts)} />}
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
