// The current deployments of an environment, by bundle.
import type { Deployment } from '../src/deployment/record.ts';
import type { ActorPorts } from './ports.ts';
import { attestAll } from './signing.ts';

/** Remembers the deployment unless a newer one of the bundle is known; true when it is the current one. */
export function advance(current: Map<string, Deployment>, deployment: Deployment): boolean {
  const existing = current.get(deployment.bundleName);
  if (existing && existing.sequence > deployment.sequence) return false;
  current.set(deployment.bundleName, deployment);
  return true;
}

/** The deployments that a stream should have but, by its version, has not. */
export function missingDeployments(
  current: ReadonlyMap<string, Deployment>,
  bundleName: string | null,
  policyVersion: string | null,
): readonly Deployment[] {
  const followed = bundleName === null ? [...current.values()] : [];
  const own = bundleName === null ? undefined : current.get(bundleName);
  if (own) followed.push(own);
  return followed.filter((deployment) => deployment.revisionHash !== policyVersion);
}

/**
 * The same deployments, with those attested that a restore gave new sequences. Agents that saw an attestation before
 * take no document without one.
 */
export async function allAttested(deployments: readonly Deployment[], ports: ActorPorts) {
  const unattested = deployments.filter(({ attestation }) => attestation === null);
  if (unattested.length === 0) return deployments;
  const attested = new Map(
    (await attestAll(ports, unattested)).map((deployment) => [deployment.id, deployment]),
  );
  return deployments.map((deployment) => attested.get(deployment.id) ?? deployment);
}
