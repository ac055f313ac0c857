// The assignment tester: the bundle that an agent would get, and all evaluated rules in order.
import { type JSX, useState } from 'react';
import { globMatch } from '../../../../packages/agent/src/rules/evaluate/glob.ts';
import type { Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { Field, Form } from '../../ui/form.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data, Env } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { AssignedBundle } from './assigned-bundle.tsx';
import type { Rule } from './rule-form.tsx';
import { missingTag } from './tags.ts';

export function Tester({ rules }: { readonly rules: readonly Rule[] }): JSX.Element {
  const env = useEnv();
  const [{ agent: agentOfLink = '' }, change] = useFilters();
  const [text, setText] = useState(agentOfLink);
  const resolveRuleQuery = useCall(
    'resolveRule',
    { params: { agent_id: agentOfLink }, query: env ? { env } : {} },
    { enabled: agentOfLink !== '' },
  );
  // Only known agents have tags. For others, the hub answers 404.
  const registrationQuery = useCall(
    'getRegistration',
    { params: { agent_id: agentOfLink } },
    { enabled: agentOfLink !== '' },
  );
  return (
    <Form className="card" onSubmit={() => change({ agent: text.trim() })}>
      <div className="filter-bar">
        <Field
          label="Agent ID"
          value={text}
          maxLength={255}
          onValue={setText}
          placeholder="For example, shop-1"
        />
        <Button submit>Check assignment</Button>
      </div>
      {agentOfLink !== '' && (
        <QueryResult query={resolveRuleQuery} rows={1}>
          {(resolved) => (
            <>
              <p>
                {env ? `In ${env} ` : ''}
                <Data text={agentOfLink} max={120} /> gets{' '}
                <AssignedBundle
                  resolution={resolved}
                  none="the deployment of its environment (no assignment)"
                />
              </p>
              <Considered
                rules={rules.filter((rule) => !env || rule.env === env)}
                agent={agentOfLink}
                tags={registrationQuery.data?.tags ?? {}}
                resolution={resolved}
              />
            </>
          )}
        </QueryResult>
      )}
    </Form>
  );
}

/** Reason why a rule does not match; null if it matches. */
function misfit(rule: Rule, agent: string, tags: { readonly [name: string]: string }): string | null {
  if (!globMatch(rule.pattern, agent)) return 'its pattern does not match the agent ID';
  if (rule.tag_match === null) return null;
  if ('_truncated' in rule.tag_match) return 'its tags are too long to show';
  const missing = missingTag(rule.tag_match, tags);
  return missing === null
    ? null
    : `the agent has no tag ${missing[0].slice(0, 60)}=${String(missing[1]).slice(0, 60)}`;
}

function Considered({
  rules,
  agent,
  tags,
  resolution,
}: {
  readonly rules: readonly Rule[];
  readonly agent: string;
  readonly tags: { readonly [name: string]: string };
  readonly resolution: Reply<'resolveRule'>;
}): JSX.Element | null {
  if (resolution.source === 'explicit') {
    return <p className="muted">Rules do not apply. The direct assignment takes precedence.</p>;
  }
  const ordered = [...rules].sort((a, b) => a.priority - b.priority);
  const end = ordered.findIndex(({ id }) => id === resolution.rule_id);
  const looked = end < 0 ? ordered : ordered.slice(0, end + 1);
  if (looked.length === 0) return null;
  return (
    <ol className="feed" aria-label="Checked rules">
      {looked.map((rule) => {
        const decides = rule.id === resolution.rule_id;
        return (
          <li key={rule.id} className="feed-row">
            <span>
              <span className={decides ? 'tone-allow' : 'muted'}>
                <Icon name={decides ? 'check' : 'dash'} />
              </span>{' '}
              {rule.priority}: <Data text={rule.pattern} max={80} /> <Env name={rule.env} />
            </span>
            <span className="muted">
              {decides ? (
                <Data before="applies: " text={rule.bundle_name} max={60} />
              ) : (
                <Data
                  text={misfit(rule, agent, tags) ?? 'matches, but another rule applies'}
                  mono={false}
                  max={160}
                />
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
