// From an assembled composition to a bundle version at work: saves it, then has its environments deploy it.
import { environmentKey } from '../../actors/protocol.ts';
import type { BundleVersion, Deployment } from '../domain/deployment.ts';
import type { Env } from '../domain/ids.ts';
import type { Composition } from '../domain/library.ts';
import type { Assembly } from '../ports/evaluator.ts';
import type { Hub } from './hub.ts';

export interface Release {
  readonly version: BundleVersion;
  /** In the order of the environments asked for. */
  readonly deployments: readonly Deployment[];
}

/**
 * Saves the assembly as the next version of the composition's name and deploys it to each environment in turn. When a deploy fails the
 * version stays saved, undeployed: deploying it by its number, or the composition again, completes the work.
 * @throws HubError as the environment's deploy does
 */
export async function release(
  hub: Hub,
  composition: Composition,
  assembly: Assembly,
  envs: readonly Env[],
  deployedBy: string,
): Promise<Release> {
  const { tenantId, name } = composition;
  const yaml = new TextEncoder().encode(assembly.yaml);
  const version = await hub.store.bundles.addVersion({
    id: hub.secrets.uuid(),
    tenantId,
    name,
    revisionHash: hub.secrets.sha256(yaml),
    contractCount: assembly.contracts.length,
    size: yaml.length,
    uploadedBy: deployedBy,
    createdAt: hub.clock.now(),
    compositionId: composition.id,
    snapshot: assembly.contracts,
    yaml,
  });
  const deployments: Deployment[] = [];
  for (const env of envs) {
    deployments.push(await deploy(hub, tenantId, env, name, version.version, deployedBy));
  }
  await compositionChanged(hub, tenantId, name, version.version);
  return { version, deployments };
}

/** Has the environment sign and deploy a version; which announces it. @throws HubError not_found */
export const deploy = (
  hub: Hub,
  tenantId: string,
  env: Env,
  bundleName: string,
  version: number,
  deployedBy: string,
): Promise<Deployment> =>
  hub.actors.ask('environment', environmentKey(tenantId, env), 'deploy', {
    id: hub.secrets.uuid(),
    bundleName,
    version,
    deployedBy,
  });

/** Tells the dashboards that a composition was created, changed, deleted or (with a version) deployed. */
export const compositionChanged = (
  hub: Hub,
  tenantId: string,
  name: string,
  bundleVersion?: number,
): Promise<void> =>
  hub.announcer.announce([
    { kind: 'compositionChanged', tenantId, name, bundleVersion: bundleVersion ?? null },
  ]);
