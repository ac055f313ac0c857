// Signing bundles with a tenant's active key, and replacing that key. The seed is open only while it signs.
import type { Deployment } from '../src/domain/deployment.ts';
import { HubError, notFound } from '../src/domain/error.ts';
import type { SigningKey } from '../src/domain/tenant.ts';
import type { ActorPorts } from './ports.ts';

/** How often a write is tried again when the signing key or the deployments changed in between. */
const tries = 5;

const busy = () =>
  new HubError('unavailable', 'The signing key is being changed. Try again shortly.', { retryAfter: 1 });

async function yamlOf({ store }: ActorPorts, tenantId: string, name: string, version: number) {
  const yaml = await store.bundles.yaml(tenantId, name, version);
  if (!yaml) throw notFound(`Bundle '${name}' version ${version} not found`);
  return yaml;
}

/** The yaml of a deployment. */
export const deployedYaml = (ports: ActorPorts, { tenantId, bundleName, version }: Deployment) =>
  yamlOf(ports, tenantId, bundleName, version);

/**
 * Signs the version with the active key and stores the deployment; signs again when the key was replaced meanwhile.
 * @throws HubError not_found (no such bundle version), unprocessable (no signing key)
 */
export async function signAndDeploy(
  ports: ActorPorts,
  wanted: Pick<Deployment, 'id' | 'tenantId' | 'env' | 'bundleName' | 'version' | 'deployedBy' | 'createdAt'>,
  epoch: number,
): Promise<{ readonly deployment: Deployment; readonly yaml: Uint8Array }> {
  const { store, secrets } = ports;
  const { tenantId, bundleName, version } = wanted;
  const saved = await store.bundles.version(tenantId, bundleName, version);
  const yaml = await yamlOf(ports, tenantId, bundleName, version);
  for (let i = 0; i < tries; i++) {
    const key = await store.signing.active(tenantId);
    if (!key) {
      throw new HubError(
        'unprocessable',
        'There is no active signing key. Rotate the signing key to make one.',
      );
    }
    const deployment = await store.deployments.add(
      {
        ...wanted,
        revisionHash: saved?.revisionHash ?? '',
        signature: secrets.sign(secrets.unseal('signing-key', key.sealedSeed), yaml),
        publicKey: key.publicKey,
        signingKeyId: key.id,
      },
      epoch,
    );
    if (deployment === 'no_version') throw notFound(`Bundle '${bundleName}' version ${version} not found`);
    if (deployment !== 'stale_key') return { deployment, yaml };
  }
  throw busy();
}

/**
 * Makes a new pair the active one under `newKeyId` and puts its signatures on every current deployment, in one step.
 * Safe to repeat: an id that is active already answers as it did.
 */
export async function rotateKey(
  ports: ActorPorts,
  tenantId: string,
  newKeyId: string,
  now: number,
): Promise<{ readonly key: SigningKey; readonly current: readonly Deployment[] }> {
  const { store, secrets } = ports;
  for (let i = 0; i < tries; i++) {
    const active = await store.signing.active(tenantId);
    const current = await store.deployments.currentAll(tenantId);
    if (active?.id === newKeyId) return { key: active, current };
    const { publicKey, seed } = secrets.newSigningKey();
    const sealedSeed = secrets.seal('signing-key', seed);
    const key = { id: newKeyId, tenantId, publicKey, sealedSeed, active: true, createdAt: now };
    if (!active) {
      await store.signing.add(key);
      continue;
    }
    const made = new Map<string, string>();
    const signatures: { deploymentId: string; signature: string }[] = [];
    for (const deployment of current) {
      // One version is often deployed to several environments.
      const name = `${deployment.bundleName}/${deployment.version}`;
      const signature = made.get(name) ?? secrets.sign(seed, await deployedYaml(ports, deployment));
      made.set(name, signature);
      signatures.push({ deploymentId: deployment.id, signature });
    }
    if ((await store.signing.rotate(tenantId, active.id, key, signatures)) === 'rotated')
      return { key, current };
  }
  throw busy();
}
