// The steps that make a hub equal to a folder, in their order, deployments last. Equal things have no step, so the next
// run finishes one that was cut off.
import { maxRules } from '../../agent/rules/assignment.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import { hashOf, type RuleContent } from './content.ts';
import { deploySteps, type Preview } from './deployments.ts';
import { type Desired, desiredOf, toolsAfter } from './desired.ts';
import type { FileProblem } from './files.ts';
import type { Folder } from './folder.ts';
import type { HubState } from './hub-state.ts';
import { compositionForm } from './record.ts';
import {
  type ApplyStep,
  createRule,
  deleteBundle,
  deleteComposition,
  deleteContract,
  deleteRule,
  saveComposition,
  saveContract,
  saveTools,
  updateRule,
  uploadBundle,
} from './steps.ts';

export interface Changes {
  readonly steps: readonly ApplyStep[];
  /** Sentences about what is left alone. */
  readonly notes: readonly string[];
}

/** A pinned older content is the latest version of its contract while a composition is saved. */
function librarySteps(
  folder: Folder,
  hub: HubState,
  { contracts, compositions, contentOf }: Desired,
): ApplyStep[] {
  const steps: ApplyStep[] = [];
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
    const hash = hashOf(compositionForm(content));
    const before = hub.compositions.get(name);
    if (before?.hash === hash) continue;
    for (const item of content.contracts) {
      save(item.contractId, item.revision);
      touched.add(item.contractId);
    }
    const note = folder.compositions?.has(name) ? '' : 'follows its contracts by auto_deploy';
    steps.push(saveComposition(name, content, hash, before === undefined, note));
  }
  for (const id of touched) save(id, contracts.get(id)?.hash ?? '');
  return steps;
}

/** The environments of uploads: the version furthest along first, so that the newest is uploaded last. */
const rank = { production: 0, staging: 1, development: 2 } as const;

function uploadSteps({ bundles, deployments }: Folder, hub: HubState): ApplyStep[] {
  const ranks = new Map<string, number>();
  for (const { env, revision } of deployments?.values() ?? [])
    if (revision !== null) ranks.set(revision, Math.min(ranks.get(revision) ?? 3, rank[env]));
  return [...(bundles ?? [])]
    .filter(([hash, { name }]) => !hub.bundles.get(name)?.versions.has(hash))
    .sort(([a], [b]) => (ranks.get(a) ?? 3) - (ranks.get(b) ?? 3))
    .map(([hash, bundle]) => uploadBundle(hash, bundle));
}

/** Rules are matched by all fields; a rule that is left over replaces the one with its priority. */
function ruleSteps({ rules }: Folder, hub: HubState): ApplyStep[] {
  if (rules === null) return [];
  const desiredRules = new Map<string, RuleContent>(
    rules.map(({ content }) => [hashOf(snakeKeys(content)), content]),
  );
  const others = new Map(
    hub.rules.filter(({ hash }) => !desiredRules.has(hash)).map((rule) => [rule.content.priority, rule]),
  );
  const existing = new Set(hub.rules.map(({ hash }) => hash));
  const updates: ApplyStep[] = [];
  const creations: ApplyStep[] = [];
  for (const [hash, content] of desiredRules) {
    if (existing.has(hash)) continue;
    const replaced = others.get(content.priority);
    others.delete(content.priority);
    if (replaced) updates.push(updateRule(replaced, content, hash));
    else creations.push(createRule(content, hash));
  }
  const deletes = [...others.values()].map(deleteRule);
  // No agent is without a rule in between, unless only deletions make room for new rules.
  const isFull = hub.rules.length + creations.length > maxRules;
  return [...updates, ...(isFull ? [...deletes, ...creations] : [...creations, ...deletes])];
}

function toolSteps({ tools }: Folder, hub: HubState): ApplyStep[] {
  if (tools === null) return [];
  const hash = hashOf(snakeKeys(toolsAfter(tools.content, hub)));
  return hash === hub.tools.hash ? [] : [saveTools(tools.content, hash)];
}

function libraryDeletes(folder: Folder, hub: HubState): ApplyStep[] {
  const { contracts, compositions } = folder;
  const gone = (names: Iterable<string>, kept: ReadonlyMap<string, unknown> | null): string[] =>
    kept === null ? [] : [...names].filter((name) => !kept.has(name));
  return [
    ...gone(hub.compositions.keys(), compositions).map(deleteComposition),
    ...gone(hub.contracts.keys(), contracts).map(deleteContract),
  ];
}

/** Bundles that are nobody's any more: neither a file's nor a composition's, and deployed nowhere. */
function bundleDeletes(folder: Folder, hub: HubState): ApplyStep[] {
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
  problems: FileProblem[],
): Promise<Changes & { readonly desired: Desired }> {
  const desired = desiredOf(folder, hub, prunes, problems);
  const library = librarySteps(folder, hub, desired);
  const deployed = await deploySteps({ folder, hub, desired, saved: library, preview, prunes, problems });
  return {
    desired,
    steps: [
      ...toolSteps(folder, hub),
      ...library,
      ...uploadSteps(folder, hub),
      ...ruleSteps(folder, hub),
      ...libraryDeletes(folder, hub),
      ...deployed.steps,
      ...deployed.ends,
      ...bundleDeletes(folder, hub),
    ],
    notes: deployed.notes,
  };
}
