// The master secret of an embedded hub: made once, kept beside the data, readable by its owner alone.
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { HubError } from '../../src/domain/error.ts';

const fileName = 'secret.key';

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * The secret kept in `dataDir/secret.key` (mode 0600), made when there is none. The file appears whole or not at all, so a process
 * killed here leaves no half secret.
 * @throws HubError('internal') when the file holds fewer than 32 characters
 */
export function masterSecret(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, fileName);
  const known = read(path);
  if (known !== null) {
    if (known.length < 32)
      throw new HubError(
        'internal',
        `${path} is damaged: restore it from a back-up, or nothing sealed can be read`,
      );
    chmodSync(path, 0o600);
    return known;
  }
  const draft = `${path}.${process.pid}`;
  const file = openSync(draft, 'w', 0o600);
  try {
    writeSync(file, `${randomBytes(32).toString('base64url')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    // A link never replaces a secret that another process made meanwhile.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  return masterSecret(dataDir);
}
