// How often a random search runs: a tenth of its full count per commit, all of it in `npm run test:nightly`.

/** Set by scripts/test-nightly.mjs. */
export const isNightly = process.env.NIGHTLY === '1';

/**
 * Runs of a search. fast-check prints the seed of a failure.
 * @param perCommit where a tenth is too few to reach what the test is about
 */
export const runsOf = (full: number, perCommit = Math.ceil(full / 10)): number =>
  isNightly ? full : perCommit;
