// The difference between two texts, by lines and by words: the longest common subsequence, after the equal start and
// end are cut off.

/** One piece of a difference: a line, or a word of one. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Maximum of compared pairs. Beyond it, the middle counts as removed and added as a whole. */
const maxPairs = 4_000_000;
/** The same limit for the words of two lines. */
const maxWordPairs = 250_000;

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

export const diffLines = (before: string, after: string): DiffLine[] =>
  diffPieces(linesOf(before), linesOf(after), maxPairs);

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

/** Null if the lines have too little in common for a useful comparison by words. */
export function diffWords(before: string, after: string): DiffLine[] | null {
  const pieces = diffPieces(wordsOf(before), wordsOf(after), maxWordPairs);
  const same = pieces
    .filter(({ kind }) => kind === 'same')
    .reduce((sum, { text }) => sum + text.trim().length, 0);
  return same * 3 < Math.min(before.trim().length, after.trim().length) ? null : pieces;
}

/** Pairs each removed line with the added line that replaces it, and returns the words of both by line index. */
export function pairedWords(lines: readonly DiffLine[]): ReadonlyMap<number, readonly DiffLine[]> {
  const words = new Map<number, readonly DiffLine[]>();
  for (let at = 0; at < lines.length; ) {
    const removed = runOf(lines, at, 'removed');
    const added = runOf(lines, at + removed, 'added');
    for (let n = 0; n < Math.min(removed, added); n += 1) {
      const [from, to] = [at + n, at + removed + n];
      const pieces = diffWords(lines[from]?.text ?? '', lines[to]?.text ?? '');
      if (pieces === null) continue;
      words.set(
        from,
        pieces.filter(({ kind }) => kind !== 'added'),
      );
      words.set(
        to,
        pieces.filter(({ kind }) => kind !== 'removed'),
      );
    }
    at += Math.max(1, removed + added);
  }
  return words;
}

function runOf(lines: readonly DiffLine[], from: number, kind: DiffLine['kind']): number {
  let end = from;
  while (lines[end]?.kind === kind) end += 1;
  return end - from;
}

function diffPieces(a: readonly string[], b: readonly string[], max: number): DiffLine[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail += 1;
  const same = (pieces: readonly string[]): DiffLine[] => pieces.map((text) => ({ kind: 'same', text }));
  return [
    ...same(a.slice(0, head)),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail), max),
    ...same(a.slice(a.length - tail)),
  ];
}

function middle(a: readonly string[], b: readonly string[], max: number): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (a.length * b.length > max || a.length === 0 || b.length === 0)
    return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pieces: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push({ kind: 'same', text: a[i] ?? '' });
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      pieces.push(removed(a[i] ?? ''));
      i += 1;
    } else {
      pieces.push(added(b[j] ?? ''));
      j += 1;
    }
  }
  return pieces;
}
