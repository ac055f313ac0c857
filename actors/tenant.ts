// The tenant actor: orders changes of assignment rules, explicit assignments and the signing key, and tells the
// environments.

import type { RuleStore } from '../src/agent/port.ts';
import type { AssignmentRule } from '../src/agent/record.ts';
import { maxRules } from '../src/agent/rules/assignment.ts';
import { ruleText } from '../src/agent/rules/rule-text.ts';
import { HubError, notFound } from '../src/shared/error.ts';
import { type Env, environments } from '../src/shared/ids.ts';
import { requireMatch } from '../src/shared/if-match.ts';
import { snakeKeys } from '../src/shared/snake-keys.ts';
import type { ActorPorts } from './ports.ts';
import { agentKey, environmentKey, type RuleChange, type TenantMessages, tellTo } from './protocol.ts';
import type { Outcome } from './runtime/define.ts';
import { actorKind } from './runtime/kind.ts';
import { rotateKey } from './signing.ts';

const taken = (priority: number) =>
  new HubError('conflict', `An assignment rule with priority ${priority} already exists.`);

/** A repeat of a creation that was stored answers with the stored rule. */
async function createRule(
  { store }: ActorPorts,
  rule: AssignmentRule,
  noted: Pick<RuleStore, 'create'>,
): Promise<AssignmentRule> {
  const stored = async () => store.rules.list(rule.tenantId);
  const before = await stored();
  if (before.length >= maxRules && !before.some(({ id }) => id === rule.id)) {
    throw new HubError(
      'unprocessable',
      `The tenant has ${maxRules} assignment rules, which is the limit. Delete an unused rule first.`,
    );
  }
  if ((await noted.create(rule)) === 'created') return rule;
  const same = (await stored()).find(({ id }) => id === rule.id);
  if (!same) throw taken(rule.priority);
  return same;
}

/**
 * A repeat of an update passes.
 * @throws HubError changed unless the rule is what the request replaces; conflict if it belongs to an environment for
 *   which nobody checked the caller's rights
 */
async function requireReplaced(
  { store, secrets }: ActorPorts,
  tenantId: string,
  change: Exclude<RuleChange, { readonly action: 'create' }>,
): Promise<void> {
  const { ifMatch, ifEnv } = change;
  if (ifMatch === undefined && ifEnv === undefined) return;
  const rule = (await store.rules.list(tenantId)).find(({ id }) => id === change.id);
  if (rule && change.action === 'update' && ruleText({ ...rule, ...change.patch }) === ruleText(rule)) return;
  requireMatch(ifMatch ?? null, rule ? [secrets.sha256(ruleText(rule))] : [], 'The assignment rule');
  if (rule && ifEnv !== undefined && rule.env !== ifEnv) {
    throw new HubError(
      'conflict',
      'The assignment rule was moved to another environment during the request. Read it, then repeat the request.',
    );
  }
}

/** Fields of the rule that its audit entry contains, by the names there. */
const storedNames = snakeKeys({
  pattern: 'pattern',
  bundleName: 'bundleName',
  env: 'env',
  priority: 'priority',
});

async function write(
  ports: ActorPorts,
  tenantId: string,
  change: RuleChange,
  epoch: number,
): Promise<AssignmentRule> {
  const { rules } = ports.store.noting({ note: change.note, fromAnswer: storedNames });
  if (change.action === 'create') return createRule(ports, change.rule, rules);
  await requireReplaced(ports, tenantId, change);
  const changed =
    change.action === 'update'
      ? await rules.update(tenantId, change.id, change.patch, epoch)
      : await rules.remove(tenantId, change.id, epoch);
  if (changed === null || changed === 'absent') throw notFound('Rule not found');
  if (changed === 'priority_taken') {
    throw taken(change.action === 'update' ? (change.patch.priority ?? 0) : 0);
  }
  return changed;
}

/** The environments where a change may matter: an update may have moved the rule from another one. */
const touched = (change: RuleChange, rule: AssignmentRule): readonly Env[] =>
  change.action === 'update' && change.patch.env !== undefined ? environments : [rule.env];

const pastTense = { create: 'created', update: 'updated', delete: 'deleted' } as const;

export const tenant = actorKind<TenantMessages, { readonly tenantId: string }, ActorPorts>({
  kind: 'tenant',

  async activate({ key }) {
    return { tenantId: key };
  },

  handlers: {
    async changeRule({ tenantId }, change, { ports, epoch }): Promise<Outcome<AssignmentRule>> {
      const rule = await write(ports, tenantId, change, epoch);
      const envs = touched(change, rule);
      return {
        reply: rule,
        announcements: [
          {
            kind: 'assignmentRuleChanged',
            tenantId,
            ruleId: rule.id,
            envs,
            change: pastTense[change.action],
          },
        ],
        tells: envs.map((env) => tellTo('environment', environmentKey(tenantId, env), 'rulesChanged', null)),
      };
    },

    async assign({ tenantId }, { agentIds, bundleName, envs, bulk, note }, { ports, epoch }) {
      const { agents } = ports.store.noting({ note });
      const assigned = await agents.assign(tenantId, agentIds, bundleName, epoch);
      if (assigned.length === 0) return { reply: assigned };
      return {
        reply: assigned,
        announcements: [{ kind: 'agentsAssigned', tenantId, agentIds: assigned, bundleName, envs, bulk }],
        // An explicit assignment holds in every environment, and an agent may be connected in several.
        tells: assigned.flatMap((id) =>
          environments.map((env) => tellTo('agent', agentKey(tenantId, env, id), 'resolve', null)),
        ),
      };
    },

    async rotateSigningKey({ tenantId }, { newKeyId, compromised, actor }, { ports, now }) {
      const { key, current } = await rotateKey(ports, tenantId, { newKeyId, compromised, actor }, now());
      const envs = new Set(current.map(({ env }) => env));
      return {
        reply: {
          publicKey: key.publicKey,
          rotatedAt: key.createdAt,
          resigned: current.length,
          followed: !compromised,
        },
        announcements: [{ kind: 'signingKeyRotated', tenantId, publicKey: key.publicKey }],
        tells: [...envs].map((env) =>
          tellTo('environment', environmentKey(tenantId, env), 'reannounce', null),
        ),
      };
    },
  },

  idle: () => true,
});
