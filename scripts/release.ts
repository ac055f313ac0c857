// Makes dist/release/reeve-<version>-<os>-<arch>-node<major>.tgz, and SHA256SUMS beside it, from a finished build:
// node --import tsx release.ts [--node MAJOR] [--to FOLDER]. The archive starts with plain `node dist/src/main.js`.
// Keeps promise P80.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  abis,
  filesBelow,
  isBinaryOf,
  isNeeded,
  type Lock,
  productionPaths,
  quietManifest,
  type Target,
} from './production-packages.ts';
import { type TarFile, tarball } from './tar.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): Buffer => readFileSync(join(root, path));
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** deploy/native-binaries.json: path below node_modules → SHA-256. */
export interface RecordedBinaries {
  readonly [path: string]: string;
}

/** @throws Error if the bytes are not those that were recorded */
export function checkBinary(path: string, bytes: Buffer, recorded: RecordedBinaries): void {
  const digest = sha256(bytes);
  if (recorded[path] === digest) return;
  throw new Error(
    recorded[path] === undefined
      ? `The binary ${path} has no SHA-256 in deploy/native-binaries.json. Compare it with its source and record it.`
      : `The binary ${path} has the SHA-256 ${digest}, not the recorded ${recorded[path]}. Install the packages again.`,
  );
}

/** The needed files of one package, by paths below node_modules. */
function filesOfPackage(lock: Lock, path: string, target: Target): readonly TarFile[] {
  const { link: isOwn = false, resolved } = lock.packages[path] ?? {};
  const folder = join(root, isOwn && resolved !== undefined ? resolved : path);
  const name = path.slice('node_modules/'.length);
  return filesBelow(folder)
    .filter((file) => isNeeded(file) && (!isOwn || /^(dist\/|package\.json$|LICENSE$)/.test(file)))
    .filter((file) => !file.endsWith('.node') || isBinaryOf(`${name}/${file}`, target))
    .map((file) => {
      const source = join(folder, file);
      const bytes = basename(file) === 'package.json' ? quietManifest(source) : readFileSync(source);
      return { path: `${name}/${file}`, bytes, mode: 0o644 };
    });
}

function packageFiles(lock: Lock, target: Target): readonly TarFile[] {
  const recorded: RecordedBinaries = JSON.parse(read('deploy/native-binaries.json').toString());
  const paths = productionPaths(lock);
  const elsewhere = paths.find((path) => !path.startsWith('node_modules/'));
  if (elsewhere) throw new Error(`The package ${elsewhere} is outside node_modules. Run npm dedupe.`);
  const files = paths.flatMap((path) => filesOfPackage(lock, path, target));
  const binaries = files.filter(({ path }) => path.endsWith('.node'));
  for (const { path, bytes } of binaries) checkBinary(path, bytes, recorded);
  if (binaries.length !== 2) {
    throw new Error(
      `${binaries.length} of 2 binaries for ${target.os} ${target.arch} and Node ${target.node} are installed. Run npm ci.`,
    );
  }
  const used = binaries.map(({ path }) => dirname(path));
  return files
    .filter(({ path }) => !path.startsWith('@libsql/') || used.includes(dirname(path)))
    .map((file) => ({ ...file, path: `node_modules/${file.path}` }));
}

function hubFiles(): readonly TarFile[] {
  const built = ['src', 'actors', 'adapters', 'dashboard', 'downloads'].flatMap((folder) =>
    filesBelow(join(root, 'dist', folder)).map((file) => `dist/${folder}/${file}`),
  );
  const pages = readdirSync(join(root, 'docs'))
    .filter((name) => /\.(md|txt)$/.test(name))
    .map((name) => `docs/${name}`);
  const others = [
    'dist/openapi.json',
    'deploy/nginx.conf',
    'deploy/reeve.service',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
  ];
  const needed = built.filter((path) => !/\.map$|\.d\.ts$|\/\.[^/]+$/.test(path));
  return [...needed, ...pages, ...others].map((path) => ({ path, bytes: read(path), mode: 0o644 }));
}

function manifestFile(): TarFile {
  const { name, version, description, license, type, engines, bin } = JSON.parse(
    read('package.json').toString(),
  );
  const manifest = { name, version, description, license, type, engines, bin, private: true };
  return { path: 'package.json', bytes: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`), mode: 0o644 };
}

/** Writes the archive. @returns its path */
export function makeRelease(target: Target, folder: string): string {
  if (!existsSync(join(root, 'dist/src/main.js')))
    throw new Error('dist is missing. Run npm run build first.');
  const lock: Lock = JSON.parse(read('package-lock.json').toString());
  const { version } = JSON.parse(read('package.json').toString());
  const name = `reeve-${version}-${target.os}-${target.arch}-node${target.node}`;
  const files = [manifestFile(), ...hubFiles(), ...packageFiles(lock, target)];
  const archive = join(folder, `${name}.tgz`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(archive, tarball(files.map((file) => ({ ...file, path: `${name}/${file.path}` }))));
  const archives = readdirSync(folder)
    .filter((file) => file.endsWith('.tgz'))
    .sort();
  const sums = archives.map((file) => `${sha256(readFileSync(join(folder, file)))}  ${file}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
  return archive;
}

export function targetOf(node: string): Target {
  const abi = abis[node];
  if (abi === undefined)
    throw new Error(`Node ${node} is not supported. Choose one of ${Object.keys(abis).join(', ')}.`);
  return { os: process.platform, arch: process.arch, node, abi };
}

export const ownMajor = process.versions.node.split('.')[0] ?? '';

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { node: { type: 'string' }, to: { type: 'string' } } });
  try {
    const archive = makeRelease(targetOf(values.node ?? ownMajor), values.to ?? join(root, 'dist/release'));
    process.stdout.write(`${archive}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
