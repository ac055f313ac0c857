// Routes of agents: who is connected, what they run, how they are registered.
import { z } from 'zod';
import { maxQueryLength } from '../../event/rules/query/parse.ts';
import { bundleName, env, intQuery, line, tagMap, text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { coverageCounts } from '../../usage/console/coverage-counts.ts';
import {
  agentStatusRecord,
  driftStatus,
  fleetAgentRecord,
  matrixDeploymentRecord,
  matrixVersionRecord,
  openStreamRecord,
  registrationRecord,
} from '../record.ts';

/** A bundle's name, or nothing: null and the empty text both unassign. */
const assignment = z.union([bundleName, z.literal('')]).nullable();

/** Opaque; as X-Next-Cursor gave it. */
const cursor = text(4096, 1);

/** Sentences: which agents cannot load what they are assigned; absent when all can. */
export const assignmentWarnings = z.array(z.string()).optional();

export const registration = registrationRecord.reply('console', 'one');

/** An agent as the list of the fleet shows it. */
export const fleetAgent = fleetAgentRecord.reply('console', 'list').extend({
  /**
   * Of the tools that it used in the last 24 hours, in the requested environment, else in all. Null where it used none.
   */
  coverage: coverageCounts.nullable(),
});

/** A field, with `-` for the largest first. */
const agentSort = z.enum([
  'agent_id',
  '-agent_id',
  'last_seen_at',
  '-last_seen_at',
  'created_at',
  '-created_at',
  /** Agents that run another document than they should, the longest first. */
  'drift_since',
]);

const matrixCell = z.object({
  env,
  /** The current deployment; null: none. */
  deployment: matrixDeploymentRecord.reply('console', 'one').nullable(),
  /** Connected agents that follow the bundle. */
  connected: z.number().int(),
  /** Versions that the agents run, most agents first, at most 50. */
  versions: z.array(matrixVersionRecord.reply('console', 'one')),
});

export const agentRoutes = routes({
  fleetMatrix: {
    method: 'GET',
    path: '/api/v1/fleet/matrix',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'agents',
    summary: 'Bundles by environment: what is deployed, and which versions the connected agents run',
    query: z.object({ env: env.optional(), cursor: cursor.optional() }),
    status: 200,
    reply: z.object({
      /** By name, at most 100. */
      bundles: z.array(z.object({ name: z.string(), cells: z.array(matrixCell) })),
      /** Connected agents without a bundle. */
      unassigned: z.number().int(),
      next_cursor: z.string().nullable(),
    }),
    errors: ['bad_request', 'validation_failed', 'unavailable'],
  },
  listAgents: {
    method: 'GET',
    path: '/api/v1/agents',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'agents',
    summary:
      'Registered agents with their assigned and their running bundle; X-Next-Cursor and Link name the next page, and a page ' +
      'before the last may be short if filters leave much out',
    query: z.object({
      env: env.optional(),
      status: driftStatus.optional(),
      connected: z.enum(['true', 'false']).optional(),
      /** `name` or `name:value`. */
      tag: text(400, 1).optional(),
      /** Followed by a stream, or given by its assignment or a rule. */
      bundle: text(128, 1).optional(),
      /** The hash of the document that it runs. */
      policy_version: text(255, 1).optional(),
      /** Part of the agent id or the display name, in any case. */
      search: text(255, 1).optional(),
      /** A query of Agents (docs/query.md). Terms and the other filters narrow together. */
      q: text(maxQueryLength).optional(),
      sort: agentSort.default('agent_id'),
      limit: intQuery(1, 500).default(100),
      cursor: cursor.optional(),
    }),
    status: 200,
    reply: z.array(fleetAgent),
    search: true,
    errors: ['bad_request', 'validation_failed', 'search_timeout', 'rate_limited', 'unavailable'],
  },
  agentStatus: {
    method: 'GET',
    path: '/api/v1/agents/status',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'agents',
    summary:
      'Open agent streams with their drift, ordered by environment and agent id; Link names the next page',
    query: z.object({
      bundle_name: text(128, 1).optional(),
      env: env.optional(),
      limit: intQuery(1, 2_000).default(2_000),
      cursor: cursor.optional(),
    }),
    status: 200,
    reply: z.object({ agents: z.array(agentStatusRecord.reply('console', 'one')) }),
    errors: ['bad_request', 'validation_failed', 'unavailable'],
  },
  listAgentStreams: {
    method: 'GET',
    path: '/api/v1/agents/{agent_id}/streams',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'agents',
    summary: 'Open streams of an agent on all nodes, newest first',
    params: z.object({ agent_id: line(255) }),
    query: z.object({ limit: intQuery(1, 200).default(50) }),
    status: 200,
    reply: z.object({
      agent_id: z.string(),
      /** Open streams, those included that the limit leaves out. */
      total: z.number().int(),
      streams: z.array(openStreamRecord.reply('console', 'one')),
    }),
    errors: ['not_found', 'validation_failed', 'unavailable'],
  },
  reportVersion: {
    method: 'POST',
    path: '/api/v1/agents/report',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'agents',
    summary: 'Report the policy version that the agent (agent-id header) runs now',
    body: z.object({ bundle_name: bundleName.nullish(), policy_version: line(255) }),
    status: 200,
    reply: z.object({
      agent_id: z.string(),
      bundle_name: z.string().nullable(),
      policy_version: z.string(),
    }),
    audit: 'A report is telemetry; the history of versions has it.',
    errors: ['forbidden', 'validation_failed', 'overloaded', 'unavailable'],
  },
  listRegistrations: {
    method: 'GET',
    path: '/api/v1/agent-registrations',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'agents',
    summary:
      'Registered agents, ordered by agent id; Link names the next page, X-Agents-Not-Registered counts the agents left out this hour',
    query: z.object({ limit: intQuery(1, 2_000).default(2_000), cursor: cursor.optional() }),
    status: 200,
    reply: z.array(registrationRecord.reply('console', 'list')),
    errors: ['bad_request', 'validation_failed'],
  },
  getRegistration: {
    method: 'GET',
    path: '/api/v1/agent-registrations/{agent_id}',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'agents',
    summary:
      'One registered agent; also an agent that lists leave out because its last activity is over 7 days old',
    params: z.object({ agent_id: line(255) }),
    status: 200,
    reply: registration,
    errors: ['not_found', 'validation_failed'],
  },
  updateRegistration: {
    method: 'PATCH',
    path: '/api/v1/agent-registrations/{agent_id}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'agents',
    summary: 'Change display name, tags or assignment; absent fields keep their value, null clears it',
    params: z.object({ agent_id: line(255) }),
    body: z.object({
      display_name: text(255).nullish(),
      tags: tagMap.nullish(),
      bundle_name: assignment.optional(),
    }),
    status: 200,
    reply: registration.extend({ warnings: assignmentWarnings }),
    audit: ['agent.updated', 'agent.assigned'],
    errors: ['environment_protected', 'not_found', 'validation_failed', 'overloaded', 'unavailable'],
  },
  bulkAssign: {
    method: 'POST',
    path: '/api/v1/agent-registrations/bulk-assign',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'agents',
    summary: 'Assign a bundle to up to 100 registered agents; unregistered agents are skipped',
    body: z.object({ agent_ids: z.array(line(255)).min(1).max(100), bundle_name: assignment }),
    status: 200,
    reply: z.object({ updated: z.number().int(), warnings: assignmentWarnings }),
    audit: ['agent.assigned'],
    errors: ['environment_protected', 'validation_failed', 'overloaded', 'unavailable'],
  },
});
