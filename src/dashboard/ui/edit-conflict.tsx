// The notice of a form whose record another user saved while this person edited it.
import type { JSX } from 'react';
import { Button, Notice, Time } from './parts.tsx';

interface EditConflictProps {
  readonly noun: string;
  /** Time of the other user's save, if the record has one. */
  readonly savedAt?: string;
  readonly onLoad: () => void;
  readonly onKeep: () => void;
}

export const EditConflict = ({ noun, savedAt, onLoad, onKeep }: EditConflictProps): JSX.Element => (
  <Notice
    tone="ask"
    icon="triangle"
    role="status"
    acts={
      <>
        <Button onClick={onLoad}>Load saved version</Button>
        <Button onClick={onKeep}>Keep my changes</Button>
      </>
    }
  >
    <p>
      <strong>Another user saved this {noun}</strong>
      {savedAt && (
        <>
          {' '}
          <Time at={savedAt} />
        </>
      )}
      . Your changes are not saved. Load the saved version, or keep your changes.
    </p>
  </Notice>
);
