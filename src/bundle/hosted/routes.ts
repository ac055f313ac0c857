// Routes of rulesets: versioned documents of rules, saved and deployed in one step.
import { z } from 'zod';
import { deployReason } from '../../deployment/record.ts';
import { boolQuery, env, versionNumber } from '../../http/contract/fields.ts';
import { hostedPaging, pageFields } from '../../http/contract/hosted-fields.ts';
import { routes } from '../../http/contract/route.ts';
import { provenanceFields } from '../../http/contract/signature.ts';
import { lintFinding } from '../record/finding.ts';
import {
  currentRulesetRecord,
  deployedRulesetRecord,
  rulesetRecord,
  rulesetSummaryRecord,
} from '../record.ts';

/** Bytes of a document; the next one is refused by the transport already. */
const rulesetBody = 512 * 1024;

export const rulesetVersion = rulesetRecord.reply('hosted', 'one');

export const rulesetDetail = rulesetVersion.extend({ yaml_content: z.string() });

/** Names in paths are only looked up: an impossible one is simply not found. */
const params = z.object({ name: z.string().max(512) });
const versionParams = params.extend({ version: versionNumber });

/** Where nothing runs, whatever it is called, nothing is found. */
const anyEnv = z.string().max(128).optional();

export const hostedRulesetRoutes = routes({
  hostedListRulesets: {
    method: 'GET',
    path: '/v1/rulesets',
    auth: ['hostedKey', 'operatorJwt'],
    role: 'viewer',
    envs: 'none',
    tag: 'hosted-rulesets',
    summary: 'Rulesets, ordered by name; an API key for one environment can read those deployed there',
    query: z.object(hostedPaging(200, 50)),
    status: 200,
    reply: z.object({ rulesets: z.array(rulesetSummaryRecord.reply('hosted', 'list')), ...pageFields }),
    errors: ['validation_failed'],
  },
  hostedGetRuleset: {
    method: 'GET',
    path: '/v1/rulesets/{name}',
    auth: ['hostedKey', 'operatorJwt'],
    role: 'viewer',
    envs: 'none',
    tag: 'hosted-rulesets',
    summary:
      'The newest version, deployed or not, or for an API key for one environment the version that runs there; 304 if ' +
      'If-None-Match contains its ETag',
    params,
    status: 200,
    reply: rulesetDetail,
    download: true,
    errors: ['not_found', 'validation_failed'],
  },
  hostedPutRuleset: {
    method: 'PUT',
    path: '/v1/rulesets/{name}',
    auth: ['operatorJwt'],
    role: 'operator',
    envs: 'query',
    tag: 'hosted-rulesets',
    summary:
      'Save a document as the next version and deploy it; bytes equal to the newest version create none (200). ' +
      'If-Match and If-None-Match refer to the newest version',
    params,
    query: z.object({
      /** Default: production. Saving alone (deploy=false) concerns none. */
      env: env.optional(),
      /** false: only save. */
      deploy: z.enum(['true', 'false']).default('true'),
      /** Accepts a document despite linter errors; admins only. A document that does not compile is never accepted. */
      force: boolQuery,
      /** Reason for the deployment: kept in the audit chain. */
      reason: deployReason.optional(),
    }),
    parse: 'bytes',
    bodyMedia: 'application/x-yaml',
    bodyLimit: rulesetBody,
    status: 201,
    reply: rulesetVersion.extend({ created: z.boolean(), warnings: z.array(lintFinding) }),
    audit: ['ruleset.uploaded', 'ruleset.deployed'],
    errors: [
      'environment_protected',
      'forbidden',
      'precondition_failed',
      'payload_too_large',
      'unsupported_media_type',
      'unprocessable',
      'validation_failed',
      'overloaded',
      'unavailable',
    ],
  },
  hostedRulesetVersions: {
    method: 'GET',
    path: '/v1/rulesets/{name}/versions',
    auth: ['hostedKey', 'operatorJwt'],
    role: 'viewer',
    envs: 'none',
    tag: 'hosted-rulesets',
    summary: 'Versions, newest first; an API key for one environment can read the version that runs there',
    params,
    query: z.object(hostedPaging(200, 50)),
    status: 200,
    reply: z.object({ versions: z.array(rulesetVersion), ...pageFields }),
    errors: ['not_found', 'validation_failed'],
  },
  hostedRulesetVersion: {
    method: 'GET',
    path: '/v1/rulesets/{name}/versions/{version}',
    auth: ['hostedKey', 'operatorJwt'],
    role: 'viewer',
    envs: 'none',
    tag: 'hosted-rulesets',
    summary: 'One saved version; 304 if If-None-Match contains its ETag',
    params: versionParams,
    status: 200,
    reply: rulesetDetail,
    download: true,
    errors: ['not_found', 'validation_failed'],
  },
  hostedDeployRuleset: {
    method: 'POST',
    path: '/v1/rulesets/{name}/versions/{version}/deploy',
    auth: ['operatorJwt'],
    role: 'operator',
    envs: 'query',
    tag: 'hosted-rulesets',
    summary:
      'Deploy a saved version, for example to roll back. A document with errors is refused with all errors, unless it ran there ' +
      'before or an admin forces the deployment',
    params: versionParams,
    query: z.object({ env: env.optional(), force: boolQuery, reason: deployReason.optional() }),
    status: 201,
    reply: deployedRulesetRecord.reply('hosted', 'one').extend({ warnings: z.array(lintFinding) }),
    audit: ['ruleset.deployed'],
    errors: [
      'environment_protected',
      'forbidden',
      'not_found',
      'unprocessable',
      'validation_failed',
      'overloaded',
      'unavailable',
    ],
  },
  hostedCurrentRuleset: {
    method: 'GET',
    path: '/v1/rulesets/{name}/current',
    auth: ['hostedKey', 'operatorJwt'],
    role: 'viewer',
    envs: 'query',
    tag: 'hosted-rulesets',
    summary:
      "The deployed ruleset with its bytes and signature, in the key's environment, else `env`, else production; 304 to If-None-Match",
    params,
    query: z.object({ env: anyEnv }),
    status: 200,
    reply: currentRulesetRecord.reply('hosted', 'one').extend(provenanceFields),
    download: true,
    errors: ['env_mismatch', 'not_found', 'validation_failed'],
  },
  hostedUndeployRuleset: {
    method: 'DELETE',
    path: '/v1/rulesets/{name}/current',
    auth: ['operatorJwt'],
    role: 'operator',
    envs: 'query',
    tag: 'hosted-rulesets',
    summary:
      'Undeploy a ruleset from an environment. Connected agents keep their document; new agents receive none',
    params,
    query: z.object({ env: env.optional() }),
    status: 204,
    audit: ['ruleset.undeployed'],
    errors: [
      'environment_protected',
      'forbidden',
      'not_found',
      'validation_failed',
      'overloaded',
      'unavailable',
    ],
  },
});
