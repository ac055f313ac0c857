// Tasks as files that several processes share and that outlive them. Each task has one holder, the process that goes on
// with it. A holder that died, or was silent for half a minute, is replaced. Files that are made exclusively decide.
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { createExclusive, exists } from '../../../files.ts';
import { digestOf } from '../../../rounds/round-state.ts';
import { isTaskId, type TaskRecord } from './record.ts';

/** Milliseconds without a sign of life after which a holder on another machine counts as dead. */
const silence = 30_000;
/** Ended tasks that are kept. */
const maxEnded = 2000;
/** Milliseconds after which a file that belongs to no task was left by a process that was killed. */
const leftoverAge = 24 * 3_600_000;

export class TaskFiles {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #instance = randomBytes(8).toString('hex');
  #isHolder = false;

  /** @param folder of one server; made with the first task, for its owner alone */
  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** When the promise resolves, the task is durable, and this process its holder. */
  async create(record: TaskRecord): Promise<void> {
    await this.#hold();
    await createExclusive(this.#path('open', `${record.taskId}.1.lock`), this.#instance);
    await this.#write('open', record);
  }

  async read(taskId: string): Promise<TaskRecord | null> {
    // A kill may leave both. An end moves the file in between.
    return (
      (await this.#read('ended', taskId)) ??
      (await this.#read('open', taskId)) ??
      (await this.#read('ended', taskId))
    );
  }

  /** Replaces an open task. Durable when the promise resolves. */
  async update(record: TaskRecord): Promise<void> {
    await this.#write('open', record);
  }

  /** Keeps the end of a task. Durable when the promise resolves. */
  async end(record: TaskRecord): Promise<void> {
    await this.#write('ended', record);
    await this.#remove('open', record.taskId);
  }

  /**
   * Right before the server gets a round of the call. False: it was sent before. Durable when the promise resolves.
   * @param rounds that have run
   */
  markSent(taskId: string, rounds: number): Promise<boolean> {
    return createExclusive(this.#path('open', sentName(taskId, rounds)), '');
  }

  isSent(taskId: string, rounds: number): Promise<boolean> {
    return exists(this.#path('open', sentName(taskId, rounds)));
  }

  /** For the holder, which may be another process. */
  async markCancelled(taskId: string): Promise<void> {
    await createExclusive(this.#path('open', `${taskId}.cancelled`), '');
  }

  isCancelled(taskId: string): Promise<boolean> {
    return exists(this.#path('open', `${taskId}.cancelled`));
  }

  /**
   * Open tasks without a holder, of which this process is the holder from now on.
   * @param isOwn true for a task that this process can go on with
   */
  async adopt(isOwn: (record: TaskRecord) => boolean): Promise<readonly TaskRecord[]> {
    const generations = new Map<string, number>();
    for (const name of await this.#list('open')) {
      const [, taskId = '', generation] = /^([0-9a-f]{32})\.(\d{1,9})\.lock$/.exec(name) ?? [];
      if (!isTaskId(taskId)) continue;
      generations.set(taskId, Math.max(generations.get(taskId) ?? 0, Number(generation)));
    }
    const adopted: TaskRecord[] = [];
    for (const [taskId, generation] of generations) {
      const lock = (next: number): string => this.#path('open', `${taskId}.${next}.lock`);
      if (await this.#isAlive(await readFile(lock(generation), 'utf8').catch(() => ''))) continue;
      const record = await this.#read('open', taskId);
      if (!record || !isOwn(record) || (await exists(this.#path('ended', `${taskId}.json`)))) continue;
      await this.#hold();
      if (await createExclusive(lock(generation + 1), this.#instance)) adopted.push(record);
    }
    return adopted;
  }

  /** A sign of life. */
  async signOfLife(): Promise<void> {
    if (!this.#isHolder) return;
    const at = new Date(this.#clock.now());
    await utimes(this.#path('holders', this.#instance), at, at).catch(() => {});
  }

  /** Removes what has expired, and the oldest of too many. */
  async sweep(): Promise<void> {
    const now = this.#clock.now();
    const ended: { readonly name: string; readonly at: number }[] = [];
    for (const folder of ['open', 'ended']) {
      for (const name of await this.#list(folder)) {
        const record = name.endsWith('.json') ? await this.#read(folder, name.slice(0, -5)) : null;
        if (!record) continue;
        if (record.expiresAt < now) await this.#remove(folder, record.taskId);
        else if (folder === 'ended') ended.push({ name: record.taskId, at: record.updatedAt });
      }
    }
    ended.sort((a, b) => b.at - a.at);
    for (const { name } of ended.slice(maxEnded)) await this.#remove('ended', name);
    for (const folder of ['open', 'ended', 'holders']) await this.#sweepLeftovers(folder, now);
  }

  /** Removes what killed processes left: drafts, marks of tasks that ended, and signs of life. */
  async #sweepLeftovers(folder: string, now: number): Promise<void> {
    const names = await this.#list(folder);
    const tasks = new Set(names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5)));
    for (const name of names) {
      const isInUse = name.includes('.json.')
        ? false
        : tasks.has(name.slice(0, 32)) || name === this.#instance;
      const written = isInUse ? null : await stat(this.#path(folder, name)).catch(() => null);
      if (written && now - written.mtimeMs > leftoverAge) await rm(this.#path(folder, name), { force: true });
    }
  }

  /** Gives the tasks that are held to the next process. */
  async close(): Promise<void> {
    if (this.#isHolder) await rm(this.#path('holders', this.#instance), { force: true });
  }

  async #hold(): Promise<void> {
    if (this.#isHolder) return;
    for (const folder of ['open', 'ended', 'holders'])
      await mkdir(join(this.#folder, folder), { recursive: true, mode: 0o700 });
    const holder = JSON.stringify({ pid: process.pid, host: hostname() });
    await writeFile(this.#path('holders', this.#instance), holder, { mode: 0o600 });
    this.#isHolder = true;
  }

  async #isAlive(instance: string): Promise<boolean> {
    if (instance === this.#instance) return true;
    if (!/^[0-9a-f]{16}$/.test(instance)) return false;
    const path = this.#path('holders', instance);
    const text = await readFile(path, 'utf8').catch(() => null);
    const sign = await stat(path).catch(() => null);
    if (text === null || !sign || this.#clock.now() - sign.mtimeMs > silence) return false;
    const { pid, host } = parsed(text) as { readonly pid?: unknown; readonly host?: unknown };
    if (host !== hostname() || typeof pid !== 'number') return true;
    // Processes of containers often have the same id.
    return pid !== process.pid && isRunning(pid);
  }

  #path(folder: string, name: string): string {
    return join(this.#folder, folder, name);
  }

  async #list(folder: string): Promise<readonly string[]> {
    return readdir(join(this.#folder, folder)).catch(() => []);
  }

  async #remove(folder: string, taskId: string): Promise<void> {
    // First the task itself: without it, marks that a kill leaves start nothing.
    await rm(this.#path(folder, `${taskId}.json`), { force: true });
    if (folder === 'ended') return;
    for (const name of await this.#list(folder))
      if (name.startsWith(taskId)) await rm(this.#path(folder, name), { force: true });
  }

  async #read(folder: string, taskId: string): Promise<TaskRecord | null> {
    const text = await readFile(this.#path(folder, `${taskId}.json`), 'utf8').catch(() => null);
    if (text === null) return null;
    const record = parsed(text) as TaskRecord;
    // A file that somebody changed runs nothing.
    const isWhole = record.taskId === taskId && digestOf(record.tool, record.args) === record.digest;
    return isWhole ? record : null;
  }

  async #write(folder: string, record: TaskRecord): Promise<void> {
    const path = this.#path(folder, `${record.taskId}.json`);
    const draft = `${path}.${this.#instance}`;
    const file = await open(draft, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(record));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  }
}

const sentName = (taskId: string, rounds: number): string =>
  rounds === 1 ? `${taskId}.sent` : `${taskId}.${rounds}.sent`;

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (failure) {
    return (failure as NodeJS.ErrnoException).code === 'EPERM';
  }
}
