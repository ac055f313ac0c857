// Routes of compositions.
import { z } from 'zod';
import { warnings } from '../../bundle/record/finding.ts';
import { autoDeployQuery, autoDeployReply } from '../../contract/console/auto-deploy.ts';
import { documentKind } from '../../contract/record.ts';
import { deployErrors, forceQuery } from '../../deployment/console/schemas.ts';
import { deployReason } from '../../deployment/record.ts';
import {
  anyObject,
  bundleName,
  contractId,
  env,
  instantInput,
  mode,
  paging,
  text,
  uuid,
} from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import { reservedBundleNames } from '../../shared/ids.ts';
import { compositionRecord, compositionSummaryRecord, updateStrategy } from '../record.ts';

/** Contracts of one composition. */
export const maxItems = 100;

const smallObject = anyObject.refine(
  (value) => JSON.stringify(value).length <= 65_536,
  'must not be larger than 65536 characters of JSON',
);

export const item = z.object({
  contract_id: contractId,
  position: z.number().int().min(-1_000_000_000).max(1_000_000_000),
  mode_override: mode.nullable().default(null),
  enabled: z.boolean().default(true),
});

const contracts = z
  .array(item)
  .max(maxItems)
  .superRefine((items, context) => {
    const earlierIds = new Set<string>();
    for (const [i, { contract_id }] of items.entries()) {
      if (earlierIds.has(contract_id)) {
        context.addIssue({
          code: 'custom',
          path: [i, 'contract_id'],
          message: `the list contains '${contract_id}' twice`,
        });
      }
      earlierIds.add(contract_id);
    }
  });

export const detail = compositionRecord.reply('console', 'one').extend({
  /** In the answer to a save with `auto_deploy=hold`: it has the strategy `auto_deploy` and runs somewhere. */
  ...autoDeployReply,
});

/** Names in paths are only looked up: an impossible one is simply not found. */
const params = z.object({ name: z.string().max(512) });

export const compositionRoutes = routes({
  listCompositions: {
    method: 'GET',
    path: '/api/v1/compositions',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'compositions',
    summary: 'Compositions, newest change first',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(compositionSummaryRecord.reply('console', 'list')),
    errors: ['validation_failed'],
  },
  createComposition: {
    method: 'POST',
    path: '/api/v1/compositions',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'compositions',
    summary: 'Create a composition; each contract is pinned to its latest version',
    query: z.object(autoDeployQuery),
    body: z.object({
      name: bundleName.refine((name) => !reservedBundleNames.has(name), 'is a reserved word'),
      description: text(2000).nullable().default(null),
      defaults_mode: mode.default('enforce'),
      update_strategy: updateStrategy.default('manual'),
      /** In whose words its documents are written: bundles of contracts, or rulesets. Null: those of bundles. */
      document_kind: documentKind.nullable().default(null),
      contracts: contracts.default([]),
      tools_config: smallObject.nullable().default(null),
      observability: smallObject.nullable().default(null),
    }),
    status: 201,
    reply: detail,
    audit: ['composition.created'],
    errors: ['conflict', 'unprocessable', 'validation_failed'],
    bodyLimit: documentBody,
  },
  getComposition: {
    method: 'GET',
    path: '/api/v1/compositions/{name}',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'compositions',
    summary: 'A composition with its contracts',
    params,
    status: 200,
    reply: detail,
    errors: ['not_found', 'validation_failed'],
  },
  updateComposition: {
    method: 'PUT',
    path: '/api/v1/compositions/{name}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'compositions',
    summary:
      'Change a composition; absent fields keep their value; null clears description, document_kind, tools_config and observability only. ' +
      'A list of contracts replaces the whole list and pins each to its latest version. ' +
      'With if_updated_at, a change after that time answers 409',
    params,
    query: z.object(autoDeployQuery),
    ifMatch: 'The updated_at of the composition.',
    body: z.object({
      description: text(2000).nullish(),
      defaults_mode: mode.nullish(),
      update_strategy: updateStrategy.nullish(),
      document_kind: documentKind.nullish(),
      contracts: contracts.nullish(),
      tools_config: smallObject.nullish(),
      observability: smallObject.nullish(),
      /** The updated_at that was read: nothing is written when the composition was changed since. */
      if_updated_at: instantInput.optional(),
    }),
    status: 200,
    reply: detail,
    audit: ['composition.updated'],
    errors: ['not_found', 'conflict', 'unprocessable', 'validation_failed'],
    bodyLimit: documentBody,
  },
  deleteComposition: {
    method: 'DELETE',
    path: '/api/v1/compositions/{name}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'compositions',
    summary: 'Delete a composition; its bundles stay',
    params,
    ifMatch: 'The updated_at of the composition.',
    status: 204,
    audit: ['composition.deleted'],
    errors: ['not_found', 'validation_failed'],
  },
  previewComposition: {
    method: 'POST',
    path: '/api/v1/compositions/{name}/preview',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'compositions',
    summary: 'The YAML that a deployment would contain, and its problems; stores nothing',
    params,
    status: 200,
    reply: z.object({
      yaml_content: z.string(),
      contracts_count: z.number().int(),
      validation_errors: z.array(z.string()),
      warnings,
    }),
    audit: 'It changes nothing.',
    errors: ['not_found', 'validation_failed', 'overloaded'],
    bodyLimit: documentBody,
  },
  deployComposition: {
    method: 'POST',
    path: '/api/v1/compositions/{name}/deploy',
    auth: ['cookie'],
    role: 'operator',
    envs: 'body',
    tag: 'compositions',
    summary:
      'Assemble, validate, save as a bundle version, sign, deploy and push; to production if there is no body',
    params,
    query: forceQuery,
    ifMatch: 'The version number or revision_hash that the environment runs, or 0 if it runs none.',
    body: z.object({ env: env.default('production'), reason: deployReason.nullish() }),
    optionalBody: true,
    status: 201,
    reply: z.object({
      bundle_name: z.string(),
      bundle_version: z.number().int(),
      contracts_assembled: z.array(
        z.object({
          contract_id: z.string(),
          version: z.number().int(),
          mode: z.string(),
          observe: z.boolean(),
        }),
      ),
      deployment_id: uuid,
      /** True when an admin deployed it although the document has errors. */
      forced: z.boolean(),
      warnings,
    }),
    audit: ['bundle.uploaded', 'ruleset.deployed'],
    errors: deployErrors,
    bodyLimit: documentBody,
  },
});
