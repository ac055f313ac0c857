// Pin documents, signed with the tenant's active key when somebody reads them: a rotation needs no write here.
import { pinText, signedPinText } from 'reeve-agent/rules';
import { HubError } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { KeySuccession } from '../../signing/record.ts';
import type { ServerPins } from '../record.ts';

export interface SignedPins {
  /** Canonical JSON. */
  readonly document: string;
  /** Ed25519 over `signedPinText` of the document, 128 hex characters. */
  readonly signature: string;
  readonly publicKey: string;
  /** The tenant's, oldest first. */
  readonly successions: readonly KeySuccession[];
}

/** @throws HubError unprocessable (no signing key) */
export async function signPins(
  { store, secrets }: Pick<AppPorts, 'store' | 'secrets'>,
  { tenantId, env, server }: { readonly tenantId: string; readonly env: Env; readonly server: string },
  pins: ServerPins,
): Promise<SignedPins> {
  const [key, successions] = await Promise.all([
    store.signing.getActive(tenantId),
    store.signing.listSuccessions(tenantId),
  ]);
  if (!key) {
    throw new HubError('unprocessable', 'No signing key is active. Rotate the signing key to create one.');
  }
  const document = pinText({ tenant: tenantId, env, server, ...pins });
  const seed = secrets.unseal('signing-key', key.sealedSeed);
  const signature = secrets.sign(seed, new TextEncoder().encode(signedPinText(document)));
  return { document, signature, publicKey: key.publicKey, successions };
}
