// The YAML editor. Its code loads on first use. It is in a shadow root, which adopts its style sheet: the
// Content-Security-Policy refuses an inserted one.
import { type JSX, lazy, Suspense } from 'react';
import type { EditorProps } from './editor-view.tsx';
import { Findings } from './findings.tsx';
import { Skeleton } from './parts.tsx';
import './editor.css';

const Loaded = lazy(() => import('./editor-view.tsx'));

/** Lists its problems below the text. */
export const Editor = (props: EditorProps): JSX.Element => (
  <>
    <Suspense fallback={<Skeleton rows={8} />}>
      <Loaded {...props} />
    </Suspense>
    {props.problems && <Findings findings={props.problems} />}
  </>
);
