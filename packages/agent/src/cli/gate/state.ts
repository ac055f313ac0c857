// State of a gate on disk between its short lives, readable by its owner alone: contracts ready to be compiled, the
// time of the last request to the hub, counters, and events that the hub has not got yet.
import { createHash, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import type { RuleDocument } from '../../rules/bundle/rule.ts';
import type { SessionStore } from '../../sessions.ts';

/** Contracts as they were read from YAML. */
export interface KeptContracts {
  readonly policyVersion: string;
  readonly name: string;
  /** Changes when the files they came from do; empty for those of a hub. */
  readonly sources: string;
  readonly documents: readonly RuleDocument[];
}

type Kind =
  | 'contracts'
  | 'document.json'
  | 'checked'
  | 'tried'
  | 'events.jsonl'
  | 'moving.jsonl'
  | 'sending.jsonl'
  | 'left-out'
  | 'lock';

/** A lock that is older was left by a process that died; milliseconds. */
const lockLife = 120_000;
/** A time that is further ahead was written before the clock was set back; milliseconds, for coarse file systems. */
const maxAhead = 5000;
/** Bytes of a file of events, some 30,000 of them. A longer one takes no more. */
export const maxEventBytes = 32 * 1_048_576;

/** Attempts to write one event while its file is removed. */
const maxAttempts = 10;

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
const timeOf = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null;

/** True for a time of the last `life` milliseconds. */
const isRecent = (time: number | null, now: number, life: number): boolean =>
  time !== null && now - time <= life && time - now <= maxAhead;

/** `\n` if the file ends within a line, as a full disk leaves it: a line that joined the torn one would be lost. */
export function lineStart(file: number): '' | '\n' {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  if (size > 0) readSync(file, last, 0, 1, size - 1);
  return size === 0 || last.toString() === '\n' ? '' : '\n';
}

/** False if the delivering process removed the file after it was opened: nobody reads a line written since. */
function append(path: string, text: string): boolean {
  const file = openSync(path, 'a+', 0o600);
  try {
    // Two gates that repair one tear leave an empty line, which readers pass over.
    appendFileSync(file, lineStart(file) + text);
    const { nlink, ino } = fstatSync(file);
    // Some file systems count no links.
    return nlink > 0 || statSync(path, { throwIfNoEntry: false })?.ino === ino;
  } finally {
    closeSync(file);
  }
}

export class GateState {
  readonly folder: string;
  readonly #scope: string;
  /** Content of this process's lock. */
  readonly #lockId = randomUUID();

  /** @param scope names what the files are for, so that gates of other hubs, keys and agents have others */
  constructor(folder: string, scope: string) {
    this.folder = folder;
    this.#scope = scope;
  }

  path(kind: Kind): string {
    return join(this.folder, `${this.#scope}.${kind}`);
  }

  make(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
  }

  /** Null when there are none, or another build of this program wrote them. */
  contracts(): KeptContracts | null {
    try {
      const kept = deserialize(readFileSync(this.path('contracts'))) as KeptContracts & {
        readonly build: string;
      };
      return kept.build === build() ? kept : null;
    } catch {
      return null;
    }
  }

  keepContracts(contracts: KeptContracts): void {
    const temporary = `${this.path('contracts')}.${process.pid}`;
    writeFileSync(temporary, serialize({ ...contracts, build: build() }), { mode: 0o600 });
    renameSync(temporary, this.path('contracts'));
  }

  forgetContracts(): void {
    rmSync(this.path('contracts'), { force: true });
  }

  /** True if the hub answered last (`checked`), or was last asked (`tried`), in the last `life` milliseconds. */
  isRecent(kind: 'checked' | 'tried', now: number, life: number): boolean {
    return isRecent(timeOf(this.path(kind)), now, life);
  }

  touch(kind: 'checked' | 'tried', now: number): void {
    writeFileSync(this.path(kind), '', { mode: 0o600 });
    utimesSync(this.path(kind), now / 1000, now / 1000);
  }

  /**
   * One write, so that lines of gates side by side never mix.
   * @returns 0; for an event that has no room, the number of events left out since one had room
   */
  appendEvent(line: string): number {
    const path = this.path('events.jsonl');
    if (sizeOf(path) < maxEventBytes) {
      for (let attempts = 0; attempts < maxAttempts && !append(path, `${line}\n`); attempts++);
      rmSync(this.path('left-out'), { force: true });
      return 0;
    }
    appendFileSync(this.path('left-out'), '.', { mode: 0o600 });
    return sizeOf(this.path('left-out'));
  }

  /** True if events that are being sent leave room for more. */
  get canSendMore(): boolean {
    return sizeOf(this.path('sending.jsonl')) < maxEventBytes;
  }

  get hasEvents(): boolean {
    return [this.path('events.jsonl'), this.path('moving.jsonl'), this.path('sending.jsonl')].some(
      (path) => sizeOf(path) > 0,
    );
  }

  /** True for one process at a time, which must call `unlock`. */
  lock(now: number): boolean {
    const path = this.path('lock');
    const since = timeOf(path);
    if (since !== null && !isRecent(since, now, lockLife)) rmSync(path, { force: true });
    try {
      writeFileSync(path, this.#lockId, { flag: 'wx', mode: 0o600 });
      return true;
    } catch {
      return false;
    }
  }

  /** Keeps this process's lock alive. False: another process has taken over. */
  renewLock(now: number): boolean {
    if (!this.#hasLock) return false;
    utimesSync(this.path('lock'), now / 1000, now / 1000);
    return true;
  }

  isLocked(now: number): boolean {
    return isRecent(timeOf(this.path('lock')), now, lockLife);
  }

  /** Leaves the lock of another process alone. */
  unlock(): void {
    if (this.#hasLock) rmSync(this.path('lock'), { force: true });
  }

  get #hasLock(): boolean {
    try {
      return readFileSync(this.path('lock'), 'utf8') === this.#lockId;
    } catch {
      return false;
    }
  }
}

/** A text that changes when one of the files does. */
export const sourcesOf = (paths: readonly string[]): string =>
  JSON.stringify(
    paths.map((path) => {
      const stats = statSync(path, { throwIfNoEntry: false });
      return [path, stats?.mtimeMs ?? null, stats?.size ?? null];
    }),
  );

/** This build of the program: what it keeps is read by no other. */
function build(): string {
  const { size, mtimeMs } = statSync(fileURLToPath(import.meta.url));
  return `1 ${size} ${mtimeMs} ${process.version}`;
}

/**
 * Counters of an assistant's session, shared by gates that run side by side: a counter is the size of a file, less that
 * of another, and appending a byte is what the system does in one step.
 */
export class FileCounters implements SessionStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async get(key: string): Promise<string | null> {
    const [up, down] = this.#files(key);
    return timeOf(up) === null && timeOf(down) === null ? null : String(sizeOf(up) - sizeOf(down));
  }

  async set(): Promise<void> {
    throw new Error('a gate keeps counters only');
  }

  async delete(key: string): Promise<void> {
    for (const file of this.#files(key)) rmSync(file, { force: true });
  }

  async increment(key: string, amount = 1): Promise<number> {
    const [up, down] = this.#files(key);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    appendFileSync(amount > 0 ? up : down, '.'.repeat(Math.abs(amount)), { mode: 0o600 });
    return sizeOf(up) - sizeOf(down);
  }

  async batch(keys: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
    return new Map(await Promise.all(keys.map(async (key) => [key, await this.get(key)] as const)));
  }

  #files(key: string): [up: string, down: string] {
    const name = join(this.#folder, createHash('sha256').update(key).digest('hex').slice(0, 24));
    return [`${name}.up`, `${name}.down`];
  }
}
