// How much room the store's disk has and whether commits succeed. The system is asked once a second, not per request:
// between two looks the bytes that were let through are counted.
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Storage, StorageState } from '../../src/domain/storage.ts';
import type { Clock, Timer } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/log.ts';
import { diskFull } from './failure.ts';
import type { Trouble } from './trouble.ts';

const lookEveryMs = 1000;
const mebibyte = 1 << 20;
/** With less than this on the disk no commit is sure to succeed. */
const floorBytes = mebibyte;
/** The reserve unless it is set: this part of the disk, within these bounds. */
const usualReserve = { part: 0.05, min: 4 * mebibyte, max: 512 * mebibyte };
/** An event's bytes go into the write-ahead log and then into the file. */
const bytesPerByte = 2;
/** When the counted bytes run out the system is asked again at once, but not more often than this. */
const lookAgainMs = 100;

/** What the disk's keeper asks of the store. */
export interface DiskWork {
  /** Bytes of pages within the file that hold nothing. */
  spareBytes(): Promise<number>;
  /** Moves the write-ahead log into the file and gives its room back. */
  emptyLog(): Promise<unknown>;
  /** A small commit. */
  probe(): Promise<unknown>;
  /** From now on session values may grow, or not. */
  mayGrow(may: boolean): void;
}

export interface DiskOptions {
  /** The store's file. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log | null;
  /** Null for the usual part of the disk; 0 for none. */
  readonly reserveBytes: number | null;
  readonly work: DiskWork;
}

interface Room {
  readonly free: number;
  readonly reserve: number;
  /** What ingest may still take. */
  readonly left: number;
}

type Level = 'ok' | 'low' | 'reserved' | 'full';

export class Disk {
  readonly #options: DiskOptions;
  #room: Room | null = null;
  #left = Number.POSITIVE_INFINITY;
  #level: Level = 'ok';
  /** What the last commit failed for. */
  #fault: 'full' | 'failing' | null = null;
  #damaged = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #told: StorageState = 'ok';
  #timer: Timer | null = null;
  #looking: Promise<void> | null = null;

  constructor(options: DiskOptions) {
    this.#options = options;
  }

  /** Looks once, then every second until closed. */
  async watch(): Promise<void> {
    await this.#look();
    this.#timer = this.#options.clock.every(lookEveryMs, () => void this.#look());
  }

  close(): void {
    this.#timer?.cancel();
  }

  get storage(): Storage {
    const { free = null, reserve = null } = this.#room ?? {};
    return { state: this.#state(), freeBytes: free, reserveBytes: reserve };
  }

  /** @throws HubError('disk_full') while nothing may grow */
  check(): void {
    if (!this.#grows()) throw diskFull();
  }

  /** Counts bytes that only grow the store. @throws HubError('disk_full') when they would use up the reserve */
  async take(bytes: number): Promise<void> {
    const needed = bytes * bytesPerByte;
    if (needed > this.#left && this.#options.clock.monotonic() - this.#lookedAt >= lookAgainMs)
      await this.#look();
    if (!this.#grows() || needed > this.#left) throw diskFull();
    this.#left -= needed;
  }

  /** A call failed because of the file or its disk. */
  failed(trouble: Trouble, cause: string): void {
    if (trouble === 'damaged' || trouble === 'foreign') this.#damaged = true;
    else this.#fault = trouble === 'full' ? 'full' : 'failing';
    this.#tell(cause);
  }

  #state(): StorageState {
    if (this.#damaged) return 'damaged';
    return this.#fault ?? this.#level;
  }

  /** True while there is room for what can wait. */
  #grows(): boolean {
    const state = this.#state();
    return this.#room?.reserve === 0 || (state !== 'reserved' && state !== 'full');
  }

  /** One look at a time: who asks meanwhile waits for that one. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { work, log, clock } = this.#options;
    try {
      let room = await this.#measure();
      if (await this.#makeRoom(room)) room = await this.#measure();
      this.#room = room;
      this.#left = room.reserve === 0 ? Number.POSITIVE_INFINITY : room.left;
      this.#level = this.#levelOf(room);
      this.#lookedAt = clock.monotonic();
    } catch (err) {
      log?.warn({ err }, 'the room on the disk of the store could not be read');
    }
    // What failed has passed once a commit succeeds; a probe that fails was told by the channel.
    if (this.#fault) {
      await work.probe().then(
        () => {
          this.#fault = null;
        },
        () => {},
      );
    }
    this.#tell(null);
  }

  async #measure(): Promise<Room & { readonly logBytes: number }> {
    const { path, reserveBytes, work } = this.#options;
    const [space, logBytes] = await Promise.all([
      statfs(dirname(path)),
      stat(`${path}-wal`).then(
        ({ size }) => size,
        () => 0,
      ),
    ]);
    const free = space.bavail * space.bsize;
    const part = Math.round(space.blocks * space.bsize * usualReserve.part);
    const reserve = reserveBytes ?? Math.min(Math.max(part, usualReserve.min), usualReserve.max);
    // Only near the reserve does it matter how much of the file is empty.
    const spare = free < 4 * reserve ? await work.spareBytes().catch(() => 0) : 0;
    // Moving the log into the file takes as much again, but for the empty pages that it fills.
    const afterMoving = free - logBytes + spare;
    return { free, reserve, left: Math.min(afterMoving - reserve, free - reserve / 2), logBytes };
  }

  /** Empties the log when it is a large part of what is left. @returns whether it tried */
  async #makeRoom({ free, reserve, logBytes }: Room & { readonly logBytes: number }): Promise<boolean> {
    if (logBytes <= mebibyte || free - reserve >= 2 * logBytes) return false;
    await this.#options.work.emptyLog().catch(() => {});
    return true;
  }

  #levelOf({ free, reserve, left }: Room): Level {
    if (free < floorBytes) return 'full';
    // Once refused, events are taken again when there is somewhat more room than none.
    const enough = this.#level === 'reserved' || this.#level === 'full' ? reserve / 8 : 0;
    if (reserve > 0 && left <= enough) return 'reserved';
    return reserve > 0 && left < reserve ? 'low' : 'ok';
  }

  /** Says to the log what has changed, and to the writer whether session values may grow. */
  #tell(cause: string | null): void {
    const { log, work } = this.#options;
    const { state, freeBytes, reserveBytes } = this.storage;
    if (state === this.#told) return;
    this.#told = state;
    work.mayGrow(this.#grows());
    const fields = { state, freeBytes, reserveBytes, ...(cause === null ? {} : { cause }) };
    const [level, words] = said[state];
    log?.[level](fields, words);
  }
}

const said = {
  ok: ['info', 'the disk of the store has room and commits succeed'],
  low: ['warn', 'the disk of the store is nearly full: events will be refused when only the reserve is left'],
  reserved: [
    'warn',
    'only the reserve is left on the disk of the store: events and growing session values are refused',
  ],
  full: ['error', 'the disk of the store is full: free some space there; the hub goes on by itself'],
  failing: ['error', 'commits to the store fail; they are tried again every second'],
  damaged: ['error', 'the database of the hub is damaged: stop the hub, keep a copy, restore a back-up'],
} as const satisfies { readonly [S in StorageState]: readonly ['info' | 'warn' | 'error', string] };
