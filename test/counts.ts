// How many random runs a test does: all of them in the nightly suite (NIGHTLY=1), a tenth per commit. A run that fails
// prints its seed.

export const isNightly = process.env.NIGHTLY === '1';

/** @param perCommit where a tenth is too few to reach what the test is about, or still too many */
export const runs = (nightly: number, perCommit = Math.ceil(nightly / 10)): number =>
  isNightly ? nightly : perCommit;
