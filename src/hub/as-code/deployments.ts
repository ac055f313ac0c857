// Deployments that make a hub run what a folder names: those of its list, and those of automatic compositions.

import { slotOf } from './content.ts';
import type { Desired } from './desired.ts';
import { type FileProblem, problemAt } from './files.ts';
import type { DeploymentOfFile, Folder } from './folder.ts';
import type { HubState } from './hub-state.ts';
import { type ApplyStep, deployComposition, deployRevision, keyOf, undeploy, unknownHash } from './steps.ts';

/** Hash of what a composition of the hub becomes now; null: nothing. */
export type Preview = (name: string) => Promise<string | null>;

interface Situation {
  readonly folder: Folder;
  readonly hub: HubState;
  readonly desired: Desired;
  /** Steps of contracts and compositions. */
  readonly saved: readonly ApplyStep[];
  readonly preview: Preview;
  /** True: deployments that the folder does not name are ended. */
  readonly prunes: boolean;
  readonly problems: FileProblem[];
}

export interface DeploySteps {
  readonly steps: readonly ApplyStep[];
  /** Ends of deployments that the folder does not name. */
  readonly ends: readonly ApplyStep[];
  readonly notes: readonly string[];
}

export async function deploySteps(situation: Situation): Promise<DeploySteps> {
  const { folder, hub } = situation;
  const steps: ApplyStep[] = [];
  for (const deployment of folder.deployments?.values() ?? []) {
    const step =
      deployment.revision === null
        ? await compositionStep(situation, deployment)
        : revisionStep(situation, deployment, deployment.revision);
    if (step) steps.push(step);
  }
  const automatic = await automaticSteps(situation);
  const gone = [...hub.deployments].filter(([slot]) => folder.deployments && !folder.deployments.has(slot));
  return {
    steps: [...steps, ...automatic.steps],
    ends: gone.map(([, deployment]) => undeploy(deployment)),
    notes: automatic.notes,
  };
}

function revisionStep(
  { folder, hub, problems }: Situation,
  deployment: DeploymentOfFile,
  hash: string,
): ApplyStep | null {
  const { env, bundle, place } = deployment;
  if (hub.deployments.get(slotOf(env, bundle))?.hash === hash) return null;
  const isThere =
    folder.bundles?.get(hash)?.name === bundle || hub.bundles.get(bundle)?.versions.has(hash) === true;
  if (isThere) return deployRevision(deployment, hash);
  problems.push(problemAt(place, `bundles/${hash}.yaml does not exist, or is not a bundle ${bundle}`));
  return null;
}

/** True when a step changes what the composition becomes. */
function changes({ hub, desired, saved }: Situation, name: string): boolean {
  const keys = new Set(saved.map(({ key }) => key));
  if (keys.has(keyOf.composition(name))) return true;
  const content = desired.compositions.get(name) ?? hub.compositions.get(name)?.content;
  return (
    content?.updateStrategy === 'observe_first' &&
    content.contracts.some(
      ({ contractId: id }) =>
        keys.has(keyOf.contract(id)) && desired.contracts.get(id)?.content.type !== 'session',
    )
  );
}

async function compositionStep(
  situation: Situation,
  deployment: DeploymentOfFile,
): Promise<ApplyStep | null> {
  const { hub, desired, preview, problems } = situation;
  const { env, bundle, place } = deployment;
  const composition = desired.compositions.get(bundle) ?? hub.compositions.get(bundle)?.content;
  if (!composition) {
    problems.push(
      problemAt(place, `compositions/${bundle}.yaml does not exist; create it, or add a revision`),
    );
    return null;
  }
  if (!composition.contracts.some(({ enabled }) => enabled)) {
    problems.push(problemAt(place, `the composition ${bundle} has no enabled contract`));
    return null;
  }
  if (changes(situation, bundle)) return deployComposition(deployment, unknownHash, false);
  const hash = await preview(bundle);
  if (hash === null) problems.push(problemAt(place, `the composition ${bundle} cannot be assembled`));
  if (hash === null || hub.deployments.get(slotOf(env, bundle))?.hash === hash) return null;
  return deployComposition(deployment, hash, false);
}

/** Automatic compositions that run where the folder does not name a deployment of them. */
async function automaticSteps(situation: Situation): Promise<Pick<DeploySteps, 'steps' | 'notes'>> {
  const { folder, hub, desired, preview, prunes } = situation;
  const steps: ApplyStep[] = [];
  const notes: string[] = [];
  for (const [name, content] of desired.compositions) {
    if (content.updateStrategy !== 'auto_deploy') continue;
    for (const { env, canChange } of hub.environments) {
      const slot = slotOf(env, name);
      const running = hub.deployments.get(slot);
      const isEnded = prunes && folder.deployments !== null;
      if (!running || isEnded || folder.deployments?.has(slot)) continue;
      const hash = changes(situation, name) ? unknownHash : await preview(name);
      if (hash === null || hash === running.hash) continue;
      if (canChange) steps.push(deployComposition({ env, bundle: name }, hash, true));
      else notes.push(`The composition ${name} is not deployed to ${env}: the token may not change ${env}.`);
    }
  }
  return { steps, notes };
}
