// Signatures with the active key of a tenant. Pure.
import { refused } from '../../shared/error.ts';
import type { Secrets } from '../../shared/ports/secrets.ts';
import type { SigningKey } from '../record.ts';

export interface ActiveSigner {
  readonly publicKey: string;
  readonly keyId: string;
  /** Returns the signature in hexadecimal. */
  sign(bytes: Uint8Array): string;
}

/** Id of a public key (hexadecimal): the first 16 hexadecimal digits of its SHA-256. */
export const keyIdOf = (secrets: Pick<Secrets, 'sha256'>, publicKey: string): string =>
  secrets.sha256(Buffer.from(publicKey, 'hex')).slice(0, 16);

/** @throws HubError unavailable (signing_unavailable) if no key is active */
export function activeSigner(
  key: SigningKey | null,
  secrets: Pick<Secrets, 'sha256' | 'sign' | 'unseal'>,
): ActiveSigner {
  if (!key) {
    throw refused(
      'signing_unavailable',
      'No signing key is active, so the hub cannot sign. Rotate the signing key to create one.',
    );
  }
  const { publicKey, sealedSeed } = key;
  return {
    publicKey,
    keyId: keyIdOf(secrets, publicKey),
    sign: (bytes) => secrets.sign(secrets.unseal('signing-key', sealedSeed), bytes),
  };
}
