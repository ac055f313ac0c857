// Assignment rules: listed, changed through the tenant's actor, tried out.

import type { ruleRoutes } from '../../api/rules.ts';
import type { AssignmentRule } from '../../domain/agent.ts';
import { unassigned } from '../../domain/assignment.ts';
import { HubError } from '../../domain/error.ts';
import { isEnv } from '../../domain/ids.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';

import type { Handlers } from './hub.ts';
import { listOf } from './pages.ts';
import { iso } from './render.ts';

const globPattern = /^[\x20-\x2e\x30-\x5b\x5d-\x7e]+$/;

/** @throws HubError bad_request for other than printable ASCII, and for path separators */
function checkPattern(pattern: string): void {
  if (globPattern.test(pattern)) return;
  throw new HubError('bad_request', "A rule's pattern is printable ASCII text without '/' and '\\'.");
}

export const rules: Handlers<typeof ruleRoutes> = {
  async listRules(hub, { query }, caller) {
    const { limit, offset } = query;
    const rules = await hub.store.rules.list(caller.tenantId);
    const page = { items: rules.slice(offset, offset + limit), more: rules.length > offset + limit };
    return listOf(page, query, render);
  },

  async createRule(hub, { body }, caller) {
    checkPattern(body.pattern);
    const rule = await hub.actors.ask('tenant', caller.tenantId, 'changeRule', {
      action: 'create',
      rule: {
        id: hub.secrets.uuid(),
        tenantId: caller.tenantId,
        priority: body.priority,
        pattern: body.pattern,
        tagMatch: body.tag_match ?? null,
        bundleName: body.bundle_name,
        env: body.env,
        createdAt: hub.clock.now(),
      },
    });
    return render(rule);
  },

  async updateRule(hub, { params, body }, caller) {
    if (body.pattern !== undefined) checkPattern(body.pattern);
    const rule = await hub.actors.ask('tenant', caller.tenantId, 'changeRule', {
      action: 'update',
      id: params.rule_id,
      patch: omitUndefined({
        priority: body.priority,
        pattern: body.pattern,
        tagMatch: body.tag_match,
        bundleName: body.bundle_name,
        env: body.env,
      }),
    });
    return render(rule);
  },

  async deleteRule(hub, { params }, caller) {
    await hub.actors.ask('tenant', caller.tenantId, 'changeRule', { action: 'delete', id: params.rule_id });
    return null;
  },

  async resolveRule(hub, { params, query }, caller) {
    const { tenantId } = caller;
    const [registration, known] = await Promise.all([
      hub.store.agents.get(tenantId, params.agent_id),
      hub.store.rules.list(tenantId),
    ]);
    const env = isEnv(query.env) ? query.env : null;
    const explicit = registration?.bundleName ?? null;
    // An environment that does not exist has no rules; none named means all of them.
    const found =
      query.env !== undefined && env === null && explicit === null
        ? unassigned
        : hub.ruleSets
            .of(tenantId, known)
            .resolve({ agentId: params.agent_id, env, tags: registration?.tags ?? {}, explicit });
    return {
      bundle_name: found.bundleName,
      source: found.source,
      rule_id: found.ruleId,
      rule_pattern: found.rulePattern,
    };
  },
};

const render = (rule: AssignmentRule) => ({
  id: rule.id,
  priority: rule.priority,
  pattern: rule.pattern,
  tag_match: rule.tagMatch === null ? null : { ...rule.tagMatch },
  bundle_name: rule.bundleName,
  env: rule.env,
  created_at: iso(rule.createdAt),
});
