// How often a random search runs: a tenth of its full count per commit, all of it in `npm run test:nightly`.

/** Set by scripts/test-nightly.mjs. */
const isNightly = process.env.NIGHTLY === '1';

/** Runs of a search with a full count of 1,000 or more. fast-check prints the seed of a failure. */
export const runsOf = (full: number): number => (isNightly ? full : Math.ceil(full / 10));
