// A client of the suite in a process of its own: takes orders over IPC and answers each by its number.
import { type ChildProcess, fork } from 'node:child_process';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isOlderThanSources } from './build.ts';
import { CannotRun } from './failure.ts';
import { onInterrupt } from './interrupt.ts';
import { root } from './root.ts';

/** Node's arguments for a module that runs from source. */
const sourceArguments = ['--conditions=reeve-source', '--import', 'tsx'];

let hasFreshBuild: boolean | null = null;

/** The compiled module, which starts faster than its source, if the build is newer than all sources. */
export function programOf(moduleUrl: string): { readonly file: string; readonly execArgv: string[] } {
  const file = fileURLToPath(moduleUrl);
  if (!file.endsWith('.ts')) return { file, execArgv: [] };
  hasFreshBuild ??= !isOlderThanSources('dist/bench/main.js', [
    'bench',
    'src',
    'adapters',
    'packages/agent/src',
  ]);
  const compiled = join(root, 'dist', relative(root, file)).replace(/\.ts$/, '.js');
  return hasFreshBuild ? { file: compiled, execArgv: [] } : { file, execArgv: sourceArguments };
}

interface Question {
  readonly id: number;
  readonly order: unknown;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The base of clients: each has its own module, which calls `serveOrders`. */
export abstract class ClientProcess<Order> {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #name: string;
  #nextId = 1;

  /** @param moduleUrl of the client's module @param name for messages, such as "loader" */
  constructor(moduleUrl: string, name: string) {
    this.#name = name;
    const { file, execArgv } = programOf(moduleUrl);
    this.#child = fork(file, { cwd: root, execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#child.on('message', ({ id, result, error }: Answer) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) pending?.resolve(result);
      else pending?.reject(new CannotRun(error));
    });
    const withdraw = onInterrupt(() => void this.#child.kill('SIGKILL'));
    this.#child.once('exit', (code, signal) => {
      withdraw();
      const error = new CannotRun(`A ${name} ended with ${signal ?? `code ${code}`} during the run.`);
      for (const { reject } of this.#pending.values()) reject(error);
      this.#pending.clear();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** @throws CannotRun if the order fails, or the process ends before its answer */
  protected request<Result>(order: Order): Promise<Result> {
    return new Promise<unknown>((resolve, reject) => {
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      this.#child.send({ id, order } satisfies Question, (error) => {
        if (!error) return;
        this.#pending.delete(id);
        reject(new CannotRun(`A ${this.#name} cannot be reached: ${error.message}`));
      });
    }) as Promise<Result>;
  }

  /** Ends the process; a repeat does nothing. */
  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}

/** Lets a client whose order does not wait notice that the suite has ended. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** In a process that `ClientProcess` started from the module `moduleUrl`: answers its orders. Elsewhere: nothing. */
export function serveOrders<Order>(moduleUrl: string, run: (order: Order) => Promise<unknown>): void {
  if (process.argv[1] !== fileURLToPath(moduleUrl) || !process.send) return;
  process.on('message', ({ id, order }: { readonly id: number; readonly order: Order }) => {
    run(order).then(
      (result) => process.send?.({ id, result } satisfies Answer),
      (error: unknown) =>
        process.send?.({
          id,
          error: error instanceof Error ? error.message : String(error),
        } satisfies Answer),
    );
  });
  // Ends with the suite, also in the middle of an order. A Ctrl-C reaches the whole group; the suite decides.
  process.once('disconnect', () => process.exit(0));
  process.on('SIGINT', () => undefined);
}
