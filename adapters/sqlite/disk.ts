// The free room on the store's disk, and the success of commits. The keeper asks the system once a second, not per
// request: between two looks it counts the bytes that were let through. Keeps promise P22.
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, pause, type Timer } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Storage, StorageState } from '../../src/shared/storage.ts';
import { diskFull } from './failure.ts';
import { type PurgeReserve, purgeReserveBytes, purgeReserveOf } from './purge-reserve.ts';
import type { Trouble } from './trouble.ts';

const lookEveryMs = 1000;
const mebibyte = 1 << 20;
/** With less than this on the disk no commit is sure to succeed. */
const floorBytes = mebibyte;
/**
 * The reserve unless it is set: this part of the disk, within these bounds, and of a small disk a quarter at most.
 */
const usualReserve = { part: 0.05, min: 16 * mebibyte, max: 512 * mebibyte, maxPart: 0.25 };
/** An event's bytes go into the write-ahead log and then into the file. */
const bytesPerByte = 2;
/**
 * When the counted bytes run out the system is asked again, but not more often than this: events wait for the answer.
 */
const lookAgainMs = 100;
/** Pages in the write-ahead log before they are copied into the file: on a small disk fewer, 4 KiB each. */
const [leastLogPages, pageBytes] = [1000, 4096];
export const mostLogPages = 8000;

/** Calls to the store that the disk's keeper makes. */
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
  /** Called with the time that the disk took to answer, in milliseconds. */
  readonly measured?: (ms: number) => void;
}

interface Room {
  readonly free: number;
  /** Size of the disk. */
  readonly total: number;
  readonly reserve: number;
  /** Bytes that ingest may still take. */
  readonly left: number;
}

/** Bytes of a disk of this size that events leave free, unless the reserve is set. */
export function reserveOf(diskBytes: number): number {
  const { part, min, max, maxPart } = usualReserve;
  return Math.round(Math.min(Math.max(diskBytes * part, min), max, diskBytes * maxPart));
}

/**
 * Pages of the write-ahead log before they are copied into the file: the copy fits into the space for a purge.
 * @param reserveBytes as in `DiskOptions`
 */
export async function logPagesOn(folder: string, reserveBytes: number | null): Promise<number> {
  const { blocks, bsize } = await statfs(folder);
  const reserve = reserveBytes ?? reserveOf(blocks * bsize);
  if (reserve === 0) return mostLogPages;
  const pages = purgeReserveBytes(reserve) / 2 / pageBytes;
  return Math.min(Math.max(Math.round(pages), leastLogPages), mostLogPages);
}

type Level = 'ok' | 'low' | 'reserved' | 'full';

export class Disk {
  readonly #options: DiskOptions;
  readonly #purgeReserve: PurgeReserve;
  #room: Room | null = null;
  #left = Number.POSITIVE_INFINITY;
  #level: Level = 'ok';
  /** Reason for the failure of the last commit. */
  #fault: 'full' | 'failing' | null = null;
  #damaged = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #lastState: StorageState = 'ok';
  #timer: Timer | null = null;
  #looking: Promise<void> | null = null;
  #lookingAgain: Promise<void> | null = null;

