// A build of an earlier commit in .cache/bench, with its own reeve-agent.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { CannotRun } from '../suite/failure.ts';
import { root } from '../suite/root.ts';

const builtMark = '.built';

function git(source: string, ...args: readonly string[]): string {
  return execFileSync('git', ['-C', source, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

function tryGit(source: string, ...args: readonly string[]): string | null {
  try {
    return git(source, ...args);
  } catch {
    return null;
  }
}

/**
 * The commit to compare with.
 * @param ref default: the merge base with main; on main itself the first parent
 * @param source a checkout. Default: this one
 * @throws CannotRun for a ref that the clone does not have
 */
export function resolveBase(ref: string | null, source = root): string {
  if (ref !== null) {
    const sha = tryGit(source, 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`);
    if (sha !== null) return sha;
    throw new CannotRun(
      `There is no commit ${ref} in this clone. Fetch the full history, or name another commit.`,
    );
  }
  const head = tryGit(source, 'rev-parse', 'HEAD');
  const bases = ['origin/main', 'main'].map((main) => tryGit(source, 'merge-base', 'HEAD', main));
  const base =
    bases.find((sha) => sha !== null && sha !== head) ??
    tryGit(source, 'rev-parse', '--verify', '--quiet', 'HEAD^');
  if (base) return base;
  throw new CannotRun(
    'There is no earlier commit in this clone. Fetch the full history, or pass --base REF.',
  );
}

/** Folders and files that neither a hub nor the suite reads. */
const otherFiles = ['docs', 'test', 'bench/reference', '*.md'].map((path) => `:(exclude)${path}`);

/** True if hub and suite of two commits are the same. A commit that the clone lacks is another program. */
export const isSameProgram = (first: string, second: string, source = root): boolean =>
  first === second || tryGit(source, 'diff', '--quiet', first, second, '--', '.', ...otherFiles) !== null;

function runIn(folder: string, command: string, ...args: readonly string[]): void {
  process.stderr.write(`${command} ${args.join(' ')}\n`);
  const { status } = spawnSync(command, args, { cwd: folder, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new CannotRun(`${command} ${args.join(' ')} failed in ${folder}.`);
}

/** Links this checkout's packages, but for reeve-agent: the base has its own. */
function linkPackages(source: string, folder: string): void {
  const [from, to] = [join(source, 'node_modules'), join(folder, 'node_modules')];
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    const isOwn = name === 'reeve-agent';
    symlinkSync(isOwn ? '../packages/agent' : join(from, name), join(to, name), 'dir');
  }
}

function installPackages(source: string, folder: string): void {
  const [lock, baseLock] = [source, folder].map((place) =>
    readFileSync(join(place, 'package-lock.json'), 'utf8'),
  );
  if (lock === baseLock) linkPackages(source, folder);
  else runIn(folder, 'npm', 'ci', '--no-audit', '--no-fund', '--prefer-offline');
}

/** A build takes minutes. Milliseconds. */
const draftAgeMs = 3_600_000;

/** Removes the drafts of killed builds, of any commit. Younger drafts may belong to another run. */
function removeOldDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!/\.(?:draft|tar)$/.test(name)) continue;
    const place = join(folder, name);
    const age = Date.now() - (statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > draftAgeMs) rmSync(place, { recursive: true, force: true });
  }
}

/**
 * Builds a commit, unless `.cache/bench` has its build.
 * @param source a checkout. Default: this one
 * @returns the folder of the built checkout
 * @throws CannotRun if a step fails
 */
export function ensureBaseBuild(sha: string, source = root): string {
  const folder = join(source, '.cache/bench', sha);
  if (existsSync(join(folder, builtMark))) return folder;
  const draft = `${folder}.draft`;
  for (const place of [folder, draft]) rmSync(place, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  removeOldDrafts(dirname(draft));
  const archive = `${folder}.tar`;
  try {
    git(source, 'archive', '--format=tar', `--output=${archive}`, sha);
    runIn(draft, 'tar', '-xf', archive);
    installPackages(source, draft);
    const { scripts } = JSON.parse(readFileSync(join(draft, 'package.json'), 'utf8')) as {
      readonly scripts: { readonly [name: string]: string };
    };
    // The hub under measurement needs no console.
    runIn(draft, 'npm', 'run', '-s', scripts['build:quick'] === undefined ? 'build' : 'build:quick');
    writeFileSync(join(draft, builtMark), `${sha}\n`);
    renameSync(draft, folder);
  } finally {
    // A step that Ctrl-C ends fails as any other.
    for (const place of [draft, archive]) rmSync(place, { recursive: true, force: true });
  }
  return folder;
}
