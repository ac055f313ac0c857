// A hub that signs what it serves, honestly or not: documents with attestation, sequence and key succession, each of
// which a test can bend.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { sha256 } from '../src/bundle/signature.ts';

export interface TestKey {
  readonly hex: string;
  sign(text: string): string;
}

export function aKey(): TestKey {
  const { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject } =
    generateKeyPairSync('ed25519');
  return {
    hex: publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex'),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString('hex'),
  };
}

const at = (sequence: number): string => new Date(1_700_000_000_000 + sequence * 1000).toISOString();

/** A hub's proof that one key follows another. */
export const succession = (previous: TestKey, next: TestKey, tenant = 'tenant-1', by = previous) => {
  const rotatedAt = at(0);
  const stated = JSON.stringify([tenant, previous.hex, next.hex, rotatedAt]);
  return {
    previous_key: previous.hex,
    public_key: next.hex,
    rotated_at: rotatedAt,
    signature: by.sign(`reeve-key-succession-v1\n${stated}`),
  };
};

export interface Deployed {
  readonly yaml: string;
  readonly sequence: number;
  readonly key: TestKey;
  readonly version?: number;
  readonly name?: string;
  readonly tenant?: string;
  readonly env?: string;
  readonly successions?: readonly object[];
}

/** A document as a hub of this version sends it. */
export function documentOf(deployed: Deployed) {
  const { yaml, sequence, key, version = 1, name = 'guardrails', tenant = 'tenant-1' } = deployed;
  const { env = 'production', successions = [] } = deployed;
  const hash = sha256(Buffer.from(yaml));
  const stated = JSON.stringify([tenant, env, name, version, hash, sequence, at(sequence)]);
  return {
    bundle_name: name,
    version,
    revision_hash: hash,
    signature: key.sign(yaml) as string | null,
    public_key: key.hex as string | null,
    yaml_bytes: Buffer.from(yaml).toString('base64'),
    env,
    tenant_id: tenant,
    sequence: sequence as number | null,
    deployed_at: at(sequence),
    attestation: key.sign(`reeve-deployment-v1\n${stated}`) as string | null,
    key_succession: successions,
  };
}
