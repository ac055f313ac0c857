// What makes a hub equal to a folder: the steps in their order, deployments last. Whatever is equal already is left out,
// so that a run that was cut off is finished by the next.

import {
  type CompositionContent,
  type ContractContent,
  hashOf,
  type RuleContent,
  type ToolsContent,
} from './content.ts';
import { deploySteps, type Preview } from './deployments.ts';
import type { Problem } from './files.ts';
import { problemAt } from './files.ts';
import type { Folder } from './folder.ts';
import type { HubState } from './hub-state.ts';
import {
  createRule,
  deleteBundle,
  deleteComposition,
  deleteContract,
  deleteRule,
  type Step,
  saveComposition,
  saveContract,
  saveTools,
  updateRule,
  uploadBundle,
} from './steps.ts';

export interface Changes {
  readonly steps: readonly Step[];
  /** Sentences about what is left alone. */
  readonly notes: readonly string[];
}

export interface Desired {
  /** Content of each contract in the folder or on the hub, and its hash. */
  readonly contracts: ReadonlyMap<string, { readonly content: ContractContent; readonly hash: string }>;
  /** Compositions of the folder, and those of the hub alone that follow its contracts. */
  readonly compositions: ReadonlyMap<string, CompositionContent>;
  /** The content with this hash. */
  contentOf(contractId: string, hash: string): ContractContent | undefined;
}

/** Adds problems where the folder names what is nowhere. */
function desiredOf(folder: Folder, hub: HubState, prunes: boolean, problems: Problem[]): Desired {
  const contracts = new Map<string, { readonly content: ContractContent; readonly hash: string }>(
    hub.contracts,
  );
  for (const [id, { content, hash, place }] of folder.contracts ?? []) {
    const type = hub.contracts.get(id)?.content.type ?? content.type;
    if (type !== content.type) {
      const sentence = `the type on the hub is ${type}, and a contract cannot change its type; use another id`;
      problems.push(problemAt(place, sentence));
    }
    contracts.set(id, { content, hash });
  }
  const contentOf = (contractId: string, hash: string): ContractContent | undefined => {
    const current = contracts.get(contractId);
    if (current?.hash === hash) return current.content;
    const hubContent = hub.contracts.get(contractId);
    if (hubContent?.hash === hash) return hubContent.content;
    const older = folder.older.get(hash) ?? hub.pinned.get(hash);
    return older?.contractId === contractId ? older.content : undefined;
  };
  const compositions = new Map<string, CompositionContent>();
  for (const [name, { content }] of folder.compositions ?? []) {
    const items = content.contracts.map(({ place, revision, ...item }) => {
      const known = contracts.get(item.contract_id);
      if (!known) problems.push(problemAt(place, `the contract ${item.contract_id} is not in the folder`));
      const hash = revision ?? known?.hash ?? '';
      if (known && !contentOf(item.contract_id, hash)) {
        const sentence = `contracts/${item.contract_id}@${hash}.yaml does not exist, and the hub does not use it`;
        problems.push(problemAt(place, sentence));
      }
      return { ...item, revision: hash };
    });
    compositions.set(name, { ...content, contracts: items });
  }
  for (const [name, { content }] of hub.compositions) {
    const isGone = folder.compositions !== null && prunes;
    if (compositions.has(name) || isGone || !isFollowing(name, content, folder, hub)) continue;
    const items = content.contracts.map((item) => ({
      ...item,
      revision: contracts.get(item.contract_id)?.hash ?? item.revision,
    }));
    compositions.set(name, { ...content, contracts: items });
  }
  return { contracts, compositions, contentOf };
}

/** True for a composition of the hub alone that a new version of a contract in the folder would deploy. */
const isFollowing = (name: string, content: CompositionContent, folder: Folder, hub: HubState): boolean =>
  content.update_strategy === 'auto_deploy' &&
  content.contracts.some(({ contract_id: id }) => folder.contracts?.has(id)) &&
  hub.environments.some(({ env, can_change }) => can_change && hub.deployments.has(`${env}/${name}`));

/** Steps for contracts and compositions. A pinned older content is the latest version while its composition is saved. */
function librarySteps(
  folder: Folder,
  hub: HubState,
  { contracts, compositions, contentOf }: Desired,
): Step[] {
  const steps: Step[] = [];
  const latest = new Map([...hub.contracts].map(([id, { hash }]) => [id, hash]));
  const save = (id: string, hash: string): void => {
    const content = contentOf(id, hash);
    if (latest.get(id) === hash || !content) return;
    steps.push(saveContract(id, content, hash, !latest.has(id)));
    latest.set(id, hash);
  };
  const saveAll = (): void => {
    for (const id of folder.contracts?.keys() ?? []) save(id, contracts.get(id)?.hash ?? '');
  };
  saveAll();
  const touched = new Set<string>();
  for (const [name, content] of compositions) {
    const hash = hashOf(content);
    const before = hub.compositions.get(name);
    if (before?.hash === hash) continue;
    for (const item of content.contracts) {
      save(item.contract_id, item.revision);
      touched.add(item.contract_id);
    }
    const note = folder.compositions?.has(name) ? '' : 'follows its contracts by auto_deploy';
    steps.push(saveComposition(name, content, hash, before === undefined, note));
  }
  for (const id of touched) save(id, contracts.get(id)?.hash ?? '');
  return steps;
}

