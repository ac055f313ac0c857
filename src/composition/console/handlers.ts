// Compositions in the console API's words.

import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { renderFindings, renderFindingsFor } from '../../http/contract/render.ts';
import { HubError } from '../../shared/error.ts';
import { ifMatchOf } from '../../shared/if-match.ts';
import { compositionItemRecord, compositionRecord, compositionSummaryRecord } from '../record.ts';
import type { CompositionView } from '../use-cases/compositions.ts';
import type { compositionRoutes } from './routes.ts';

const renderDetail = ({ composition, items }: CompositionView) =>
  compositionRecord.render('console', {
    ...composition,
    contractCount: composition.items.length,
    contracts: items.map((item) =>
      compositionItemRecord.render('console', {
        ...item,
        hasNewerVersion: item.latestVersion > item.version,
      }),
    ),
  });

/** The answer to a save: with `auto_deploy=hold`, whether that kept an update back. */
async function renderSaved({ app }: Pick<Hub, 'app'>, view: CompositionView, autoDeploy: 'hold' | undefined) {
  const isHeld = autoDeploy === 'hold' && (await app.compositions.isLive(view.composition));
  return { ...renderDetail(view), ...(isHeld ? { auto_deploy: 'held' as const } : {}) };
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
  listCompositions: async ({ app }, { query }, caller) =>
    listOf(await app.compositions.list(principalOf(caller), query), query, (summary) =>
      compositionSummaryRecord.render('console', summary),
    ),

  async createComposition(hub, { query, body }, caller) {
    const created = await hub.app.compositions.create(principalOf(caller), {
      name: body.name,
      description: body.description,
      defaultsMode: body.defaults_mode,
      updateStrategy: body.update_strategy,
      documentKind: body.document_kind,
      items: body.contracts.map(itemOf),
      toolsConfig: body.tools_config,
      observability: body.observability,
    });
    if (created !== 'exists') return renderSaved(hub, created, query.auto_deploy);
    throw new HubError('conflict', `Composition '${body.name}' already exists. Use PUT to change it.`);
  },

  getComposition: async ({ app }, { params }, caller) =>
    renderDetail(await app.compositions.get(principalOf(caller), params.name)),

  async updateComposition(hub, { params, query, body }, caller, request) {
    const patch = {
      ...(body.description === undefined ? {} : { description: body.description }),
      ...(body.defaults_mode == null ? {} : { defaultsMode: body.defaults_mode }),
      ...(body.update_strategy == null ? {} : { updateStrategy: body.update_strategy }),
      ...(body.document_kind === undefined ? {} : { documentKind: body.document_kind }),
      ...(body.tools_config === undefined ? {} : { toolsConfig: body.tools_config }),
      ...(body.observability === undefined ? {} : { observability: body.observability }),
      ...(body.contracts == null ? {} : { items: body.contracts.map(itemOf) }),
    };
    const updated = await hub.app.compositions.update(principalOf(caller), params.name, patch, {
      ifMatch: ifMatchOf(request.header('if-match')),
      ifUpdatedAt: body.if_updated_at,
    });
    return renderSaved(hub, updated, query.auto_deploy);
  },

  async deleteComposition({ app }, { params }, caller, request) {
    const ifMatch = ifMatchOf(request.header('if-match'));
    await app.compositions.remove(principalOf(caller), params.name, ifMatch);
    return null;
  },

  async previewComposition({ app }, { params }, caller) {
    const { assembly, warnings } = await app.compositions.preview(principalOf(caller), params.name);
    return {
      yaml_content: assembly.yaml,
      contracts_count: assembly.contracts.length,
      validation_errors: [...assembly.problems],
      warnings: renderFindings(warnings),
    };
  },

  async deployComposition({ app }, { params, query, body }, caller, request) {
    const { version, deployments, assembly, warnings } = await app.compositions.deploy(
      principalOf(caller),
      params.name,
      body.env,
      {
        force: query.force,
        reason: body.reason || null,
        ifMatch: ifMatchOf(request.header('if-match')),
      },
    );
    const [deployment] = deployments;
    if (!deployment) throw new HubError('internal', 'The deployment failed.');
    const unable = await app.vocabularies.ofDeployment(deployment);
    return {
      bundle_name: version.name,
      bundle_version: version.version,
      contracts_assembled: assembly.contracts.map(({ entries: _entries, ...contract }) => contract),
      deployment_id: deployment.id,
      forced: deployment.forced,
      warnings: renderFindingsFor(warnings, unable, 'console'),
    };
  },
};
