// Temporary folders that go with the process, also after Ctrl-C.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder {
  readonly path: string;
  /** A repeat does nothing. */
  remove(): void;
}

/** Removes a folder to which a process that was just killed may still write. */
export const removeFolder = (path: string): void =>
  rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });

export function makeTemporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
  const remove = (): void => {
    process.off('exit', remove);
    removeFolder(path);
  };
  process.once('exit', remove);
  return { path, remove };
}
