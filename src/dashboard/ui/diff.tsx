// The difference between two texts: removed and added lines with their changed words, and a few unchanged lines around
// each change.
import { type JSX, useMemo, useState } from 'react';
import { type DiffLine, diffLines, pairedWords } from '../lib/diff.ts';
import { count, counted, middleCut, visible } from '../lib/text.ts';
import './editor.css';

const around = 3;
const signs = { removed: '−', added: '+', same: ' ', 'left-out': ' ' } as const;
/** Characters. A longer line is cut in the middle until a person expands it. */
const maxLine = 2_000;

export interface DiffProps {
  readonly before: string;
  readonly after: string;
  readonly label?: string;
  /** Visible lines until a person expands the rest. Default: all. */
  readonly max?: number;
}

export function Diff({ before, after, label = 'Difference', max }: DiffProps): JSX.Element {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const words = useMemo(() => pairedWords(lines), [lines]);
  const changed = lines.map(({ kind }) => kind !== 'same');
  const isNear = (index: number): boolean =>
    changed.slice(Math.max(0, index - around), index + around + 1).includes(true);
  const visibleLines = lines.flatMap<Shown>(({ kind, text }, at) => {
    if (isNear(at)) return [{ at, kind, text, words: words.get(at) }];
    return at > 0 && isNear(at - 1) ? [{ at, kind: 'left-out', text: '⋯', words: undefined }] : [];
  });
  const removed = lines.filter(({ kind }) => kind === 'removed').length;
  const added = lines.filter(({ kind }) => kind === 'added').length;
  if (removed === 0 && added === 0) return <p className="muted">No differences.</p>;
  return (
    <figure>
      <figcaption className="muted">
        {counted(added, 'line')} added, {counted(removed, 'line')} removed
      </figcaption>
      <DiffLines lines={visibleLines} label={label} {...(max === undefined ? {} : { max })} />
    </figure>
  );
}

interface Shown {
  readonly at: number;
  readonly kind: keyof typeof signs;
  readonly text: string;
  readonly words?: readonly DiffLine[] | undefined;
}

/** Removed and added lines. */
export function DiffLines({
  lines,
  label,
  max = Number.POSITIVE_INFINITY,
}: Readonly<{ lines: readonly Shown[]; label: string; max?: number }>): JSX.Element {
  const [whole, setWhole] = useState(false);
  const isCut = lines.length > max || lines.some(({ text, words }) => !words && text.length > maxLine);
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: several may stand on a page, so it is no landmark */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
      <div role="group" className="yaml-diff" aria-label={label} tabIndex={0}>
        {(whole ? lines : lines.slice(0, max)).map(({ at, kind, text, words }) => (
          <div key={at} className={`diff-line diff-${kind}`}>
            <span aria-hidden="true">{signs[kind]}</span>
            {(kind === 'removed' || kind === 'added') && <span className="heard">{kind}: </span>}
            <bdi>
              {words ? <Words pieces={words} /> : whole ? visible(text) : middleCut(visible(text), maxLine)}
            </bdi>
          </div>
        ))}
      </div>
      {isCut && (
        <button
          type="button"
          className="link"
          aria-expanded={whole}
          data-folded={whole ? undefined : true}
          onClick={() => setWhole(!whole)}
        >
          {whole
            ? 'Show fewer lines'
            : lines.length > max
              ? `Show all ${count(lines.length)} lines`
              : 'Wrap long lines'}
        </button>
      )}
    </>
  );
}

const Words = ({ pieces }: { readonly pieces: readonly DiffLine[] }): JSX.Element => (
  <>
    {pieces.map(({ kind, text }, index) =>
      kind === 'same' ? (
        visible(text)
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: words have no other name
        <span key={index} className="diff-word">
          {visible(text)}
        </span>
      ),
    )}
  </>
);
