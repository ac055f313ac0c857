// The confirmation of a deployment without changes: it sends agents the same document again, and adds an audit entry.
import { type JSX, type ReactNode, useState } from 'react';

export function UnchangedGuard({
  isUnchanged,
  state,
  children,
}: {
  readonly isUnchanged: boolean;
  /** Description of the deployed document. */
  readonly state: string;
  /** Returns a function that runs an action: at once, or on the second click if nothing changes. */
  readonly children: (guard: (act: () => void) => void) => ReactNode;
}): JSX.Element {
  const [isWarned, setWarned] = useState(false);
  const guard = (act: () => void): void => {
    if (isUnchanged && !isWarned) setWarned(true);
    else act();
  };
  return (
    <>
      {isUnchanged && isWarned && (
        <p className="notice notice-ask unchanged" role="alert">
          {state} A deployment changes nothing. Press the button again to deploy anyway.
        </p>
      )}
      {children(guard)}
    </>
  );
}
