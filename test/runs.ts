// Tests per commit, and those of `npm run test:nightly` alone: random searches run a tenth of their full count per
// commit, tables some of their rows, and a test that repeats another one's promise under other circumstances waits for
// the night.
import { execFileSync } from 'node:child_process';
import { it } from 'vitest';
import { random } from './random.ts';

/** Set by scripts/test-nightly.mjs. */
export const isNightly = process.env.NIGHTLY === '1';

/**
 * Runs of a search. fast-check prints the seed of a failure.
 * @param perCommit where a tenth is too few to reach what the test is about
 */
export const runsOf = (full: number, perCommit = Math.ceil(full / 10)): number =>
  isNightly ? full : perCommit;

/**
 * Rows of a table that goes over everything, such as all pages: at night all of them, per commit some, spread evenly.
 * @param perCommit how many
 */
export const rowsOfRun = <T>(rows: readonly T[], perCommit: number): readonly T[] =>
  isNightly || rows.length <= perCommit
    ? rows
    : Array.from({ length: perCommit }, (_, i) => rows[Math.floor((i * rows.length) / perCommit)] as T);

let commit: string | undefined;

/** The id of the commit, so that a second run chooses the same; '1' without git. */
function commitId(): string {
  commit ??= readCommitId();
  return commit;
}

function readCommitId(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  } catch {
    return '1';
  }
}

/** @returns the rows in this commit's order, with its seed */
function shuffleOfCommit<T>(rows: readonly T[]): { readonly rows: readonly T[]; readonly seed: string } {
  const seed = process.env.SEED ?? commitId();
  return { rows: random(seed).shuffle(rows), seed };
}

/**
 * Rows of a table, of which each commit takes others, so that all are met over time; at night all. In their order.
 * @param perCommit how many
 * @returns also the seed, to be printed: SEED repeats the choice
 */
export function rowsOfCommit<T>(
  rows: readonly T[],
  perCommit: number,
): { readonly rows: readonly T[]; readonly seed: string } {
  const { rows: order, seed } = shuffleOfCommit(rows);
  const chosen = new Set(order.slice(0, isNightly ? rows.length : perCommit));
  return { rows: rows.filter((row) => chosen.has(row)), seed };
}

/**
 * A table dealt out among cases: each commit deals otherwise, and each row is in one share; at night all are in each.
 * @param shares how many
 * @param n which share, from 0; the one after the last is the first again
 * @returns also the seed, as `rowsOfCommit`
 */
export function shareOfCommit<T>(
  rows: readonly T[],
  shares: number,
  n: number,
): { readonly rows: readonly T[]; readonly seed: string } {
  const { rows: order, seed } = shuffleOfCommit(rows);
  return { rows: isNightly ? rows : order.filter((_, i) => i % shares === n % shares), seed };
}

/** Stores that need milliseconds for what others do in microseconds, by the names of their suites. */
const slowStores: ReadonlySet<string> = new Set(['mongo']);

/** A size or count of a test of every store: per commit, a slow store gets a smaller one. */
export const sizeFor = (store: string, full: number, small: number): number =>
  slowStores.has(store) ? runsOf(full, small) : full;

/** Rows of a table of every store: per commit, a slow store gets some of them, spread evenly. */
export const rowsFor = <T>(store: string, rows: readonly T[], perCommit: number): readonly T[] =>
  slowStores.has(store) ? rowsOfRun(rows, perCommit) : rows;

/**
 * A test of the nightly run alone. Each promise of docs/promises.md keeps tests per commit: those at night vary the
 * circumstances, such as the disk, the transport or the terminal.
 */
export const itAtNight = it.runIf(isNightly);
