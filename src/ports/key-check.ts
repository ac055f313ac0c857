// Store port of the check on the master secret: one value that the first node leaves and every later one reads.

export interface KeyCheckStore {
  /** Keeps `value` under the name unless there is one; answers the one that is kept. Of any number of parallel calls all answer the same. */
  first(name: string, value: string): Promise<string>;
}
