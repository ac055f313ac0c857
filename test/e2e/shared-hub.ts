// One hub process for each worker of the tests: files that need no settings of their own, and do not end the process,
// share it. Each file has a tenant of its own. A start takes a second of the processor, a tenant a tenth of it.
// All files send from one network, and share its limits: sign-ins and wrong operator tokens (100,000 in five minutes),
// chat callbacks with a wrong signature (60 a minute), connections, and bodies in memory. A file that reaches a limit
// of the network or the node starts a hub of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { HubProcess } from './process.ts';

/** Of the shared processes. */
export const operatorToken = 'operator-token-of-at-least-32-characters';

const password = 'correct horse battery';
const settings = {
  LOG_LEVEL: 'warn',
  OPERATOR_TOKEN: operatorToken,
  RATE_LIMIT_MAX_ATTEMPTS: '100000',
  ALLOW_PRIVATE_OUTBOUND: 'true',
};

/** Files of a worker run one after another, and share modules (vitest.config.ts: isolate). */
let workerHub: Promise<HubProcess> | null = null;
let tenants = 0;

const isRunning = ({ child }: HubProcess): boolean => child?.exitCode === null && child.signalCode === null;

/**
 * Ends the process and removes its folder when this worker ends, however it ends: the pipe to a process in another
 * group, which Ctrl-C does not reach, closes.
 */
async function endWithWorker({ child, folder }: HubProcess): Promise<ChildProcess> {
  // Signals to the whole suite (scripts/test-suite.mjs) leave the guard alive until the folder is removed.
  const script = 'trap "" HUP INT TERM; echo; cat > /dev/null; kill -9 "$1"; rm -rf "$2"';
  const guard = spawn('sh', ['-c', script, 'sh', String(child?.pid), folder], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  guard.unref();
  await once(guard.stdout, 'data');
  guard.stdout.destroy();
  return guard;
}

/** A process that ends with this one, and its guard. */
export async function startHub(): Promise<{ readonly hub: HubProcess; readonly guard: ChildProcess }> {
  const hub = new HubProcess(settings);
  await hub.start();
  return { hub, guard: await endWithWorker(hub) };
}

/** The worker's process; a new one if the last one crashed. */
async function hubOfWorker(): Promise<HubProcess> {
  const hub = await workerHub?.catch(() => null);
  if (hub && isRunning(hub)) return hub;
  workerHub = startHub().then(({ hub: started }) => started);
  return workerHub;
}

/** The shared process as a file sees it: with an admin of a tenant that is new. */
export class SharedHub extends HubProcess {
  readonly #tenant = `t${++tenants}`;
  #process: HubProcess | null = null;

  constructor() {
    super(settings);
  }

  /** Unique in the installation. Begins as the address of another hub's user, which tests of the console look for. */
  override emailOf(name: string): string {
    return `${name}@example.com.${this.#tenant}.example`;
  }

  /** Creates the tenant. */
  override async start(): Promise<void> {
    this.#process = await hubOfWorker();
    this.port = this.#process.port;
    for (const stream of this.#streams) stream?.on('data', this.#take);
    const { status } = await this.call('POST', '/api/v1/operator/tenants', {
      body: { name: this.#tenant, email: this.emailOf('admin'), password },
      headers: { Authorization: `Bearer ${operatorToken}` },
    });
    if (status !== 201) throw new Error(`a tenant of the shared hub: ${status}`);
  }

  override admin(): Promise<string> {
    return this.login();
  }

  override login(email = this.emailOf('admin'), secret = password): Promise<string> {
    return super.login(email, secret);
  }

  override async kill(): Promise<void> {
    throw new Error('other files use this process too: a file that kills it starts its own');
  }

  override async stop(): Promise<number | null> {
    throw new Error('other files use this process too: a file that stops it starts its own');
  }

  /** Leaves the process to the next file. @throws if the process crashed or logged an error during this file */
  override async remove(): Promise<void> {
    for (const stream of this.#streams) stream?.off('data', this.#take);
    await super.remove();
    if (this.#process && !isRunning(this.#process)) {
      throw new Error(`the shared hub ended:\n${this.#process.output}`);
    }
    const errors = this.output.match(/^.*"level":"(?:error|fatal)".*$/gm);
    if (errors) throw new Error(`the shared hub logged errors:\n${errors.join('\n')}`);
  }

  get #streams() {
    return [this.#process?.child?.stdout, this.#process?.child?.stderr];
  }

  readonly #take = (chunk: Buffer): void => {
    this.output += chunk.toString();
  };
}