/** The environments of uploads: the version furthest along first, so that the newest is uploaded last. */
const rank = { production: 0, staging: 1, development: 2 } as const;

function uploadSteps({ bundles, deployments }: Folder, hub: HubState): Step[] {
  const ranks = new Map<string, number>();
  for (const { env, revision } of deployments?.values() ?? [])
    if (revision !== null) ranks.set(revision, Math.min(ranks.get(revision) ?? 3, rank[env]));
  return [...(bundles ?? [])]
    .filter(([hash, { name }]) => !hub.bundles.get(name)?.versions.has(hash))
    .sort(([a], [b]) => (ranks.get(a) ?? 3) - (ranks.get(b) ?? 3))
    .map(([hash, bundle]) => uploadBundle(hash, bundle));
}

/** Rules are matched by all fields; a rule that is left over replaces the one with its priority. */
function ruleSteps({ rules }: Folder, hub: HubState): { readonly saves: Step[]; readonly deletes: Step[] } {
  if (rules === null) return { saves: [], deletes: [] };
  const wanted = new Map<string, RuleContent>(rules.map(({ content }) => [hashOf(content), content]));
  const others = new Map(
    hub.rules.filter(({ hash }) => !wanted.has(hash)).map((rule) => [rule.content.priority, rule]),
  );
  const existing = new Set(hub.rules.map(({ hash }) => hash));
  const updates: Step[] = [];
  const creations: Step[] = [];
  for (const [hash, content] of wanted) {
    if (existing.has(hash)) continue;
    const replaced = others.get(content.priority);
    others.delete(content.priority);
    if (replaced) updates.push(updateRule(replaced, content, hash));
    else creations.push(createRule(content, hash));
  }
  return { saves: [...updates, ...creations], deletes: [...others.values()].map(deleteRule) };
}

export const toolsAfter = (content: Partial<ToolsContent>, hub: HubState): ToolsContent => ({
  ...hub.tools.content,
  ...content,
});

function toolSteps({ tools }: Folder, hub: HubState): Step[] {
  if (tools === null) return [];
  const hash = hashOf(toolsAfter(tools.content, hub));
  return hash === hub.tools.hash ? [] : [saveTools(tools.content, hash)];
}

function libraryDeletes(folder: Folder, hub: HubState): Step[] {
  const { contracts, compositions } = folder;
  const gone = (names: Iterable<string>, kept: ReadonlyMap<string, unknown> | null): string[] =>
    kept === null ? [] : [...names].filter((name) => !kept.has(name));
  return [
    ...gone(hub.compositions.keys(), compositions).map(deleteComposition),
    ...gone(hub.contracts.keys(), contracts).map(deleteContract),
  ];
}

/** Bundles that are nobody's any more: neither a file's nor a composition's, and deployed nowhere. */
function bundleDeletes(folder: Folder, hub: HubState): Step[] {
  const { bundles, compositions, deployments } = folder;
  if (bundles === null) return [];
  const names = new Set([...bundles.values()].map(({ name }) => name));
  const keptCompositions = compositions ?? hub.compositions;
  for (const { bundle } of (deployments ?? hub.deployments).values()) names.add(bundle);
  return [...hub.bundles]
    .filter(([name]) => !names.has(name) && !keptCompositions.has(name))
    .map(([name, { latest }]) => deleteBundle(name, latest));
}

export interface Options {
  /** True: things of the hub alone are deleted. Their steps are there in any case. */
  readonly prunes: boolean;
  readonly preview: Preview;
}

/** Adds problems where the folder names what is nowhere. */
export async function changesOf(
  folder: Folder,
  hub: HubState,
  { prunes, preview }: Options,
  problems: Problem[],
): Promise<Changes & { readonly desired: Desired }> {
  const desired = desiredOf(folder, hub, prunes, problems);
  const library = librarySteps(folder, hub, desired);
  const rules = ruleSteps(folder, hub);
  const deployed = await deploySteps({ folder, hub, desired, saved: library, preview, prunes, problems });
  return {
    desired,
    steps: [
      ...toolSteps(folder, hub),
      ...library,
      ...uploadSteps(folder, hub),
      ...rules.saves,
      ...rules.deletes,
      ...libraryDeletes(folder, hub),
      ...deployed.steps,
      ...deployed.ends,
      ...bundleDeletes(folder, hub),
    ],
    notes: deployed.notes,
  };
}
