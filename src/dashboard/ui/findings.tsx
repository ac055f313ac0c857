// Findings about a document: errors and warnings in the document's order, then notices about released clients, folded
// into one line.
import type { JSX } from 'react';
import { counted, severities } from '../lib/text.ts';
import type { EditorProblem } from './editor-view.tsx';
import { Data } from './parts.tsx';

const Items = ({
  findings,
  label,
}: Readonly<{ findings: readonly EditorProblem[]; label: string }>): JSX.Element => (
  <ul className="problems" aria-live="polite" aria-label={label}>
    {findings.map(({ line, column, severity, message }) => (
      <li key={`${line}:${column}:${message}`} className={severities[severity].tone}>
        {severities[severity].word} in line {line}: <Data text={message} mono={false} max={300} />
      </li>
    ))}
  </ul>
);

/** @param max limit of visible errors and warnings, and also of visible notices */
export function Findings({
  findings,
  max = 20,
}: Readonly<{ findings: readonly EditorProblem[]; max?: number }>): JSX.Element {
  const problems = findings.filter(({ severity }) => severity !== 'notice');
  const notices = findings.filter(({ severity }) => severity === 'notice');
  return (
    <>
      <Items findings={problems.slice(0, max)} label="Problems" />
      {notices.length > 0 && (
        <details>
          <summary>{counted(notices.length, 'notice')} about released clients</summary>
          <Items findings={notices.slice(0, max)} label="Notices" />
        </details>
      )}
    </>
  );
}
