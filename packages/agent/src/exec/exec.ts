// Runs one program for an agent's tool, contained by the operating system where that works (promise P78).
import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { execPath, kill, platform } from 'node:process';
import { systemClock } from '../clock.ts';
import { processVariables, type Variables } from '../environment.ts';
import {
  aCount,
  anObject,
  aText,
  type Check,
  type Checks,
  checkOptions,
  listOf,
  milliseconds,
  oneOf,
} from '../options.ts';
import { type Isolation, type IsolationMode, isolationModes, stricterMode } from '../rules/isolation.ts';
import { liesWithin } from '../rules/sandbox/path.ts';
import { bubblewrapArguments, IsolationError, isolationProblem } from './isolation.ts';
import { type DomainProxy, proxyVariables, relayScript, startProxy } from './proxy.ts';

/** A program and its reach. Relative paths start from the folder of this process. */
export interface ExecOptions {
  /** The program and its words; no shell reads them. */
  readonly argv: readonly string[];
  /** Folders that the program reads and writes; at least one. */
  readonly within: readonly string[];
  /** Files and folders in these that it does not see. Default: none. */
  readonly notWithin?: readonly string[];
  /** Files and folders that it reads, beside the system's programs. Default: none. */
  readonly readOnly?: readonly string[];
  /** Globs of host names that it may connect to, by HTTP and CONNECT. Default: none, and no network at all. */
  readonly domains?: readonly string[];
  /** The folder in which it starts. Default: the first folder of `within`. */
  readonly cwd?: string;
  /** Its variables, instead of PATH, LANG, LC_ALL, TERM and TZ of this process and HOME (`/tmp`). */
  readonly env?: Variables;
  /** Default `preferred`. The stricter one of this mode and the guard's holds. */
  readonly isolation?: IsolationMode;
  /** The guard whose `isolation` holds, too. Default: none. */
  readonly guard?: { readonly isolation: IsolationMode };
  /** Text on its standard input. Default: empty. */
  readonly input?: string;
  /**
   * Milliseconds after which it is killed; default 600,000. `exec` waits no longer, even if a process in another group
   * holds the outputs open.
   */
  readonly timeout?: number;
  /** Bytes of each of its outputs that are kept; default 1,048,576. */
  readonly maxOutput?: number;
  /** The program that isolates. Default `bwrap`. */
  readonly bubblewrap?: string;
}

export interface ExecResult {
  /** The exit status; null if a signal ended the program. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** True if an output was longer than `maxOutput`. */
  readonly isCut: boolean;
  /** True if the program was killed after `timeout`. */
  readonly isTimeout: boolean;
  /** Containment of the program. Put this field into the tool's result, so that the audit record contains the field. */
  readonly isolation: Isolation;
}

const someTexts: Check = (value) =>
  listOf((item) => (typeof item === 'string' ? null : 'a list of strings'))(value);
const atLeastOneText: Check = (value) =>
  someTexts(value) ??
  ((value as readonly unknown[]).length > 0 ? null : 'a list of strings that is not empty');
const execChecks: Checks<ExecOptions> = {
  argv: atLeastOneText,
  within: atLeastOneText,
  notWithin: someTexts,
  readOnly: someTexts,
  domains: someTexts,
  cwd: aText,
  env: anObject,
  isolation: oneOf(...isolationModes),
  guard: anObject,
  input: (value) => (typeof value === 'string' ? null : 'a string'),
  timeout: milliseconds,
  maxOutput: aCount(1),
  bubblewrap: aText,
};

/**
 * Runs a program and resolves with its outputs, whatever its exit status.
 * @throws TypeError naming an option that is wrong, before the program starts
 * @throws IsolationError if isolation is required and does not work here, before the program starts
 * @throws Error if the program does not start
 */
