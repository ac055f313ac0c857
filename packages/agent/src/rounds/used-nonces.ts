// Nonces of rounds that have been answered: in memory, or as files that several processes share and that outlive them.
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { createExclusive, exists } from '../files.ts';

export interface UsedNonces {
  /** True if the nonce was taken, and has not expired long ago. */
  has(nonce: string): Promise<boolean>;
  /**
   * Takes a nonce, until it expires. When the promise resolves, the answer holds also after a crash, if the store does.
   * @param expiresAt epoch milliseconds
   * @returns false if somebody has taken it before
   */
  use(nonce: string, expiresAt: number): Promise<boolean>;
}

/** Nonces between two removals of expired ones. */
const sweepEvery = 1000;

export class MemoryNonces implements UsedNonces {
  readonly #clock: Clock;
  readonly #expiries = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async has(nonce: string): Promise<boolean> {
    return this.#expiries.has(nonce);
  }

  async use(nonce: string, expiresAt: number): Promise<boolean> {
    if (this.#expiries.has(nonce)) return false;
    if (this.#expiries.size % sweepEvery === sweepEvery - 1) this.#sweep();
    this.#expiries.set(nonce, expiresAt);
    return true;
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const [nonce, expiresAt] of this.#expiries) if (expiresAt < now) this.#expiries.delete(nonce);
  }
}

/** A file for each nonce, with the time of its expiry as its content. */
export class FileNonces implements UsedNonces {
  readonly #folder: string;
  readonly #clock: Clock;
  #uses = 0;

  /** @param folder made with the first nonce, for its owner alone */
  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  async has(nonce: string): Promise<boolean> {
    return exists(this.#path(nonce));
  }

  async use(nonce: string, expiresAt: number): Promise<boolean> {
    if (this.#uses++ % sweepEvery === 0) await this.#sweep();
    return createExclusive(this.#path(nonce), String(expiresAt));
  }

  #path(nonce: string): string {
    return join(this.#folder, nonce);
  }

  async #sweep(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const now = this.#clock.now();
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      // An empty file was made this moment, or by a process that died: it blocks one nonce and goes with the folder.
      const expiresAt = Number(await readFile(path, 'utf8').catch(() => ''));
      if (expiresAt > 0 && expiresAt < now) await rm(path, { force: true });
    }
  }
}
