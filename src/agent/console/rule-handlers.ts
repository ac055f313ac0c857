// Assignment rules in the console API's words.

import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { unableText } from '../../http/contract/render.ts';
import { isEnv } from '../../shared/ids.ts';
import { ifMatchOf } from '../../shared/if-match.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { type AssignmentRule, ruleRecord } from '../record.ts';
import { ruleText } from '../rules/rule-text.ts';
import type { ruleRoutes } from './rule-routes.ts';

export const rules: Handlers<typeof ruleRoutes> = {
  async listRules({ app, secrets }, { query }, caller) {
    const { limit, offset } = query;
    const rules = await app.assignmentRules.list(principalOf(caller));
    const page = { items: rules.slice(offset, offset + limit), more: rules.length > offset + limit };
    return listOf(page, query, (rule) => render(rule, secrets));
  },

  async createRule({ app, secrets }, { body }, caller) {
    const rule = await app.assignmentRules.create(principalOf(caller), {
      priority: body.priority,
      pattern: body.pattern,
      tagMatch: body.tag_match ?? null,
      bundleName: body.bundle_name,
      env: body.env,
    });
    return { ...render(rule, secrets), ...(await warningsOf(app, caller.tenantId, rule)) };
  },

  async updateRule({ app, secrets }, { params, body }, caller, request) {
    const patch = omitUndefined({
      priority: body.priority,
      pattern: body.pattern,
      tagMatch: body.tag_match,
      bundleName: body.bundle_name,
      env: body.env,
    });
    const rule = await app.assignmentRules.update(
      principalOf(caller),
      params.rule_id,
      patch,
      ifMatchOf(request.header('if-match')),
    );
    return { ...render(rule, secrets), ...(await warningsOf(app, caller.tenantId, rule)) };
  },

  async deleteRule({ app }, { params }, caller, request) {
    const ifMatch = ifMatchOf(request.header('if-match'));
    await app.assignmentRules.remove(principalOf(caller), params.rule_id, ifMatch);
    return null;
  },

  async resolveRule({ app }, { params, query }, caller) {
    // None named means the rules of all.
    const env = query.env === undefined ? null : isEnv(query.env) ? query.env : 'unknown';
    const resolution = await app.assignmentRules.resolve(principalOf(caller), params.agent_id, env);
    return {
      bundle_name: resolution.bundleName,
      source: resolution.source,
      rule_id: resolution.ruleId,
      rule_pattern: resolution.rulePattern,
    };
  },
};

async function warningsOf(
  { vocabularies }: Pick<Hub['app'], 'vocabularies'>,
  tenantId: string,
  { env, bundleName }: AssignmentRule,
): Promise<{ readonly warnings?: string[] }> {
  const unable = await vocabularies.ofRule(tenantId, env, bundleName);
  return unable === null ? {} : { warnings: [unableText(unable, 'console')] };
}

const render = (rule: AssignmentRule, { sha256 }: Pick<Hub['secrets'], 'sha256'>) => ({
  ...ruleRecord.render('console', rule),
  hash: sha256(ruleText(rule)),
});
