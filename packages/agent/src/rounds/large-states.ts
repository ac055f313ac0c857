// Servers' own states that are too long to travel inside sealed ones: kept until their round is answered or expires, in
// memory, or as files that outlive the process.
import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { createExclusive } from '../files.ts';
import { RoundStateError } from './round-state.ts';

export interface LargeStates {
  /**
   * Keeps a state. The files are durable when the promise resolves.
   * @param nonce of the round
   * @param expiresAt epoch milliseconds
   * @throws RoundStateError without room
   */
  keep(nonce: string, state: string, expiresAt: number): Promise<void>;
  /** Null: the state was dropped, or has expired. */
  read(nonce: string): Promise<string | null>;
  drop(nonce: string): Promise<void>;
}

/** Bytes of all states together. */
const maxBytes = 64 * 1024 * 1024;

/** Bytes that hold the time of an expiry and the end of its line. */
const maxLine = 32;

const noRoom = (): RoundStateError =>
  new RoundStateError('the request states of the server need too much room: wait for other calls to end');

export class MemoryStates implements LargeStates {
  readonly #clock: Clock;
  readonly #states = new Map<
    string,
    { readonly state: string; readonly size: number; readonly expiresAt: number }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async keep(nonce: string, state: string, expiresAt: number): Promise<void> {
    const now = this.#clock.now();
    const size = Buffer.byteLength(state);
    let bytes = size;
    for (const [key, one] of this.#states) {
      if (one.expiresAt < now) this.#states.delete(key);
      else bytes += one.size;
    }
    if (bytes > maxBytes) throw noRoom();
    this.#states.set(nonce, { state, size, expiresAt });
  }

  async read(nonce: string): Promise<string | null> {
    return this.#states.get(nonce)?.state ?? null;
  }

  async drop(nonce: string): Promise<void> {
    this.#states.delete(nonce);
  }
}

/** A file for each state: the time of its expiry on a line, then the state. */
export class FileStates implements LargeStates {
  readonly #folder: string;
  readonly #clock: Clock;

  /** @param folder made with the first state, for its owner alone */
  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  async keep(nonce: string, state: string, expiresAt: number): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    if ((await this.#sweep()) + Buffer.byteLength(state) > maxBytes) throw noRoom();
    await createExclusive(this.#path(nonce), `${expiresAt}\n${state}`);
  }

  async read(nonce: string): Promise<string | null> {
    const text = await readFile(this.#path(nonce), 'utf8').catch(() => null);
    return text === null ? null : text.slice(text.indexOf('\n') + 1);
  }

  async drop(nonce: string): Promise<void> {
    await rm(this.#path(nonce), { force: true });
  }

  /** Removes expired states, of which it reads the first line alone. @returns the bytes of the others */
  async #sweep(): Promise<number> {
    let bytes = 0;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const file = await open(path).catch(() => null);
      if (!file) continue;
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(maxLine), 0, maxLine, 0);
        const [expiresAt = ''] = buffer.toString('latin1', 0, bytesRead).split('\n', 1);
        if (Number(expiresAt) < this.#clock.now()) await rm(path, { force: true });
        else bytes += (await file.stat()).size;
      } finally {
        await file.close();
      }
    }
    return bytes;
  }

  #path(nonce: string): string {
    return join(this.#folder, nonce);
  }
}
