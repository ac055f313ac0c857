// The build of a checkout: its commit, its versions, and whether it is older than its sources.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { CannotRun } from './failure.ts';
import type { Results } from './results.ts';
import { root } from './root.ts';

const sourceFolders = ['src', 'actors', 'adapters', 'packages/agent/src'];

/** True if a file of the build is absent or older than a file in one of the folders. */
export function isOlderThanSources(builtFile: string, folders: readonly string[]): boolean {
  const builtAt = statSync(join(root, builtFile), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return folders.some((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).some(
      (entry) => entry.isFile() && statSync(join(entry.parentPath, entry.name)).mtimeMs > builtAt,
    ),
  );
}

/**
 * Builds this checkout, unless its build is newer than its sources.
 * @param script `build:quick` leaves out the web console, the checks of types and declarations. Default: `build`
 * @throws CannotRun if the build fails
 */
export function ensureBuild(script: 'build' | 'build:quick' = 'build'): void {
  if (!isOlderThanSources('dist/src/main.js', sourceFolders)) return;
  process.stderr.write(`The build is older than its sources: npm run ${script}\n`);
  const { status } = spawnSync('npm', ['run', '-s', script], { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new CannotRun(`npm run ${script} failed.`);
}

/** Both null for a folder without git. */
export function readCommit(folder: string): Results['commit'] {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    return { sha: git('rev-parse', 'HEAD').trim(), dirty: git('status', '--porcelain').trim() !== '' };
  } catch {
    return { sha: null, dirty: null };
  }
}

function readReeveVersion(folder: string): string {
  const file = join(folder, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : 'unknown';
}

/**
 * Versions of the hub in `folder`, of Node, and of the SQLite that the bounds use.
 * @param folder null: a hub of others, whose version is left out
 */
export function readVersions(folder: string | null): Results['versions'] {
  const db = new Libsql(':memory:');
  const row = db.prepare('SELECT sqlite_version() AS version').get() as { readonly version: string };
  db.close();
  const ownVersions = { node: process.versions.node, sqlite: row.version };
  return folder === null ? ownVersions : { reeve: readReeveVersion(folder), ...ownVersions };
}
