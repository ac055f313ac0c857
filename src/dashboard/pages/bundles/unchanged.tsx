// A deploy that changes nothing asks once more: agents get the same document again, and the audit log an entry.
import { type JSX, type ReactNode, useState } from 'react';

export function UnchangedGuard({
  isUnchanged,
  says,
  children,
}: {
  readonly isUnchanged: boolean;
  /** What runs already. */
  readonly says: string;
  /** Gets what runs an action: at once, or at the second press where nothing changes. */
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
          {says} A deployment changes nothing. Press the button again to deploy anyway.
        </p>
      )}
      {children(guard)}
    </>
  );
}
