// Two texts, line by line: what goes, what comes, and a little of what stays around it.
import { type JSX, useMemo } from 'react';
import { diffLines } from '../lib/diff.ts';
import { counted, visible } from '../lib/text.ts';
import './editor.css';

const around = 3;
const signs = { removed: '−', added: '+', same: ' ', 'left-out': ' ' } as const;

export function Diff({ before, after }: { readonly before: string; readonly after: string }): JSX.Element {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const changed = lines.map(({ kind }) => kind !== 'same');
  const isNear = (index: number): boolean =>
    changed.slice(Math.max(0, index - around), index + around + 1).includes(true);
  const shown = lines.flatMap<{ at: number; kind: keyof typeof signs; text: string }>(
    ({ kind, text }, at) => {
      if (isNear(at)) return [{ at, kind, text }];
      return at > 0 && isNear(at - 1) ? [{ at, kind: 'left-out', text: '⋯' }] : [];
    },
  );
  const removed = lines.filter(({ kind }) => kind === 'removed').length;
  const added = lines.filter(({ kind }) => kind === 'added').length;
  if (removed === 0 && added === 0) return <p className="muted">Both are the same.</p>;
  return (
    <figure>
      <figcaption className="muted">
        {counted(added, 'line')} added, {counted(removed, 'line')} removed
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
      <section className="yaml-diff" aria-label="Difference" tabIndex={0}>
        {shown.map(({ at, kind, text }) => (
          <div key={at} className={`diff-line diff-${kind}`}>
            <span aria-hidden="true">{signs[kind]}</span>
            {(kind === 'removed' || kind === 'added') && <span className="heard">{kind}: </span>}
            {visible(text)}
          </div>
        ))}
      </section>
    </figure>
  );
}
