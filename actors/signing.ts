// Signing bundles with a tenant's active key, and replacing that key. The seed is open only while it signs. Keeps
// promise P58.

import { outageOf, outageTable } from '../src/admission/outages.ts';
import type { AuditActor, AuditNote } from '../src/audit/record.ts';
import { type Deployment, nextSequence } from '../src/deployment/record.ts';
import { HubError, notFound } from '../src/shared/error.ts';
import { snakeKeys } from '../src/shared/snake-keys.ts';
import type { NewSignature } from '../src/signing/port.ts';
import type { KeySuccession, SigningKey } from '../src/signing/record.ts';
import { attestationText, successionText } from '../src/signing/rules/attestation.ts';
import { deployNote } from './deployment-notes.ts';
import type { ActorPorts } from './ports.ts';

const { tries } = outageTable.signingKeyChanging;

const busy = () => outageOf('signingKeyChanging');

async function yamlOf({ store }: ActorPorts, tenantId: string, name: string, version: number) {
  const yaml = await store.bundles.getYaml(tenantId, name, version);
  if (!yaml) throw notFound(`Bundle '${name}' version ${version} not found`);
  return yaml;
}

/** The yaml of a deployment. */
export const deployedYaml = (ports: ActorPorts, { tenantId, bundleName, version }: Deployment) =>
  yamlOf(ports, tenantId, bundleName, version);

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * Signs the version with the active key and stores the deployment. Signs again when the key was replaced before the
 * write, or another owner deployed. `repeated`: the id was deployed before.
 * @throws HubError not_found (no such bundle version), unprocessable (no signing key)
 */
export async function signAndDeploy(
  ports: ActorPorts,
  unsigned: Omit<
    Deployment,
    'revisionHash' | 'sequence' | 'signature' | 'publicKey' | 'signingKeyId' | 'attestation'
  >,
  epoch: number,
  actor?: AuditActor,
): Promise<{ readonly deployment: Deployment; readonly yaml: Uint8Array; readonly repeated: boolean }> {
  const { store, secrets } = ports;
  const { tenantId, env, bundleName, version } = unsigned;
  const saved = await store.bundles.getVersion(tenantId, bundleName, version);
  const yaml = await yamlOf(ports, tenantId, bundleName, version);
  for (let i = 0; i < tries; i++) {
    const key = await store.signing.getActive(tenantId);
    if (!key) {
      throw new HubError('unprocessable', 'No signing key is active. Rotate the signing key to create one.');
    }
    const last = await store.deployments.getLastSequence(tenantId, env, bundleName);
    const seed = secrets.unseal('signing-key', key.sealedSeed);
    const unattested = {
      ...unsigned,
      revisionHash: saved?.revisionHash ?? '',
      sequence: nextSequence(last, unsigned.createdAt),
      signature: secrets.sign(seed, yaml),
      publicKey: key.publicKey,
      signingKeyId: key.id,
    };
    const attestation = secrets.sign(seed, bytesOf(attestationText(unattested)));
    const deployment = await store
      .noting({ note: deployNote(unattested, actor) })
      .deployments.deploy({ ...unattested, attestation }, epoch);
    if (deployment === 'no_version') throw notFound(`Bundle '${bundleName}' version ${version} not found`);
    if (typeof deployment !== 'string') {
      return {
        deployment,
        yaml,
        repeated:
          deployment.signature !== unattested.signature || deployment.sequence !== unattested.sequence,
      };
    }
  }
  throw busy();
}

/** The same deployments with attestations. Stored, unless the key changed before the write. */
export async function attestAll(
  { store, secrets }: ActorPorts,
  deployments: readonly Deployment[],
): Promise<readonly Deployment[]> {
  return Promise.all(
    deployments.map(async (deployment) => {
      const key = await store.signing.getActive(deployment.tenantId);
      if (key?.id !== deployment.signingKeyId) return deployment;
      const seed = secrets.unseal('signing-key', key.sealedSeed);
      const attestation = secrets.sign(seed, bytesOf(attestationText(deployment)));
      await store.deployments.attest({ ...deployment, attestation });
      return { ...deployment, attestation };
    }),
  );
}

/** Succession statement about the new key, signed with the old key. */
function succeed({ secrets }: ActorPorts, old: SigningKey, next: SigningKey): KeySuccession {
  const stated = { previousKey: old.publicKey, publicKey: next.publicKey, rotatedAt: next.createdAt };
  const seed = secrets.unseal('signing-key', old.sealedSeed);
  return { ...stated, signature: secrets.sign(seed, bytesOf(successionText(next.tenantId, stated))) };
}

/** The entry of a new signing key. Its id is the key's: a repeat is recorded once. */
const rotationNote = (
  { id, tenantId, publicKey, createdAt }: SigningKey,
  previousKey: string | null,
  compromised: boolean,
  actor: AuditActor,
): AuditNote => ({
  id,
  tenantId,
  at: createdAt,
  actor,
  action: 'signing_key.rotated',
  subject: { id, name: null },
  summary: compromised ? 'The signing key was replaced as compromised.' : 'The signing key was rotated.',
  details: snakeKeys({ publicKey, previousKey, compromised }),
  agentId: null,
  sessionId: null,
});

/**
 * Makes a new pair the active one under `newKeyId` and puts its signatures on every current deployment, in one step.
 * Safe to repeat: an id that is active already answers as it did.
 * @param compromised the old key vouches for nothing any more, so agents that pinned it do not follow
 */
export async function rotateKey(
  ports: ActorPorts,
  tenantId: string,
  {
    newKeyId,
    compromised,
    actor,
  }: { readonly newKeyId: string; readonly compromised: boolean; readonly actor: AuditActor },
  now: number,
): Promise<{ readonly key: SigningKey; readonly current: readonly Deployment[] }> {
  const { store, secrets } = ports;
  for (let i = 0; i < tries; i++) {
    const active = await store.signing.getActive(tenantId);
    const current = await store.deployments.listAllCurrent(tenantId);
    if (active?.id === newKeyId) return { key: active, current };
    const { publicKey, seed } = secrets.newSigningKey();
    const sealedSeed = secrets.seal('signing-key', seed);
    const key = { id: newKeyId, tenantId, publicKey, sealedSeed, active: true, createdAt: now };
    if (!active) {
      await store.noting({ note: rotationNote(key, null, compromised, actor) }).signing.create(key);
      continue;
    }
    const byVersion = new Map<string, string>();
    const signatures: NewSignature[] = [];
    for (const deployment of current) {
      // One version is often deployed to several environments.
      const name = `${deployment.bundleName}/${deployment.version}`;
      const signature = byVersion.get(name) ?? secrets.sign(seed, await deployedYaml(ports, deployment));
      byVersion.set(name, signature);
      const attestation = secrets.sign(seed, bytesOf(attestationText(deployment)));
      signatures.push({ deploymentId: deployment.id, signature, attestation });
    }
    const succession = compromised ? null : succeed(ports, active, key);
    const note = rotationNote(key, active.publicKey, compromised, actor);
    const rotation = store.noting({ note }).signing.rotate(tenantId, active.id, key, signatures, succession);
    if ((await rotation) === 'rotated') return { key, current };
  }
  throw busy();
}
