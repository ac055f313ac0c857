// A composition as the YAML that agents load. Writes nothing.
import { type Assembly, type AssemblyItem, tooLargeAssembly } from '../../evaluation/port/evaluator.ts';
import { wordsOf } from '../../evaluation/rules/custom-words.ts';
import { HubError } from '../../shared/error.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { type ItemView, maxDefinitions } from '../port.ts';
import type { Composition } from '../record.ts';

/** `too_large` when no bundle could hold their definitions. */
type EnabledItems = readonly ItemView[] | 'too_large';

export interface Assembler {
  /**
   * Assembles the enabled items, in their order; with `observe_first` each newer version runs beside its pinned one,
   * observing, but for session contracts.
   */
  assemble(composition: Composition, views: EnabledItems): Promise<Assembly>;
  /** The items as a save would pin them now. At most 100 look-ups. */
  getLatest(tenantId: string, views: EnabledItems): Promise<EnabledItems>;
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
  async function getLatest(tenantId: string, views: EnabledItems): Promise<EnabledItems> {
    if (views === 'too_large') return views;
    const latest: ItemView[] = [];
    let size = 0;
    // One after another, so that no more is read than can be used.
    for (const view of views) {
      const isOld = view.latestVersion > view.version;
      const newest = isOld
        ? await store.contracts.getVersion(tenantId, view.contractId, view.latestVersion)
        : null;
      const { version, name, definition } = newest ?? view;
      if (newest) size += JSON.stringify(definition).length;
      if (size > maxDefinitions) return 'too_large';
      latest.push({ ...view, version, name, definition });
    }
    return latest;
  }

  return {
    getLatest: getLatest,
    async assemble(composition, views) {
      if (views === 'too_large') return tooLargeAssembly;
      if (views.length === 0) return noContracts;
      const { tenantId, updateStrategy } = composition;
      // The mode of a session contract means nothing: a copy would enforce its limits.
      const outdated = views.filter((view) => view.latestVersion > view.version && view.type !== 'session');
      const newer = updateStrategy === 'observe_first' ? await getLatest(tenantId, outdated) : [];
      if (newer === 'too_large') return tooLargeAssembly;
      const { name, description, defaultsMode, documentKind, toolsConfig, observability } = composition;
      const { apiVersions, bundleKinds, rulesetKinds } = settings.wire;
      return evaluator.assemble(tenantId, {
        name,
        description,
        defaultsMode,
        toolsConfig,
        observability,
        words: wordsOf(await store.settings.get(tenantId, 'tools')),
        apiVersion: apiVersions[0] ?? 'service/v1',
        kind:
          documentKind === 'ruleset' ? (rulesetKinds[0] ?? 'Ruleset') : (bundleKinds[0] ?? 'ContractBundle'),
        items: views.flatMap((view) => [
          itemOf(view),
          ...newer.filter(({ contractId }) => contractId === view.contractId).map(shadowOf),
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

const shadowOf = (view: ItemView): AssemblyItem => ({
  ...itemOf(view),
  modeOverride: 'observe',
  shadow: true,
});

/** The inspection checks the text itself. @throws HubError unprocessable if there is no text */
export function requireAssembled(assembly: Assembly): void {
  if (assembly.yaml !== '') return;
  const problems = assembly.problems.slice(0, 20).join('; ');
  throw new HubError('unprocessable', `The assembled bundle is not valid: ${problems}`.slice(0, 4000));
}
