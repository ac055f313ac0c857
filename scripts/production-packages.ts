// The packages of a release archive: the closure of the hub's dependencies by package-lock.json, and the files of each
// package that a running hub may load.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface LockedPackage {
  readonly link?: boolean;
  readonly resolved?: string;
  readonly version?: string;
  readonly dependencies?: { readonly [name: string]: string };
  readonly optionalDependencies?: { readonly [name: string]: string };
  readonly peerDependencies?: { readonly [name: string]: string };
  readonly peerDependenciesMeta?: { readonly [name: string]: { readonly optional?: boolean } };
}

export interface Lock {
  readonly packages: { readonly [path: string]: LockedPackage };
}

/** The system, architecture and ABI that an archive is for. */
export interface Target {
  readonly os: string;
  readonly arch: string;
  /** Node's major version. */
  readonly node: string;
  /** `process.versions.modules` of that major version. */
  readonly abi: string;
}

/** `process.versions.modules` of the supported major versions. */
export const abis: { readonly [major: string]: string } = { 20: '115', 22: '127', 24: '137' };

/** Optional accelerators that their users run without; the first one has the only install script in production. */
const leftOut = new Set(['msgpackr-extract']);

/** The path of a package as Node resolves it from another; null if the lock file has none. */
function resolvedPath(lock: Lock, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules') - 1))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (lock.packages[path]) return path;
    if (!folder.includes('node_modules')) return folder === '' ? null : resolvedPath(lock, '', name);
  }
}

/** The paths of all packages that a hub may load, such as `node_modules/zod`. */
export function productionPaths(lock: Lock): readonly string[] {
  const paths = new Set<string>();
  const visit = (path: string): void => {
    const entry = lock.packages[path];
    const source = entry?.link ? (entry.resolved ?? path) : path;
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } =
      lock.packages[source] ?? {};
    const peers = Object.keys(peerDependencies ?? {}).filter(
      (name) => !peerDependenciesMeta?.[name]?.optional,
    );
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const next = leftOut.has(name) ? null : resolvedPath(lock, source, name);
      if (next === null || paths.has(next)) continue;
      paths.add(next);
      visit(next);
    }
  };
  visit('');
  return [...paths].sort();
}

const unusedFolders = /^(docs?|examples?|tests?|__tests__|bench(marks?)?|misc|mvp|scripts)$/;
const unusedFiles = /\.(map|[cm]?ts|tsx|tsbuildinfo|md|markdown|h|c|cc|cpp|gyp|png|svg|html|yml|flow)$/i;
const isLicence = (name: string): boolean => /^(licen[cs]e|notice|copying)/i.test(name);

/** True if a file of a package, by its path there, may be needed by a running hub. Binaries are chosen apart. */
export function isNeeded(path: string): boolean {
  const parts = path.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.some((part) => part.startsWith('.')) || parts.includes('node_modules')) return false;
  if (parts.length > 1 && unusedFolders.test(parts[0] ?? '')) return false;
  return isLicence(name) || (!unusedFiles.test(name) && name !== 'Makefile');
}

/** The files below a folder, relative to it, with slashes, in no order. */
export function filesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) =>
      join(file.parentPath, file.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
}

/** True for the binary that a hub on the target loads. Each package names its binaries in its own way. */
export function isBinaryOf(path: string, { os, arch, abi }: Target): boolean {
  if (path.startsWith('uWebSockets.js/')) return path === `uWebSockets.js/uws_${os}_${arch}_${abi}.node`;
  const suffix = os === 'linux' ? '-gnu' : os === 'win32' ? '-msvc' : '';
  return path === `@libsql/${os}-${arch}${suffix}/index.node`;
}

/** A package's manifest without what npm would run or install. */
export function quietManifest(file: string): Buffer {
  const {
    scripts: _scripts,
    devDependencies: _development,
    ...manifest
  } = JSON.parse(readFileSync(file, 'utf8'));
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}
