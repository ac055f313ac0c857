// Distance between two words, for "did you mean".

/**
 * Letters to insert, remove, replace or swap with a neighbour to make one word of the other (optimal string alignment).
 * More than `max` is answered as `max + 1`. Time: the product of both lengths, so words are expected to be short.
 */
export function wordDistance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      }
      row.push(least);
    }
    before = last;
    last = row;
  }
  return Math.min(last[b.length] ?? 0, max + 1);
}

/** The nearest of the words that is at most `max(word)` letters away and not the same; undefined when none is. */
export function nearestWord(
  word: string,
  words: Iterable<string>,
  max: (candidate: string) => number,
): string | undefined {
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of words) {
    const distance = wordDistance(word, candidate, max(candidate));
    if (distance === 0 || distance > max(candidate) || distance >= least) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest;
}
