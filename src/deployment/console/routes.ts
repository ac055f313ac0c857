// Routes of deployments.

import { z } from 'zod';
import { env, instant, instantInput, intQuery, paging, pathId, text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { deployment, runningVersion } from './schemas.ts';

export const deploymentRoutes = routes({
  undeployBundle: {
    method: 'DELETE',
    path: '/api/v1/deployments/current',
    auth: ['cookie'],
    role: 'operator',
    envs: 'query',
    tag: 'deployments',
    summary:
      'Undeploy a bundle from an environment. Connected agents keep their document; new agents receive none',
    query: z.object({ env, bundle_name: z.string().max(512) }),
    ifMatch: 'The version number or revision_hash that the environment runs.',
    status: 204,
    audit: ['ruleset.undeployed'],
    errors: ['environment_protected', 'not_found', 'validation_failed', 'overloaded', 'unavailable'],
  },
  deploymentRollout: {
    method: 'GET',
    path: '/api/v1/deployments/{deployment_id}/rollout',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'deployments',
    summary:
      'Progress of a deployment among the connected agents that follow its bundle, and the agents that do not run it ' +
      'yet; next_cursor names their next page',
    params: z.object({ deployment_id: pathId }),
    query: z.object({ limit: intQuery(1, 500).default(100), cursor: text(4096, 1).optional() }),
    status: 200,
    reply: z.object({
      deployment,
      /** True for the deployment that the environment runs under the name now. */
      current: z.boolean(),
      connected: z.number().int(),
      running: z.number().int(),
      behind: z.number().int(),
      /** Agents that have never reported a version. */
      unknown: z.number().int(),
      /** Versions that agents run, most frequent first. `version` is null if no recent deployment has the document. */
      versions: z.array(runningVersion),
      /** Agents that are behind or unknown, by agent id. */
      agents: z.array(
        z.object({
          agent_id: z.string(),
          policy_version: z.string().nullable(),
          version: z.number().int().nullable(),
          connected_at: instant,
        }),
      ),
      next_cursor: z.string().nullable(),
    }),
    errors: ['bad_request', 'not_found', 'validation_failed', 'unavailable'],
  },
  listDeployments: {
    method: 'GET',
    path: '/api/v1/deployments',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'deployments',
    summary:
      'Deployments, newest first; Link and X-Next-Cursor name the next page. With a range, those deployed or undeployed in it',
    query: z.object({
      env: env.optional(),
      bundle_name: z.string().max(512).optional(),
      since: instantInput.optional(),
      /** Exclusive. */
      until: instantInput.optional(),
      cursor: text(4096, 1).optional(),
      ...paging(200, 50),
    }),
    status: 200,
    reply: z.array(
      deployment.extend({
        /** `rollback`: the version ran there before, and another one right before it. */
        kind: z.enum(['deploy', 'rollback']),
        /** Time of the undeploy that ended it; null: none did. */
        undeployed_at: instant.nullable(),
        undeployed_by: z.string().nullable(),
      }),
    ),
    errors: ['bad_request', 'validation_failed'],
  },
});
