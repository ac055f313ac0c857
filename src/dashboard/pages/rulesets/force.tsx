// The override after a refusal: an admin deploys despite the linter's errors, and states the reason.
import { type JSX, useState } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { Field } from '../../ui/form.tsx';
import { Button } from '../../ui/parts.tsx';

/** A notice for people who are not admins. */
export function ForceForm({
  action,
  busy,
  onForce,
}: {
  /** Label of the button. */
  readonly action: string;
  readonly busy: boolean;
  readonly onForce: (reason: string) => void;
}): JSX.Element {
  const me = useSignedIn();
  const [reason, setReason] = useState('');
  if (!me.is_admin)
    return (
      <p className="muted">
        Only an admin can continue despite these errors. Fix the errors, or ask an admin.
      </p>
    );
  return (
    <section className="form" aria-label={action}>
      <Field
        label="Reason"
        help="The audit log records the forced deployment and this reason."
        value={reason}
        onValue={setReason}
        maxLength={500}
        autoComplete="off"
      />
      <div>
        <Button
          kind="danger"
          busy={busy}
          disabled={reason.trim() === ''}
          onClick={() => onForce(reason.trim())}
        >
          {action}
        </Button>
      </div>
    </section>
  );
}
