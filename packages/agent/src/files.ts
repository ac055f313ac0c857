// Files by which processes agree.
import { open, stat } from 'node:fs/promises';

/**
 * Makes a file for its owner alone; of several processes one does. Durable when the promise resolves.
 * @returns false: the file exists
 */
export async function createExclusive(path: string, text: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    return true;
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw failure;
  }
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
