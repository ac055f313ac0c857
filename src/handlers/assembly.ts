// A composition as the YAML that agents load (document 3 §5.2). Writes nothing.
import { HubError } from '../domain/error.ts';
import type { Composition } from '../domain/library.ts';
import type { Assembly, AssemblyItem } from '../ports/evaluator.ts';
import type { ItemView } from '../ports/library.ts';
import type { Hub } from './hub.ts';

const noContracts: Assembly = {
  yaml: '',
  contracts: [],
  problems: ['Composition has no enabled contracts'],
};

/** Assembles the enabled items, in their order; with `observe_first` each newer version runs beside its pinned one, observing. */
export async function assemble(
  hub: Hub,
  composition: Composition,
  views: readonly ItemView[],
): Promise<Assembly> {
  const enabled = views.filter((view) => view.enabled);
  if (enabled.length === 0) return noContracts;
  const shadows =
    composition.updateStrategy === 'observe_first' ? await shadowsOf(hub, composition, enabled) : [];
  const { name, description, defaultsMode, toolsConfig, observability } = composition;
  const { apiVersions, bundleKinds } = hub.settings.wire;
  return hub.evaluator.assemble(composition.tenantId, {
    name,
    description,
    defaultsMode,
    toolsConfig,
    observability,
    apiVersion: apiVersions[0] ?? 'service/v1',
    kind: bundleKinds[0] ?? 'ContractBundle',
    items: enabled.flatMap((view) => [
      itemOf(view),
      ...shadows.filter((shadow) => shadow.contractId === view.contractId),
    ]),
  });
}

const itemOf = ({ contractId, version, modeOverride, type, definition }: ItemView): AssemblyItem => ({
  contractId,
  version,
  modeOverride,
  type,
  definition,
  shadow: false,
});

async function shadowsOf(
  hub: Hub,
  composition: Composition,
  views: readonly ItemView[],
): Promise<readonly AssemblyItem[]> {
  const newer = await latestOf(
    hub,
    composition.tenantId,
    views.filter((view) => view.latestVersion > view.version),
  );
  return newer.map((view) => ({ ...itemOf(view), modeOverride: 'observe', shadow: true }));
}

/** The items as they would be pinned by a save now. At most 100 look-ups. */
export async function latestOf(
  hub: Hub,
  tenantId: string,
  views: readonly ItemView[],
): Promise<readonly ItemView[]> {
  return Promise.all(
    views.map(async (view) => {
      if (view.latestVersion <= view.version) return view;
      const latest = await hub.store.contracts.version(tenantId, view.contractId, view.latestVersion);
      return latest
        ? { ...view, version: latest.version, name: latest.name, definition: latest.definition }
        : view;
    }),
  );
}

/** @throws HubError unprocessable that names the problems, when there are any */
export function requireValid(assembly: Assembly): void {
  if (assembly.problems.length === 0) return;
  const shown = assembly.problems.slice(0, 20).join('; ');
  throw new HubError('unprocessable', `The assembled bundle is not valid: ${shown}`.slice(0, 4000));
}
