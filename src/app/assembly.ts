// A composition as the YAML that agents load. Writes nothing.
import { HubError } from '../domain/error.ts';
import type { Composition } from '../domain/library.ts';
import type { Assembly, AssemblyItem } from '../ports/evaluator.ts';
import type { ItemView } from '../ports/library.ts';
import type { AppPorts } from './ports.ts';

export interface Assembler {
  /** Assembles the enabled items, in their order; with `observe_first` each newer version runs beside its pinned one, observing. */
  assemble(composition: Composition, views: readonly ItemView[]): Promise<Assembly>;
  /** The items as a save would pin them now. At most 100 look-ups. */
  latestOf(tenantId: string, views: readonly ItemView[]): Promise<readonly ItemView[]>;
}

const noContracts: Assembly = {
  yaml: '',
  contracts: [],
  problems: ['Composition has no enabled contracts'],
};

export function createAssembler({
  store,
  evaluator,
  settings,
}: Pick<AppPorts, 'store' | 'evaluator' | 'settings'>): Assembler {
  const latestOf = (tenantId: string, views: readonly ItemView[]): Promise<readonly ItemView[]> =>
    Promise.all(
      views.map(async (view) => {
        if (view.latestVersion <= view.version) return view;
        const latest = await store.contracts.version(tenantId, view.contractId, view.latestVersion);
        return latest
          ? { ...view, version: latest.version, name: latest.name, definition: latest.definition }
          : view;
      }),
    );

  async function shadowsOf(tenantId: string, views: readonly ItemView[]): Promise<readonly AssemblyItem[]> {
    const newer = await latestOf(
      tenantId,
      views.filter((view) => view.latestVersion > view.version),
    );
    return newer.map((view) => ({ ...itemOf(view), modeOverride: 'observe', shadow: true }));
  }

  return {
    latestOf,
    async assemble(composition, views) {
      const enabled = views.filter((view) => view.enabled);
      if (enabled.length === 0) return noContracts;
      const { tenantId, updateStrategy } = composition;
      const shadows = updateStrategy === 'observe_first' ? await shadowsOf(tenantId, enabled) : [];
      const { name, description, defaultsMode, toolsConfig, observability } = composition;
      const { apiVersions, bundleKinds } = settings.wire;
      return evaluator.assemble(tenantId, {
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
    },
  };
}

const itemOf = ({ contractId, version, modeOverride, type, definition }: ItemView): AssemblyItem => ({
  contractId,
  version,
  modeOverride,
  type,
  definition,
  shadow: false,
});

/** @throws HubError unprocessable that names the problems, when there are any */
export function requireValid(assembly: Assembly): void {
  if (assembly.problems.length === 0) return;
  const shown = assembly.problems.slice(0, 20).join('; ');
  throw new HubError('unprocessable', `The assembled bundle is not valid: ${shown}`.slice(0, 4000));
}
