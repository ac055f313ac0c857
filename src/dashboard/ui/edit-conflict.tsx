// The notice of a form whose record another user saved while this person edited it.
import type { JSX } from 'react';
import type { ApiError } from '../lib/api.ts';
import { Button, Notice, Time } from './parts.tsx';

interface Save {
  readonly isIdle: boolean;
  readonly isPending: boolean;
  readonly isError: boolean;
  readonly error: ApiError | null;
  readonly reset: () => void;
}

/** @param isOld the record has another state than the one that the form is based on */
export function useEditConflict(isOld: boolean, save: Save) {
  // The stream reports the form's own save, too.
  const hasMoved = isOld && (save.isIdle || save.isError);
  return {
    hasMoved,
    /** The save, without a refusal in place of which the notice stands. */
    by: { isPending: save.isPending, error: hasMoved ? null : save.error },
    settle: (act: () => void): void => {
      save.reset();
      act();
    },
  };
}

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
