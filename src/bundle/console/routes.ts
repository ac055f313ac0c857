// Routes of bundles and deployments.
import { z } from 'zod';
import { deploymentRecord } from '../../deployment/record.ts';
import {
  env,
  instant,
  instantInput,
  intQuery,
  paging,
  text,
  uuid,
  versionNumber,
  yamlDocument,
} from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import { provenanceFields } from '../../http/contract/signature.ts';
import { bundleRecord } from '../record.ts';
import { deployErrors, deployReason, forceQuery, runningVersion, warnings } from '../wire.ts';

export const version = bundleRecord.reply('console', 'one');
export const deployment = deploymentRecord.reply('console', 'one');

/** Names in paths are only looked up: an impossible one is simply not found. */
const params = z.object({ name: z.string().max(512) });
const versionParams = params.extend({ version: versionNumber });

export const bundleRoutes = routes({
  uploadBundle: {
    method: 'POST',
    path: '/api/v1/bundles',
    auth: ['cookie'],
    role: 'operator',
    envs: 'none',
    tag: 'bundles',
    summary: 'Save YAML as the next version of the bundle in metadata.name',
    body: yamlDocument,
    yamlField: 'yaml_content',
    status: 201,
    reply: version.extend({ warnings }),
    audit: ['bundle.uploaded'],
    errors: ['unprocessable', 'validation_failed', 'overloaded'],
    bodyLimit: documentBody,
  },
  listBundles: {
    method: 'GET',
    path: '/api/v1/bundles',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'bundles',
    summary: 'Bundles, newest upload first; an API key can read those deployed to its environment',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(
      z.object({
        name: z.string(),
        latest_version: z.number().int(),
        version_count: z.number().int(),
        last_updated: instant,
        deployed_envs: z.array(env),
        contract_count: z.number().int().nullable(),
        last_deployed_at: instant.nullable(),
      }),
    ),
    errors: ['validation_failed'],
  },
  listBundleVersions: {
    method: 'GET',
    path: '/api/v1/bundles/{name}',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'bundles',
    summary: 'Versions of a bundle, newest first',
    params,
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(version.extend({ deployed_envs: z.array(env) })),
    errors: ['not_found', 'validation_failed'],
  },
  currentBundle: {
    method: 'GET',
    path: '/api/v1/bundles/{name}/current',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'query',
    ownEnvironment: true,
    tag: 'bundles',
    summary:
      'The version deployed to an environment, with its YAML and signature. The header X-Reeve-Isolation contains the ' +
      'mode of isolation in the tool settings, unless it is none',
    params,
    /** A key's own environment, also when absent; people name one. */
    query: z.object({ env: env.optional() }),
    status: 200,
    reply: version.extend({
      yaml_bytes: z.string(),
      signature: z.string(),
      public_key: z.string(),
      env,
      ...provenanceFields,
    }),
    download: true,
    errors: ['env_mismatch', 'not_found', 'validation_failed'],
  },
  getBundleVersion: {
    method: 'GET',
    path: '/api/v1/bundles/{name}/{version}',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'bundles',
    summary: 'One version; an API key can read the version deployed to its environment',
    params: versionParams,
    status: 200,
    reply: version,
    errors: ['not_found', 'validation_failed'],
  },
  getBundleYaml: {
    method: 'GET',
    path: '/api/v1/bundles/{name}/{version}/yaml',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'bundles',
    summary: 'The YAML of one version, byte for byte',
    params: versionParams,
    status: 200,
    media: 'application/x-yaml',
    download: true,
    errors: ['not_found', 'validation_failed'],
  },
  deployBundle: {
    method: 'POST',
    path: '/api/v1/bundles/{name}/{version}/deploy',
    auth: ['cookie'],
    role: 'operator',
    envs: 'body',
    tag: 'bundles',
    summary:
      'Sign a version and deploy it to an environment; a version below the current one is a rollback. A document with errors is refused with all ' +
      'errors, unless it was deployed there before or an admin forces the deployment',
    params: versionParams,
    query: forceQuery,
    ifMatch: 'The version number or revision_hash that the environment runs, or 0 if it runs none.',
    body: z.object({ env, reason: deployReason.nullish() }),
    status: 201,
    reply: deployment.extend({ warnings }),
    audit: ['ruleset.deployed'],
    errors: deployErrors,
    bodyLimit: documentBody,
  },
  deleteBundle: {
    method: 'DELETE',
    path: '/api/v1/bundles/{name}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'bundles',
    summary:
      'Delete all versions of an undeployed bundle. Its version numbers are not reused; its deployments stay listed',
    params,
    ifMatch: 'The number or revision_hash of the newest version.',
    status: 204,
    audit: ['bundle.removed'],
    errors: ['not_found', 'conflict', 'validation_failed'],
  },
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
    params: z.object({ deployment_id: uuid }),
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
