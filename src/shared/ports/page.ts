// Pages of lists: what every store method takes and gives that may find more than one answer holds.

/** Part of a list. */
export interface PageRequest {
  /** Items, at most. */
  readonly limit: number;
  /** Items left out before the first. */
  readonly offset: number;
}

/**
 * Items in the order of the list. A page ends at its limit, or earlier, once its items hold `maxPageBytes`; a store
 * reads little more than it gives. One that is not empty gets further, however large its items are.
 */
export interface Page<T> {
  readonly items: readonly T[];
  /** True when the list goes on after these items. */
  readonly more: boolean;
}

/**
 * Bytes of the records on a page, as the store keeps them. Less than the 4 MiB of an answer, which adds names of
 * fields.
 */
export const maxPageBytes = 3.5 * 1024 * 1024;
