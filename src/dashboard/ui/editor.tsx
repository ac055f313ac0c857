// The YAML editor, loaded when a page first needs it. It lives in a shadow root: there its style sheet is adopted, not
// inserted, which the Content-Security-Policy allows.
import { type JSX, lazy, Suspense } from 'react';
import type { EditorProps } from './editor-view.tsx';
import { Skeleton } from './parts.tsx';
import './editor.css';

const Loaded = lazy(() => import('./editor-view.tsx'));

export const Editor = (props: EditorProps): JSX.Element => (
  <Suspense fallback={<Skeleton rows={8} />}>
    <Loaded {...props} />
  </Suspense>
);
