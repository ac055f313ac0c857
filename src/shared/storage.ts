// Room that the store has for writes, and its meaning.

/**
 * How writes fare, from best to worst. `low`: less than twice the reserve is left; everything works. `reserved`: only
 * the reserve is left; events and session values that grow are refused, everything else works. `full`: the disk has no
 * room, or the last commit failed for want of it. `failing`: the last commit failed for another reason. `damaged`: the
 * database was found damaged; stays so until the next start.
 */
export const storageStates = ['ok', 'low', 'reserved', 'full', 'failing', 'damaged'] as const;

export type StorageState = (typeof storageStates)[number];

export interface Storage {
  readonly state: StorageState;
  /** Free bytes on the store's disk; null if unknown, as in a cluster, where the database servers own the disks. */
  readonly freeBytes: number | null;
  /** Size of that disk; null if `freeBytes` is null. */
  readonly totalBytes: number | null;
  /** Bytes that ingest keeps free; null if `freeBytes` is null. */
  readonly reserveBytes: number | null;
}

/** Something is refused for want of room, or fails. */
export const refuses = (state: StorageState): boolean => !['ok', 'low'].includes(state);

/** Commits fail, or are about to. */
export const fails = (state: StorageState): boolean => !['ok', 'low', 'reserved'].includes(state);
