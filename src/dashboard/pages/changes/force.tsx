// The override after a refusal: an admin continues despite errors in the document, and states the reason.
import { type JSX, type ReactNode, useState } from 'react';
import { useStaleReason } from '../../lib/may.ts';
import { useSignedIn } from '../../lib/me.ts';
import { Field } from '../../ui/form.tsx';
import { Button } from '../../ui/parts.tsx';

interface ForceFormProps {
  /** Accessible name. Default: the label of the button. */
  readonly label?: string;
  /** Label of the button. */
  readonly action: string;
  /** The act, for people who are not admins: `Only an admin can …`. */
  readonly act: string;
  /** Text to type before the button is on. */
  readonly word?: string;
  readonly busy: boolean;
  /** The button is off, also with all input. */
  readonly isOff?: boolean;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  readonly onForce: () => void;
  /** The consequences. */
  readonly children?: ReactNode;
}

export function ForceForm(props: ForceFormProps): JSX.Element {
  const { action, label = action, act, word, busy, reason, onReason, onForce, children } = props;
  const me = useSignedIn();
  const [typed, setTyped] = useState('');
  const cannot = useStaleReason();
  if (!me.is_admin) return <p className="muted">Only an admin can {act}. Fix the errors, or ask an admin.</p>;
  const isOff = props.isOff || reason.trim() === '' || (word !== undefined && typed !== word);
  return (
    <section className="form" aria-label={label}>
      {children}
      <Field
        label="Reason"
        help="The audit log contains the reason."
        value={reason}
        onValue={onReason}
        maxLength={500}
        autoComplete="off"
      />
      {word !== undefined && (
        <Field
          label={`Type ${word} to confirm`}
          value={typed}
          onValue={setTyped}
          autoComplete="off"
          spellCheck={false}
        />
      )}
      <div>
        <Button kind="danger" busy={busy} disabled={isOff} cannot={cannot} onClick={onForce}>
          {action}
        </Button>
      </div>
    </section>
  );
}
