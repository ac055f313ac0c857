// Routes of the contract library. The assistant's routes are not here.
import { z } from 'zod';
import {
  anyObject,
  contractId,
  contractType,
  env,
  instant,
  line,
  paging,
  tags,
  text,
  uuid,
  versionNumber,
  yamlDocument,
} from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import { contractRecord, contractSummaryRecord } from '../record.ts';
import { autoDeployQuery, autoDeployReply } from './auto-deploy.ts';

/** Characters of a definition's JSON. A bundle may hold 1 MiB, so a quarter of it is a generous contract. */
export const maxDefinition = 262_144;

const definition = anyObject.refine(
  (value) => JSON.stringify(value).length <= maxDefinition,
  `must not be larger than ${maxDefinition} characters of JSON`,
);

export const detail = contractRecord.reply('console', 'one').extend({
  versions: z.array(z.object({ version: z.number().int(), created_at: instant, created_by: z.string() })),
  /** In the answer to a save: a composition that deploys by itself was not deployed, or not everywhere. */
  ...autoDeployReply,
});

/** Only with `include_rules`. */
const rule = z.object({
  /** The definition as a sentence of at most 240 characters. */
  sentence: z.string(),
  /** Names and patterns, the first 20; empty: the contract names none. */
  tools: z.array(z.string()),
  /** Deployed documents that were assembled from the contract. */
  deployed: z.array(z.object({ env, bundle_name: z.string(), bundle_version: z.number().int() })),
});

/** Names in paths are only looked up: an impossible one is simply not found. */
const params = z.object({ contract_id: z.string().max(512) });

export const contractRoutes = routes({
  listContracts: {
    method: 'GET',
    path: '/api/v1/contracts',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'contracts',
    summary: 'Latest version of each contract, newest first',
    query: z.object({
      type: z.string().max(64).optional(),
      tag: z.string().max(64).optional(),
      search: text(255).optional(),
      /** `true`: adds `rule` to each contract. */
      include_rules: z.enum(['true', 'false']).default('false'),
      ...paging(1000),
    }),
    status: 200,
    reply: z.array(contractSummaryRecord.reply('console', 'list').extend({ rule: rule.optional() })),
    search: true,
    errors: ['validation_failed', 'search_timeout', 'rate_limited'],
  },
  listContractTags: {
    method: 'GET',
    path: '/api/v1/contract-tags',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'contracts',
    summary: 'Tags of the latest version of each contract, each once, in order',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(z.string()),
    search: true,
    errors: ['validation_failed', 'search_timeout', 'rate_limited'],
  },
  createContract: {
    method: 'POST',
    path: '/api/v1/contracts',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'contracts',
    summary: 'Add a contract to the library as version 1',
    query: z.object(autoDeployQuery),
    body: z.object({
      contract_id: contractId,
      name: line(255),
      description: text(2000).nullable().default(null),
      type: contractType,
      definition,
      tags: tags.default([]),
    }),
    status: 201,
    reply: detail,
    audit: ['contract.created'],
    errors: ['conflict', 'validation_failed'],
    bodyLimit: documentBody,
  },
  importContracts: {
    method: 'POST',
    path: '/api/v1/contracts/import',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'contracts',
    summary: 'Import a YAML bundle as contracts, and as a composition of its name if none exists',
    body: yamlDocument,
    yamlField: 'yaml_content',
    status: 201,
    reply: z.object({
      contracts_created: z.array(z.string()),
      contracts_updated: z.array(z.string()),
      bundle_composition_created: z.string().nullable(),
    }),
    audit: ['contract.imported'],
    errors: ['unprocessable', 'validation_failed', 'overloaded'],
    bodyLimit: documentBody,
  },
  getContract: {
    method: 'GET',
    path: '/api/v1/contracts/{contract_id}',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'contracts',
    summary: 'The latest version, with a history of the newest 1,000 versions; read older ones by number',
    params,
    query: z.object({
      /** `true`: also takes the id of an entry in a deployed document, as events contain it, for its contract. */
      entry: z.enum(['true', 'false']).optional(),
    }),
    status: 200,
    reply: detail,
    errors: ['not_found', 'validation_failed'],
  },
  getContractVersion: {
    method: 'GET',
    path: '/api/v1/contracts/{contract_id}/versions/{version}',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'contracts',
    summary: 'One version of a contract',
    params: params.extend({ version: versionNumber }),
    status: 200,
    reply: detail,
    errors: ['not_found', 'validation_failed'],
  },
  updateContract: {
    method: 'PUT',
    path: '/api/v1/contracts/{contract_id}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'contracts',
    summary:
      'Add a version; absent fields keep their value; null clears description and tags only. ' +
      'With auto_deploy=hold, no composition is deployed by it',
    params,
    query: z.object(autoDeployQuery),
    ifMatch: 'The number or id of the latest version.',
    body: z.object({
      name: line(255).nullish(),
      description: text(2000).nullish(),
      definition: definition.nullish(),
      tags: tags.nullish(),
    }),
    status: 200,
    reply: detail,
    audit: ['contract.updated', 'composition.updated', 'bundle.uploaded', 'ruleset.deployed'],
    errors: ['not_found', 'unprocessable', 'validation_failed'],
    bodyLimit: documentBody,
  },
  deleteContract: {
    method: 'DELETE',
    path: '/api/v1/contracts/{contract_id}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'contracts',
    summary: 'Delete all versions; refused while a composition contains the contract',
    params,
    ifMatch: 'The number or id of the latest version.',
    status: 204,
    audit: ['contract.deleted'],
    errors: ['not_found', 'conflict', 'validation_failed'],
  },
  contractUsage: {
    method: 'GET',
    path: '/api/v1/contracts/{contract_id}/usage',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'contracts',
    summary: 'Compositions that contain the contract, ordered by name',
    params,
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(z.object({ composition_id: uuid, composition_name: z.string() })),
    errors: ['validation_failed'],
  },
});
