// Check that this process has the master secret that sealed the store's secrets. The first start leaves a sealed text
// in the store, and every later start opens that text. The check opens nothing else. Keeps promise P26.

import { HubError } from '../shared/error.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { Store } from '../shared/ports/store.ts';
import type { Config } from './config.ts';

const name = 'master';
const words = 'sealed with the master secret of this store';

const where = ({ cluster, secretKey, dataDir }: Pick<Config, 'cluster' | 'secretKey' | 'dataDir'>): string =>
  cluster || secretKey
    ? 'Start every node with the SECRET_KEY from the first start.'
    : `Restore the file secret.key from the first start of ${dataDir}, or set SECRET_KEY to its content.`;

/** True when the master secret opens what the first start sealed. */
export function opensSeal(secrets: Pick<Secrets, 'unseal'>, kept: string): boolean {
  try {
    return Buffer.from(secrets.unseal('check', kept)).toString() === words;
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    return false;
  }
}

/**
 * @throws HubError conflict in one line when the store's secrets were sealed with another master secret; unavailable
 */
export async function checkMaster(
  { keyCheck }: Pick<Store, 'keyCheck'>,
  secrets: Pick<Secrets, 'seal' | 'unseal'>,
  config: Parameters<typeof where>[0],
): Promise<void> {
  const kept = await keyCheck.first(name, secrets.seal('check', Buffer.from(words)));
  if (opensSeal(secrets, kept)) return;
  throw new HubError(
    'conflict',
    `The secrets in this store are sealed with another SECRET_KEY. ${where(config)}`,
  );
}
