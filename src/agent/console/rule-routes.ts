// Routes of assignment rules: which bundle agents get by their id and tags.
import { z } from 'zod';
import {
  assignmentSource,
  bundleName,
  env,
  line,
  paging,
  pathId,
  tagMap,
  uuid,
} from '../../http/contract/fields.ts';
import { bytesOf, maxListedField } from '../../http/contract/listed.ts';
import { routes } from '../../http/contract/route.ts';
import { listed } from '../../shared/truncated.ts';
import { ruleRecord } from '../record.ts';
import { assignmentWarnings } from './routes.ts';

const priority = z.number().int().min(0).max(2_147_483_647);
/** A glob over agent ids. The handler refuses other than printable ASCII, and path separators, with 400. */
const pattern = z.string().min(1).max(200);

/** Small enough to be shown whole in lists. */
const tagMatch = tagMap.refine(
  (value) => bytesOf(JSON.stringify(value)) <= maxListedField,
  `must be at most ${maxListedField} bytes of JSON`,
);

export const rule = ruleRecord.reply('console', 'one').extend({
  /** Of all fields that a person sets; a tag for If-Match. */
  hash: z.string(),
});

/** A rule that was made or changed. */
export const savedRule = rule.extend({ warnings: assignmentWarnings });

const params = z.object({ rule_id: pathId });

export const ruleRoutes = routes({
  listRules: {
    method: 'GET',
    path: '/api/v1/assignment-rules',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'assignment-rules',
    summary: 'Assignment rules, ordered by priority; Link names the next page',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(rule.extend({ tag_match: listed(rule.shape.tag_match) })),
    errors: ['validation_failed'],
  },
  createRule: {
    method: 'POST',
    path: '/api/v1/assignment-rules',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'assignment-rules',
    summary: 'Add an assignment rule (at most 200 in a tenant); no other rule may have its priority',
    body: z.object({ priority, pattern, tag_match: tagMatch.nullish(), bundle_name: bundleName, env }),
    status: 201,
    reply: savedRule,
    audit: ['assignment_rule.created'],
    errors: [
      'environment_protected',
      'bad_request',
      'conflict',
      'validation_failed',
      'unprocessable',
      'overloaded',
      'unavailable',
    ],
  },
  updateRule: {
    method: 'PATCH',
    path: '/api/v1/assignment-rules/{rule_id}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'assignment-rules',
    summary: 'Change an assignment rule; absent fields keep their value, null clears tag_match',
    params,
    ifMatch: 'The hash of the rule.',
    body: z.object({
      priority: priority.optional(),
      pattern: pattern.optional(),
      tag_match: tagMatch.nullish(),
      bundle_name: bundleName.optional(),
      env: env.optional(),
    }),
    status: 200,
    reply: savedRule,
    audit: ['assignment_rule.updated'],
    errors: [
      'environment_protected',
      'bad_request',
      'not_found',
      'conflict',
      'validation_failed',
      'overloaded',
      'unavailable',
    ],
  },
  deleteRule: {
    method: 'DELETE',
    path: '/api/v1/assignment-rules/{rule_id}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'assignment-rules',
    summary: 'Remove a rule',
    params,
    ifMatch: 'The hash of the rule.',
    status: 204,
    audit: ['assignment_rule.deleted'],
    errors: [
      'environment_protected',
      'not_found',
      'conflict',
      'validation_failed',
      'overloaded',
      'unavailable',
    ],
  },
  resolveRule: {
    method: 'GET',
    path: '/api/v1/assignment-rules/resolve/{agent_id}',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'assignment-rules',
    summary: 'Dry-run the assignment for an agent; without env, rules from all environments apply',
    params: z.object({ agent_id: line(255) }),
    query: z.object({ env: z.string().max(64).optional() }),
    status: 200,
    reply: z.object({
      bundle_name: z.string().nullable(),
      source: assignmentSource,
      rule_id: uuid.nullable(),
      rule_pattern: z.string().nullable(),
    }),
    errors: ['validation_failed'],
  },
});
