// The contract library: versions in, versions out, and bundles taken apart into it.
import type { contractRoutes } from '../api/contracts.ts';
import type { Announcement } from '../domain/announcement.ts';
import { HubError, notFound } from '../domain/error.ts';
import type { Composition, ContractVersion } from '../domain/library.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import type { BundleParts } from '../ports/evaluator.ts';
import type { Handlers, Hub } from './hub.ts';
import { listOf } from './pages.ts';
import { iso } from './render.ts';
import { rollOut } from './rollout.ts';

type History = Awaited<ReturnType<Hub['store']['contracts']['history']>>;

const renderSummary = (contract: Omit<ContractVersion, 'definition'>, usageCount: number) => ({
  contract_id: contract.contractId,
  name: contract.name,
  type: contract.type,
  tags: [...contract.tags],
  version: contract.version,
  description: contract.description,
  created_at: iso(contract.createdAt),
  usage_count: usageCount,
});

const renderDetail = (
  contract: ContractVersion,
  more: { usageCount: number; isLatest: boolean; history: History },
) => ({
  ...renderSummary(contract, more.usageCount),
  id: contract.id,
  tenant_id: contract.tenantId,
  definition: { ...contract.definition },
  is_latest: more.isLatest,
  created_by: contract.createdBy,
  versions: more.history.map(({ version, createdAt, createdBy }) => ({
    version,
    created_at: iso(createdAt),
    created_by: createdBy,
  })),
});

const absent = (contractId: string): HubError => notFound(`Contract '${contractId}' not found`);

export const contracts: Handlers<typeof contractRoutes> = {
  async listContracts(hub, { query }, caller) {
    const { type, tag, search } = query;
    const page = await hub.store.contracts.list(caller.tenantId, omitUndefined({ type, tag, search }), query);
    return listOf(page, query, (contract) => renderSummary(contract, contract.usageCount));
  },

  async createContract(hub, { body }, caller) {
    const contract: ContractVersion = {
      id: hub.secrets.uuid(),
      tenantId: caller.tenantId,
      contractId: body.contract_id,
      version: 1,
      name: body.name,
      description: body.description,
      type: body.type,
      definition: body.definition,
      tags: body.tags,
      createdBy: caller.email,
      createdAt: hub.clock.now(),
    };
    if ((await hub.store.contracts.create(contract)) === 'exists') {
      throw new HubError(
        'conflict',
        `Contract '${contract.contractId}' already exists. Use PUT to create a new version.`,
      );
    }
    const { tenantId, contractId } = contract;
    await hub.announcer.announce([{ kind: 'contractCreated', tenantId, contractId, version: 1 }]);
    return renderDetail(contract, { usageCount: 0, isLatest: true, history: [] });
  },

  async importContracts(hub, { body }, caller) {
    const parts = await hub.evaluator.takeApart(caller.tenantId, body.yaml_content);
    const { contracts, composition } = recordsOf(hub, parts, caller.tenantId, caller.email);
    const imported = await hub.store.contracts.importAll(caller.tenantId, contracts, composition);
    if ('typeChanged' in imported) {
      throw new HubError(
        'unprocessable',
        `Contract '${imported.typeChanged}' exists with another type. A contract keeps its type: import it under another id.`,
      );
    }
    const { tenantId } = caller;
    const contract = (kind: 'contractCreated' | 'contractUpdated') => (contractId: string) =>
      ({ kind, tenantId, contractId, version: null }) as const;
    const announcements: Announcement[] = [
      ...imported.created.map(contract('contractCreated')),
      ...imported.updated.map(contract('contractUpdated')),
    ];
    if (imported.composition !== null) {
      const name = imported.composition;
      announcements.push({ kind: 'compositionChanged', tenantId, name, bundleVersion: null });
    }
    await hub.announcer.announce(announcements);
    return {
      contracts_created: [...imported.created],
      contracts_updated: [...imported.updated],
      bundle_composition_created: imported.composition,
    };
  },

  async getContract(hub, { params }, caller) {
    const contract = await hub.store.contracts.latest(caller.tenantId, params.contract_id);
    if (!contract) throw absent(params.contract_id);
    return detailOf(hub, contract);
  },

  async getContractVersion(hub, { params }, caller) {
    const { contract_id: id, version } = params;
    const [contract, latest, usageCount] = await Promise.all([
      hub.store.contracts.version(caller.tenantId, id, version),
      hub.store.contracts.latest(caller.tenantId, id),
      hub.store.contracts.usageCount(caller.tenantId, id),
    ]);
    if (!contract) throw notFound(`Contract '${id}' v${version} not found`);
    const isLatest = latest?.version === version;
    return renderDetail(contract, { usageCount, isLatest, history: [] });
  },

  async updateContract(hub, { params, body }, caller) {
    const patch = {
      ...(body.name == null ? {} : { name: body.name }),
      ...(body.description === undefined ? {} : { description: body.description }),
      ...(body.definition == null ? {} : { definition: body.definition }),
      ...(body.tags === undefined ? {} : { tags: body.tags ?? [] }),
    };
    if (Object.keys(patch).length === 0) {
      throw new HubError(
        'unprocessable',
        'At least one field must be provided: name, description, definition or tags.',
      );
    }
    const contract = await hub.store.contracts.addVersion(caller.tenantId, params.contract_id, patch, {
      id: hub.secrets.uuid(),
      createdBy: caller.email,
      createdAt: hub.clock.now(),
    });
    if (!contract) throw absent(params.contract_id);
    const { tenantId, contractId, version } = contract;
    await hub.announcer.announce([{ kind: 'contractUpdated', tenantId, contractId, version }]);
    await rollOut(hub, tenantId, contractId);
    return detailOf(hub, contract);
  },

  async deleteContract(hub, { params }, caller) {
    const outcome = await hub.store.contracts.remove(caller.tenantId, params.contract_id);
    if (outcome === 'absent') throw absent(params.contract_id);
    if (outcome === 'removed') return null;
    const shown = outcome.usedBy.map((name) => `'${name}'`);
    const rest = outcome.count - shown.length;
    throw new HubError(
      'conflict',
      `Contract '${params.contract_id}' is used by compositions: ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}. Remove it there first.`,
    );
  },

  async contractUsage(hub, { params, query }, caller) {
    const page = await hub.store.contracts.usage(caller.tenantId, params.contract_id, query);
    return listOf(page, query, ({ id, name }) => ({ composition_id: id, composition_name: name }));
  },
};

