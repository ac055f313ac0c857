// One hub process for each worker of the tests: files that need no settings of their own, and do not end the process,
// share it. Each file has a tenant of its own. A start takes a second of the processor, a tenant a tenth of it.
import { spawn } from 'node:child_process';
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
function endWithWorker({ child, folder }: HubProcess): void {
  const script = 'cat > /dev/null; kill -9 "$1"; rm -rf "$2"';
  const guard = spawn('sh', ['-c', script, 'sh', String(child?.pid), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
}

/** A process that ends with this one. */
export async function startHub(): Promise<HubProcess> {
  const hub = new HubProcess(settings);
  await hub.start();
  endWithWorker(hub);
  return hub;
}

/** The worker's process; a new one if the last one crashed. */
async function hubOfWorker(): Promise<HubProcess> {
  const hub = await workerHub?.catch(() => null);
  if (hub && isRunning(hub)) return hub;
  workerHub = startHub();
  return workerHub;
}

/** The shared process as a file sees it: with an admin of a tenant that is new. */
export class SharedHub extends HubProcess {
  readonly #tenant = `t${++tenants}`;
  #process: HubProcess | null = null;

  constructor() {
    super(settings);
  }

  /** Addresses are unique in an installation, and names in a tenant. */
  emailOf(name: string): string {
    return `${name}@${this.#tenant}.example`;
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

  /** Leaves the process to the next file. @throws if it crashed */
  override async remove(): Promise<void> {
    for (const stream of this.#streams) stream?.off('data', this.#take);
    await super.remove();
    if (this.#process && !isRunning(this.#process)) {
      throw new Error(`the shared hub ended:\n${this.#process.output}`);
    }
  }

  get #streams() {
    return [this.#process?.child?.stdout, this.#process?.child?.stderr];
  }

  readonly #take = (chunk: Buffer): void => {
    this.output += chunk.toString();
  };
}
