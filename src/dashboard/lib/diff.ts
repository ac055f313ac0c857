// The difference between two texts, by lines and by words.
import { diff } from '@codemirror/merge';

/** One piece of a difference: a line, or a word of one. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Distinct pieces that are compared, below the surrogates. Beyond it, all counts as removed and added. */
const maxDistinct = 0xd7ff;
/** A longer comparison becomes less exact. */
const maxMs = 200;

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

export const diffLines = (before: string, after: string): DiffLine[] =>
  diffPieces(linesOf(before), linesOf(after));

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

/** Null if the lines have too little in common for a useful comparison by words. */
export function diffWords(before: string, after: string): DiffLine[] | null {
  const pieces = diffPieces(wordsOf(before), wordsOf(after));
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

/** Each distinct piece becomes one character, so that a comparison of characters compares pieces. */
function diffPieces(a: readonly string[], b: readonly string[]): DiffLine[] {
  const codes = new Map<string, number>();
  const coded = (pieces: readonly string[]): string =>
    pieces
      .map((piece) => {
        const code = codes.get(piece) ?? codes.size + 1;
        codes.set(piece, code);
        return String.fromCharCode(code);
      })
      .join('');
  const [codedA, codedB] = [coded(a), coded(b)];
  const whole = [{ fromA: 0, toA: a.length, fromB: 0, toB: b.length }];
  const changes = codes.size > maxDistinct ? whole : diff(codedA, codedB, { timeout: maxMs });
  const as = (kind: DiffLine['kind'], pieces: readonly string[]) => pieces.map((text) => ({ kind, text }));
  let at = 0;
  const before = changes.flatMap(({ fromA, toA, fromB, toB }) => {
    const same = a.slice(at, fromA);
    at = toA;
    return [...as('same', same), ...as('removed', a.slice(fromA, toA)), ...as('added', b.slice(fromB, toB))];
  });
  return [...before, ...as('same', a.slice(at))];
}
