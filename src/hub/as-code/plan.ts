// A plan: what a diff read of the hub, and the steps that it found. Applying it makes these steps and no others, and
// none when the hub or the folder is another than it was.
import { lstatSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { HubError } from '../../shared/error.ts';
import { UsageError } from '../commands/output.ts';
import { hashOf } from './content.ts';
import type { Folder } from './folder.ts';
import type { HubState } from './hub-state.ts';
import { type Plan, planFile, planForm, planFormat } from './record.ts';
import { type Action, type ApplyStep, keyOf, unknownHash } from './steps.ts';

const maxPlanBytes = 16 * 1_048_576;

/** Hashes of everything on the hub that the folder manages. */
export function sawOf(folder: Folder, hub: HubState): ReadonlyMap<string, string> {
  const saw = new Map<string, string>();
  // Also when the folder manages only one of the two: each can change what the other becomes.
  if (folder.contracts || folder.compositions) {
    for (const [id, { hash }] of hub.contracts) saw.set(keyOf.contract(id), hash);
    for (const [name, { hash }] of hub.compositions) saw.set(keyOf.composition(name), hash);
  }
  const names = new Set([...(folder.bundles?.values() ?? [])].map(({ name }) => name));
  for (const [name, { latest, versions }] of hub.bundles) {
    for (const hash of folder.bundles?.keys() ?? [])
      if (versions.has(hash)) saw.set(keyOf.revision(name, hash), hash);
    // New versions of other bundles come from compositions.
    if (folder.bundles && !names.has(name) && !hub.compositions.has(name) && !folder.compositions?.has(name))
      saw.set(keyOf.bundle(name), String(latest));
  }
  if (folder.rules) for (const { content, hash } of hub.rules) saw.set(keyOf.rule(content.priority), hash);
  if (folder.tools) saw.set(keyOf.tools, hub.tools.hash);
  for (const [slot, { hash }] of hub.deployments) saw.set(keyOf.deployment(slot), hash);
  return saw;
}

export const actionWords: { readonly [A in Action]: string } = {
  create: 'create',
  update: 'update',
  upload: 'upload',
  delete: 'delete',
  deploy: 'deploy',
  undeploy: 'undeploy',
};

const entryOf = ({ action, key, after, isPruning }: ApplyStep): Plan['changes'][number] => ({
  action,
  thing: key,
  after,
  onlyWithPrune: isPruning,
});

export const planOf = (url: string, folder: Folder, hub: HubState, steps: readonly ApplyStep[]): Plan => ({
  format: planFormat,
  hub: url,
  tenantId: hub.tenantId,
  folder: folder.hash,
  saw: Object.fromEntries([...sawOf(folder, hub)].sort(([a], [b]) => (a < b ? -1 : 1))),
  changes: steps.map(entryOf),
});

export function writePlan(path: string, plan: Plan): void {
  const draft = `${path}.${process.pid}.partial`;
  writeFileSync(draft, `${JSON.stringify(planForm(plan), null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** @throws UsageError for a file that is no plan */
export function readPlan(path: string): Plan {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat?.isFile()) throw new UsageError(`The plan ${path} does not exist.`);
  if (stat.size > maxPlanBytes)
    throw new UsageError(`The plan ${path} is larger than ${maxPlanBytes} bytes.`);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw new UsageError(`${path} is not a plan: it is not JSON.`);
  }
  const plan = planFile.safeParse(value);
  if (!plan.success) throw new UsageError(`${path} is not a plan of reeve diff.`);
  return plan.data;
}

/**
 * Requires that each present state is one that the plan contains, or the result of one of the plan's own steps.
 * @param steps those that are left to make
 * @throws HubError changed; conflict for a plan of another hub, tenant or folder
 */
export function requirePlanned(
  plan: Plan,
  url: string,
  folder: Folder,
  hub: HubState,
  steps: readonly ApplyStep[],
): void {
  const other = (noun: string): HubError =>
    new HubError('conflict', `The plan was made for another ${noun}. Make a new plan with reeve diff.`);
  if (plan.hub !== url) throw other('hub');
  if (plan.tenantId !== hub.tenantId) throw other('tenant');
  if (plan.folder !== folder.hash) throw other('state of the folder');
  const after = new Map<string, Set<string | null>>();
  for (const change of plan.changes) {
    const hashes = after.get(change.thing) ?? new Set();
    after.set(change.thing, hashes.add(change.after));
  }
  const left = new Set(steps.map(({ key }) => key));
  const now = sawOf(folder, hub);
  for (const key of new Set([...now.keys(), ...Object.keys(plan.saw)])) {
    const hash = now.get(key) ?? null;
    const before = Object.hasOwn(plan.saw, key) ? (plan.saw[key] ?? null) : null;
    const own = after.get(key);
    const isOwn = own?.has(hash) || (own?.has(unknownHash) && !left.has(key));
    if (hash !== before && !isOwn) throw changedSince(key);
  }
  const planned = new Set(plan.changes.map((change) => hashOf({ ...change, after: null })));
  for (const one of steps)
    if (!planned.has(hashOf({ ...entryOf(one), after: null }))) throw changedSince(one.key);
}

const changedSince = (key: string): HubError =>
  new HubError(
    'changed',
    `The hub changed since the plan was made: ${key}. Nothing was changed. Make a new plan with reeve diff.`,
  );
