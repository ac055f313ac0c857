// The master secret of an embedded hub: made once, kept beside the data, readable by its owner alone.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { HubError } from '../../src/shared/error.ts';
import { keepFirst, makeFolder, readKept } from './data-folder.ts';

export const secretFile = 'secret.key';

/**
 * The secret kept in `dataDir/secret.key` (mode 0600); null when there is none.
 * @throws HubError('internal') when the file holds fewer than 32 characters
 */
export function keptSecret(dataDir: string): string | null {
  const path = join(dataDir, secretFile);
  const kept = readKept(path);
  if (kept === null || kept.length >= 32) return kept;
  throw new HubError(
    'internal',
    `${path} is damaged, so the hub cannot open its sealed secrets. Restore the file from a back-up.`,
  );
}

/** The secret kept in `dataDir`, made when there is none. @throws as `keptSecret` */
export function masterSecret(dataDir: string): string {
  makeFolder(dataDir);
  const kept = keptSecret(dataDir);
  if (kept !== null) return kept;
  keepFirst(join(dataDir, secretFile), randomBytes(32).toString('base64url'));
  return masterSecret(dataDir);
}