async function detailOf(hub: Hub, contract: ContractVersion) {
  const { tenantId, contractId } = contract;
  const [history, usageCount] = await Promise.all([
    hub.store.contracts.history(tenantId, contractId),
    hub.store.contracts.usageCount(tenantId, contractId),
  ]);
  // A parallel PUT may have added a later one.
  const isLatest = (history[0]?.version ?? contract.version) === contract.version;
  return renderDetail(contract, { usageCount, isLatest, history });
}

function recordsOf(hub: Hub, parts: BundleParts, tenantId: string, createdBy: string) {
  const createdAt = hub.clock.now();
  const contracts = parts.contracts.map(
    ({ contractId, type, name, definition }): ContractVersion => ({
      id: hub.secrets.uuid(),
      tenantId,
      contractId,
      version: 1,
      name,
      description: null,
      type,
      definition,
      tags: [],
      createdBy,
      createdAt,
    }),
  );
  const composition: Composition = {
    id: hub.secrets.uuid(),
    tenantId,
    name: parts.name,
    description: parts.description ?? `Created from an import of '${parts.name}'`,
    defaultsMode: parts.defaultsMode,
    updateStrategy: 'manual',
    items: parts.contracts.map(({ contractId }, i) => ({
      contractId,
      version: 1,
      position: (i + 1) * 10,
      modeOverride: null,
      enabled: true,
    })),
    toolsConfig: parts.toolsConfig,
    observability: parts.observability,
    createdBy,
    createdAt,
    updatedAt: createdAt,
  };
  return { contracts, composition };
}
