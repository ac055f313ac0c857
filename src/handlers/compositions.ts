// Compositions: saved, previewed, deployed. What the YAML looks like is assembly's; what runs is the environment's.
import type { compositionRoutes } from '../api/compositions.ts';
import { HubError, notFound } from '../domain/error.ts';
import type { Composition } from '../domain/library.ts';
import type { CompositionSummary, ItemView } from '../ports/library.ts';
import { assemble, requireValid } from './assembly.ts';
import type { Handlers, Hub } from './hub.ts';
import { listOf } from './pages.ts';
import { compositionChanged, release } from './release.ts';
import { iso } from './render.ts';

const renderSummary = (composition: Omit<CompositionSummary, 'id'>) => ({
  name: composition.name,
  description: composition.description,
  defaults_mode: composition.defaultsMode,
  update_strategy: composition.updateStrategy,
  contract_count: composition.contractCount,
  updated_at: iso(composition.updatedAt),
  created_by: composition.createdBy,
});

const renderDetail = (composition: Composition, views: readonly ItemView[]) => ({
  ...renderSummary({ ...composition, contractCount: composition.items.length }),
  id: composition.id,
  tenant_id: composition.tenantId,
  contracts: views.map((view) => ({
    contract_id: view.contractId,
    contract_name: view.name,
    contract_type: view.type,
    contract_version: view.version,
    position: view.position,
    mode_override: view.modeOverride,
    enabled: view.enabled,
    has_newer_version: view.latestVersion > view.version,
  })),
  tools_config: composition.toolsConfig === null ? null : { ...composition.toolsConfig },
  observability: composition.observability === null ? null : { ...composition.observability },
});

const absent = (name: string): HubError => notFound(`Composition '${name}' not found`);

const unknownContract = (id: string): HubError => new HubError('unprocessable', `Contract '${id}' not found`);

async function find(hub: Hub, tenantId: string, name: string): Promise<Composition> {
  const composition = await hub.store.compositions.get(tenantId, name);
  if (!composition) throw absent(name);
  return composition;
}

type ItemInput = {
  contract_id: string;
  position: number;
  mode_override: 'enforce' | 'observe' | null;
  enabled: boolean;
};

const itemOf = (item: ItemInput) => ({
  contractId: item.contract_id,
  position: item.position,
  modeOverride: item.mode_override,
  enabled: item.enabled,
});

export const compositions: Handlers<typeof compositionRoutes> = {
  async listCompositions(hub, { query }, caller) {
    return listOf(await hub.store.compositions.list(caller.tenantId, query), query, renderSummary);
  },

  async createComposition(hub, { body }, caller) {
    const { tenantId } = caller;
    const now = hub.clock.now();
    const created = await hub.store.compositions.create({
      id: hub.secrets.uuid(),
      tenantId,
      name: body.name,
      description: body.description,
      defaultsMode: body.defaults_mode,
      updateStrategy: body.update_strategy,
      items: body.contracts.map(itemOf),
      toolsConfig: body.tools_config,
      observability: body.observability,
      createdBy: caller.email,
      createdAt: now,
      updatedAt: now,
    });
    if (created === 'exists') {
      throw new HubError('conflict', `Composition '${body.name}' already exists. Use PUT to change it.`);
    }
    if ('unknownContract' in created) throw unknownContract(created.unknownContract);
    await compositionChanged(hub, tenantId, created.name);
    return renderDetail(created, await hub.store.compositions.items(tenantId, created.name));
  },

  async getComposition(hub, { params }, caller) {
    const composition = await find(hub, caller.tenantId, params.name);
    return renderDetail(composition, await hub.store.compositions.items(caller.tenantId, params.name));
  },

  async updateComposition(hub, { params, body }, caller) {
    const { tenantId } = caller;
    const updated = await hub.store.compositions.update(
      tenantId,
      params.name,
      {
        ...(body.description === undefined ? {} : { description: body.description }),
        ...(body.defaults_mode == null ? {} : { defaultsMode: body.defaults_mode }),
        ...(body.update_strategy == null ? {} : { updateStrategy: body.update_strategy }),
        ...(body.tools_config === undefined ? {} : { toolsConfig: body.tools_config }),
        ...(body.observability === undefined ? {} : { observability: body.observability }),
        ...(body.contracts == null ? {} : { items: body.contracts.map(itemOf) }),
      },
      hub.clock.now(),
      body.if_updated_at,
    );
    if (updated === 'absent') throw absent(params.name);
    if (updated === 'changed') {
      throw new HubError(
        'conflict',
        `Composition '${params.name}' was changed since it was read. Read it again and repeat the change.`,
      );
    }
    if ('unknownContract' in updated) throw unknownContract(updated.unknownContract);
    await compositionChanged(hub, tenantId, params.name);
    return renderDetail(updated, await hub.store.compositions.items(tenantId, params.name));
  },

  async deleteComposition(hub, { params }, caller) {
    const removed = await hub.store.compositions.remove(caller.tenantId, params.name);
    if (!removed) throw absent(params.name);
    await compositionChanged(hub, caller.tenantId, params.name);
    return null;
  },

  async previewComposition(hub, { params }, caller) {
    const composition = await find(hub, caller.tenantId, params.name);
    const views = await hub.store.compositions.items(caller.tenantId, params.name);
    const assembly = await assemble(hub, composition, views);
    return {
      yaml_content: assembly.yaml,
      contracts_count: assembly.contracts.length,
      validation_errors: [...assembly.problems],
    };
  },

  async deployComposition(hub, { params, body }, caller) {
    const composition = await find(hub, caller.tenantId, params.name);
    const views = await hub.store.compositions.items(caller.tenantId, params.name);
    const assembly = await assemble(hub, composition, views);
    requireValid(assembly);
    const { version, deployments } = await release(hub, composition, assembly, [body.env], caller.email);
    const [deployment] = deployments;
    if (!deployment) throw new HubError('internal', 'The deployment was not made.');
    return {
      bundle_name: version.name,
      bundle_version: version.version,
      contracts_assembled: assembly.contracts.map((contract) => ({ ...contract })),
      deployment_id: deployment.id,
    };
  },
};
