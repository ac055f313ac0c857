// Isolation of a program by the operating system: bubblewrap on Linux. A program sees its folders, the system's
// programs read-only, an empty /tmp, and no network.
import { execFile } from 'node:child_process';
import { realpath, stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { liesWithin } from '../rules/sandbox/path.ts';

/** Isolation is required and does not work here. No program has started. */
export class IsolationError extends Error {
  constructor(reason: string) {
    super(
      `isolation is required, but bubblewrap does not work here (${reason}). Install it (Debian: apt-get install ` +
        "bubblewrap) where user namespaces are allowed, or set isolation to 'preferred'.",
    );
    this.name = 'IsolationError';
  }
}

/** Programs, their libraries, and files that many programs need; none of them holds a secret. */
const systemPaths = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64'],
  ...['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'passwd', 'group', 'nsswitch.conf'].map(
    (name) => `/etc/${name}`,
  ),
  ...['localtime', 'mime.types', 'ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs'].map(
    (name) => `/etc/${name}`,
  ),
];
/** New namespaces, no rights, no terminal; the program ends with this process. */
const containment = [
  ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ...['--dev', '/dev', '--proc', '/proc'],
];

/** Reach of a contained program. Paths are absolute. */
export interface Reach {
  /** Folders that it reads and writes. */
  readonly within: readonly string[];
  /** Files and folders in these that it does not see. */
  readonly notWithin: readonly string[];
  /** Files and folders that it reads. */
  readonly readOnly: readonly string[];
  readonly cwd: string;
}

/**
 * The arguments of bubblewrap before a program.
 * @throws Error naming a folder that does not exist
 */
export async function bubblewrapArguments({ within, notWithin, readOnly, cwd }: Reach): Promise<string[]> {
  const seesAll = within.includes('/');
  const system = systemPaths.flatMap((path) => ['--ro-bind-try', path, path]);
  const base = seesAll ? ['--bind', '/', '/'] : [...system, '--tmpfs', '/tmp'];
  const places = await placesOf([
    ...readOnly.map((path) => ({ path, isReadOnly: true })),
    ...(seesAll ? [{ path: '/', isReadOnly: false }] : within.map((path) => ({ path, isReadOnly: false }))),
  ]);
  const binds = places
    .filter(({ path, isReadOnly }) => path !== '/' || isReadOnly || !seesAll)
    .flatMap(bindsOf(places));
  // A deeper mount covers a part of the one above it; of two at one path the last holds.
  binds.sort((a, b) => depthOf(a.path) - depthOf(b.path) || Number(a.isReadOnly) - Number(b.isReadOnly));
  return [
    ...base,
    ...containment,
    ...binds.flatMap(({ path, target, isReadOnly }) => [isReadOnly ? '--ro-bind' : '--bind', target, path]),
    ...(await Promise.all(notWithin.map((path) => hideArguments(path, places)))).flat(),
    ...(seesAll ? [] : ['--remount-ro', '/']),
    ...['--chdir', cwd, '--'],
  ];
}

/** A file or a folder in the sight of the program. */
interface Place {
  readonly path: string;
  /** The same without links. */
  readonly target: string;
  readonly isReadOnly: boolean;
}

const placesOf = (paths: readonly Omit<Place, 'target'>[]): Promise<Place[]> =>
  Promise.all(paths.map(async (place) => ({ ...place, target: await realpath(place.path) })));

const depthOf = (path: string): number => path.split('/').filter(Boolean).length;

/** All paths at which the program finds a file: a folder that is named through a link is a second way to its files. */
const pathsTo = (target: string, places: readonly Place[]): string[] =>
  places.flatMap((place) =>
    liesWithin(target, place.target) ? [resolve(place.path, relative(place.target, target))] : [],
  );

/** The mounts of one place. A read-only path is read-only on each way to it. */
const bindsOf =
  (places: readonly Place[]) =>
  (place: Place): Place[] => {
    const paths = place.isReadOnly ? pathsTo(place.target, places) : [];
    return [...new Set([place.path, ...paths])].map((path) => ({ ...place, path }));
  };

/** Puts an empty folder, or a file that nobody can open, in the place of a path. A missing path stays missing. */
async function hideArguments(path: string, places: readonly Place[]): Promise<readonly string[]> {
  const target = await realpath(path).catch(() => null);
  if (target === null) return [];
  const isFolder = (await stat(target)).isDirectory();
  return [...new Set([target, ...pathsTo(target, places)])].flatMap((one) =>
    isFolder ? ['--tmpfs', one, '--remount-ro', one] : ['--ro-bind', '/dev/null', one],
  );
}

const problems = new Map<string, Promise<Trial>>();

interface Trial {
  /** Null where bubblewrap works. */
  readonly problem: string | null;
  /** True for a result that a second trial would not change. */
  readonly isFinal: boolean;
}

/**
 * Null where bubblewrap works; else the reason why it does not. A program that works, or is missing, is tried once per
 * process; other failures may pass, and are tried again.
 */
export async function isolationProblem(bubblewrap: string): Promise<string | null> {
  const trial = problems.get(bubblewrap) ?? tryBubblewrap(bubblewrap);
  problems.set(bubblewrap, trial);
  const { problem, isFinal } = await trial;
  if (!isFinal && problems.get(bubblewrap) === trial) problems.delete(bubblewrap);
  return problem;
}

const tryBubblewrap = (bubblewrap: string): Promise<Trial> =>
  new Promise((settle) => {
    const words = ['--ro-bind', '/', '/', ...containment, '--', 'true'];
    execFile(bubblewrap, words, { timeout: 60_000 }, (failure, _stdout, stderr) => {
      const problem = failure === null ? null : stderr.trim().split('\n')[0] || failure.message;
      settle({ problem, isFinal: failure === null || failure.code === 'ENOENT' });
    });
  });
