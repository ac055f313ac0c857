// The contract library in the console API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { HubError } from '../../shared/error.ts';
import { ifMatchOf } from '../../shared/if-match.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { contractRecord, contractSummaryRecord } from '../record.ts';
import type { ListedRule } from '../use-cases/listed-rules.ts';
import type { ContractView } from '../use-cases.ts';
import type { contractRoutes } from './routes.ts';

const renderDetail = ({ contract, usageCount, isLatest, history }: ContractView) => ({
  ...contractRecord.render('console', { ...contract, usageCount, isLatest }),
  versions: history.map(({ version, createdAt, createdBy }) => ({
    version,
    created_at: iso(createdAt),
    created_by: createdBy,
  })),
});

const renderRule = ({ sentence, tools, deployed }: ListedRule) => ({
  sentence,
  tools: [...tools],
  deployed: deployed.map(({ env, bundleName, version }) => ({
    env,
    bundle_name: bundleName,
    bundle_version: version,
  })),
});

export const contracts: Handlers<typeof contractRoutes> = {
  async listContracts({ app }, { query }, caller) {
    const { type, tag, search } = query;
    const page = await app.contracts.list(principalOf(caller), omitUndefined({ type, tag, search }), query);
    const rules =
      query.include_rules === 'true' ? await app.listedRules.list(principalOf(caller), page.items) : [];
    const items = page.items.map((contract, at) => ({ contract, rule: rules[at] }));
    return listOf({ ...page, items }, query, ({ contract, rule }) => ({
      ...contractSummaryRecord.render('console', contract),
      ...(rule ? { rule: renderRule(rule) } : {}),
    }));
  },

  listContractTags: async ({ app }, { query }, caller) =>
    listOf(await app.contracts.listTags(principalOf(caller), query), query, (tag) => tag),

  async createContract({ app }, { body }, caller) {
    const { contract_id: contractId, name, description, type, definition, tags } = body;
    const newContract = { contractId, name, description, type, definition, tags };
    const created = await app.contracts.create(principalOf(caller), newContract);
    if (created !== 'exists') return renderDetail(created);
    throw new HubError(
      'conflict',
      `Contract '${contractId}' already exists. Use PUT to create a new version.`,
    );
  },

  async importContracts({ app }, { body }, caller) {
    const imported = await app.contracts.importBundle(principalOf(caller), body.yaml_content);
    return {
      contracts_created: [...imported.created],
      contracts_updated: [...imported.updated],
      bundle_composition_created: imported.composition,
    };
  },

  getContract: async ({ app }, { params, query }, caller) =>
    renderDetail(await app.contracts.get(principalOf(caller), params.contract_id, query.entry === 'true')),

  getContractVersion: async ({ app }, { params }, caller) =>
    renderDetail(await app.contracts.getVersion(principalOf(caller), params.contract_id, params.version)),

  async updateContract({ app }, { params, query, body }, caller, request) {
    const patch = {
      ...(body.name == null ? {} : { name: body.name }),
      ...(body.description === undefined ? {} : { description: body.description }),
      ...(body.definition == null ? {} : { definition: body.definition }),
      ...(body.tags === undefined ? {} : { tags: body.tags ?? [] }),
    };
    const updated = await app.contracts.update(principalOf(caller), params.contract_id, patch, {
      ifMatch: ifMatchOf(request.header('if-match')),
      holdsUpdates: query.auto_deploy === 'hold',
    });
    return { ...renderDetail(updated), ...(updated.isHeld ? { auto_deploy: 'held' as const } : {}) };
  },

  async deleteContract({ app }, { params }, caller, request) {
    const ifMatch = ifMatchOf(request.header('if-match'));
    await app.contracts.remove(principalOf(caller), params.contract_id, ifMatch);
    return null;
  },

  async contractUsage({ app }, { params, query }, caller) {
    const page = await app.contracts.listUsage(principalOf(caller), params.contract_id, query);
    return listOf(page, query, ({ id, name }) => ({ composition_id: id, composition_name: name }));
  },
};
