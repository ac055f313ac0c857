// Isolation of a program by the operating system: bubblewrap on Linux. A program sees its folders, the system's
// programs read-only, an empty /tmp, and no network.
import { execFile } from 'node:child_process';
import { realpath, stat } from 'node:fs/promises';

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
  const binds = async (option: string, paths: readonly string[]): Promise<string[]> =>
    (await Promise.all(paths.map(async (path) => [option, await realpath(path), path]))).flat();
  return [
    ...base,
    ...containment,
    ...(await binds('--ro-bind', readOnly)),
    ...(await binds('--bind', seesAll ? [] : within)),
    ...(await Promise.all(notWithin.map(hideArguments))).flat(),
    ...(seesAll ? [] : ['--remount-ro', '/']),
    ...['--chdir', cwd, '--'],
  ];
}

/** Puts an empty folder, or a file that nobody can open, in the place of a path. A missing path stays missing. */
async function hideArguments(path: string): Promise<readonly string[]> {
  const target = await realpath(path).catch(() => null);
  if (target === null) return [];
  const isFolder = (await stat(target)).isDirectory();
  return isFolder ? ['--tmpfs', target, '--remount-ro', target] : ['--ro-bind', '/dev/null', target];
}

const problems = new Map<string, Promise<string | null>>();

/** Null where bubblewrap works; else the reason why it does not. Each program is tried once per process. */
export function isolationProblem(bubblewrap: string): Promise<string | null> {
  const problem = problems.get(bubblewrap) ?? tryBubblewrap(bubblewrap);
  problems.set(bubblewrap, problem);
  return problem;
}

const tryBubblewrap = (bubblewrap: string): Promise<string | null> =>
  new Promise((resolve) => {
    const trial = ['--ro-bind', '/', '/', ...containment, '--', 'true'];
    execFile(bubblewrap, trial, { timeout: 60_000 }, (failure, _stdout, stderr) =>
      resolve(failure === null ? null : stderr.trim().split('\n')[0] || failure.message),
    );
  });
