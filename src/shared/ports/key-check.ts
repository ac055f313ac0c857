// Store port of what the first node leaves for every later one: the check on the master secret, the token of the first
// set-up.

/** Values that the first node keeps, by name. */
export interface KeyCheckStore {
  /**
   * Keeps `value` under the name unless there is one; answers the one that is kept. Of any number of parallel calls all
   * answer the same.
   */
  first(name: string, value: string): Promise<string>;
}