export async function exec(options: ExecOptions): Promise<ExecResult> {
  checkOptions<ExecOptions>(options, execChecks, { required: ['argv', 'within'] });
  const mode = stricterMode(options.isolation ?? 'preferred', options.guard?.isolation ?? 'none');
  const bubblewrap = options.bubblewrap ?? 'bwrap';
  const problem = mode === 'none' ? 'isolation is none' : await isolationProblem(bubblewrap);
  if (problem !== null && mode === 'required') throw new IsolationError(problem);
  const cwd = resolve(options.cwd ?? options.within[0] ?? '.');
  const within = absolute(options.within);
  if (!within.some((folder) => liesWithin(cwd, folder)))
    throw new TypeError(`option cwd must be a folder in within, but is ${cwd}`);
  if (problem !== null) return run(options.argv, options, cwd, 'none');
  const proxy = options.domains?.length ? await startProxy(options.domains) : null;
  try {
    const readOnly = [...absolute(options.readOnly), ...(proxy ? [proxy.folder, execPath] : [])];
    const reach = { within, notWithin: absolute(options.notWithin), readOnly, cwd };
    const words = [
      ...(await bubblewrapArguments(reach)),
      ...(proxy ? relayWords(proxy) : []),
      ...options.argv,
    ];
    const env = { ...(options.env ?? plainEnvironment()), ...(proxy ? proxyVariables : {}) };
    return await run([bubblewrap, ...words], { ...options, env }, cwd, 'bubblewrap');
  } finally {
    await proxy?.close();
  }
}

const absolute = (paths: readonly string[] = []) => paths.map((path) => resolve(path));

const relayWords = ({ socket }: DomainProxy): readonly string[] => [
  execPath,
  '-e',
  relayScript,
  '--',
  socket,
];

/** Variables that hold no secret and that many programs need. */
const plainVariables = ['PATH', 'LANG', 'LC_ALL', 'TERM', 'TZ'];
const plainEnvironment = (): Variables => ({
  ...Object.fromEntries(plainVariables.map((name) => [name, processVariables[name]])),
  HOME: '/tmp',
});

/** Time in which the outputs of a killed program are read to their end; milliseconds. */
const outputGrace = 250;

function run(
  [program = '', ...words]: readonly string[],
  { env = plainEnvironment(), input = '', timeout = 600_000, maxOutput = 1 << 20 }: ExecOptions,
  cwd: string,
  isolation: ExecResult['isolation'],
): Promise<ExecResult> {
  return new Promise((settle, reject) => {
    // A group of its own, so that its children can be killed with it.
    const child = spawn(program, words, {
      cwd,
      env: { ...env },
      stdio: 'pipe',
      detached: platform !== 'win32',
    });
    let isTimeout = false;
    let timer = systemClock.after(
      timeout,
      () => {
        isTimeout = true;
        killGroup(child);
        // A process in a group of its own lives on, and may hold the outputs open for ever.
        timer = systemClock.after(outputGrace, () => closeOutputs(child), true);
      },
      true,
    );
    const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => collect(stream, maxOutput));
    child.on('error', (failure) => {
      timer.cancel();
      reject(failure);
    });
    child.on('close', (code, signal) => {
      timer.cancel();
      const outputs = { stdout: stdout?.text() ?? '', stderr: stderr?.text() ?? '' };
      const isCut = stdout?.isCut() === true || stderr?.isCut() === true;
      settle({ code, signal, ...outputs, isCut, isTimeout, isolation });
    });
    // A program that ends early does not read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

function closeOutputs({ stdout, stderr }: ChildProcess): void {
  stdout?.destroy();
  stderr?.destroy();
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined && platform !== 'win32') kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // It has ended.
  }
}

/** The first bytes of a stream; the rest is read and dropped. */
function collect(stream: NodeJS.ReadableStream, max: number) {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on('data', (chunk: Buffer) => {
    if (length < max) chunks.push(chunk.subarray(0, max - length));
    length += chunk.length;
  });
  return { text: () => Buffer.concat(chunks).toString('utf8'), isCut: () => length > max };
}
