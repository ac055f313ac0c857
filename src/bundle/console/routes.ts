// Routes of bundles.
import { z } from 'zod';
import { deployErrors, deployment, forceQuery } from '../../deployment/console/schemas.ts';
import { deployReason } from '../../deployment/record.ts';
import { env, instant, paging, versionNumber, yamlDocument } from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import { provenanceFields } from '../../http/contract/signature.ts';
import { warnings } from '../record/finding.ts';
import { bundleRecord } from '../record.ts';

export const version = bundleRecord.reply('console', 'one');

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
});