  constructor(options: DiskOptions) {
    this.#options = options;
    this.#purgeReserve = purgeReserveOf(options.path);
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
    const { free = null, total = null, reserve = null } = this.#room ?? {};
    return { state: this.#state(), freeBytes: free, totalBytes: total, reserveBytes: reserve };
  }

  /** @throws HubError('disk_full') while nothing may grow */
  check(): void {
    if (!this.#grows()) throw diskFull();
  }

  /** Counts bytes that only grow the store. @throws HubError('disk_full') when they would use up the reserve */
  async take(bytes: number): Promise<void> {
    const needed = bytes * bytesPerByte;
    if (needed > this.#left && this.#grows()) await this.#lookAgain();
    if (!this.#grows() || needed > this.#left) throw diskFull();
    this.#left -= needed;
  }

  /**
   * Gives back the space that is kept for a purge, or a small part of it for a sign-in, after the write had none.
   * @returns whether there was any: the write may be repeated
   */
  async release(use: 'purge' | 'sign-in'): Promise<boolean> {
    const keptBytes = purgeReserveBytes(this.#room?.reserve ?? 0) / 2;
    const isReleased =
      use === 'purge'
        ? await this.#purgeReserve.release()
        : await this.#purgeReserve.releaseSignIn(keptBytes);
    // The log copied into the file makes room in the log, even where the look in progress measured before.
    if (isReleased) await this.#options.work.emptyLog().catch(() => {});
    return isReleased;
  }

  /** After a purge the freed pages count at once; on a full disk the log needs room to use them. */
  async purged(): Promise<void> {
    await this.#look();
    if (this.#state() !== 'full') return;
    await this.release('purge');
    await this.#look();
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

  /** A look as soon as one may follow the last; further callers wait for the same one. */
  #lookAgain(): Promise<void> {
    const { clock } = this.#options;
    const wait = this.#lookedAt + lookAgainMs - clock.monotonic();
    this.#lookingAgain ??= (wait > 0 ? pause(clock, wait) : Promise.resolve())
      .then(() => this.#look())
      .finally(() => {
        this.#lookingAgain = null;
      });
    return this.#lookingAgain;
  }

  /** One look at a time: further callers wait for that one. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { work, log, clock } = this.#options;
    try {
      const begun = clock.monotonic();
      let room = await this.#measure();
      this.#options.measured?.(clock.monotonic() - begun);
      if ((await this.#makeRoom(room)) || (await this.#keepPurgeReserve(room))) room = await this.#measure();
      this.#room = room;
      this.#left = room.reserve === 0 ? Number.POSITIVE_INFINITY : room.left;
      this.#level = this.#levelOf(room);
      this.#lookedAt = clock.monotonic();
    } catch (err) {
      log?.warn({ err }, 'cannot read the free space on the disk of the store');
    }
    // A fault has passed once a commit succeeds; the channel reports a probe that fails.
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
    const total = space.blocks * space.bsize;
    const reserve = reserveBytes ?? reserveOf(total);
    // Only near the reserve does it matter how much of the file is empty.
    const spare = free < 4 * reserve ? await work.spareBytes().catch(() => 0) : 0;
    // Moving the log into the file takes as much again, but for the empty pages that it fills.
    const afterMoving = free - logBytes + spare;
    return {
      free,
      total,
      reserve,
      left: Math.min(afterMoving - reserve, free - purgeReserveBytes(reserve) / 4),
      logBytes,
    };
  }

  /** Keeps space for a purge once the disk fills up. A disk that has too little for it goes on without. */
  async #keepPurgeReserve({ free, reserve }: Room): Promise<boolean> {
    if (reserve === 0 || free >= 8 * reserve) return false;
    const bytes = purgeReserveBytes(reserve);
    const missing = bytes - (await this.#purgeReserve.bytes());
    if (missing <= 0 || free - missing < reserve / 2) return false;
    await this.#purgeReserve.grow(bytes).catch(() => {});
    return true;
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
    const isRefusing = this.#level === 'reserved' || this.#level === 'full';
    const enough = isRefusing ? purgeReserveBytes(reserve) / 8 : 0;
    if (reserve > 0 && left <= enough) return 'reserved';
    return reserve > 0 && left < reserve ? 'low' : 'ok';
  }

  /** Says to the log what has changed, and to the writer whether session values may grow. */
  #tell(cause: string | null): void {
    const { log, work } = this.#options;
    const { state, freeBytes, reserveBytes } = this.storage;
    if (state === this.#lastState) return;
    this.#lastState = state;
    work.mayGrow(this.#grows());
    const fields = { state, freeBytes, reserveBytes, ...(cause === null ? {} : { cause }) };
    const [level, words] = messages[state];
    log?.[level](fields, words);
  }
}

const messages = {
  ok: ['info', 'the disk of the store has space again; commits succeed'],
  low: [
    'warn',
    'the disk of the store is nearly full: the hub refuses events when only its reserve is left; free space or purge old events',
  ],
  reserved: [
    'warn',
    'the disk of the store has only its reserve left: the hub refuses events and growing session values; free space or purge old events',
  ],
  full: [
    'error',
    'the disk of the store is full: writes fail; free space or purge old events, and the hub continues by itself',
  ],
  failing: ['error', 'commits to the store fail; the hub retries every second'],
  damaged: ['error', "the hub's database is damaged: stop the hub, keep a copy, restore a back-up"],
} as const satisfies { readonly [S in StorageState]: readonly ['info' | 'warn' | 'error', string] };
