// The confirmation of a destructive action: its consequences in numbers, a button that performs it, and a way out.
import { type JSX, type ReactNode, useState } from 'react';
import type { ApiError } from '../lib/api.ts';
import { useStaleReason } from '../lib/may.ts';
import { Dialog } from './dialog.tsx';
import { Field } from './form.tsx';
import { Button } from './parts.tsx';
import { Failed } from './query-result.tsx';

export interface ConfirmProps {
  /** A verb and its object: the title of the dialog and the label of its button. */
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /** The action to confirm. */
  readonly by: { readonly isPending: boolean; readonly error: ApiError | null };
  /** Text to type before the button is on. */
  readonly word?: string;
  readonly onAct: () => void;
  readonly children: ReactNode;
}

export const Confirm = (props: ConfirmProps): JSX.Element => (
  <Dialog title={props.title} open={props.open} onClose={props.onClose}>
    <Confirmation {...props} />
  </Dialog>
);

/** Begins with an empty field each time that the dialog opens. */
export function Confirmation(props: Omit<ConfirmProps, 'open'>): JSX.Element {
  const { title, onClose, by, word, onAct, children } = props;
  const [text, setText] = useState('');
  const cannot = useStaleReason();
  return (
    <>
      {children}
      {word !== undefined && (
        <Field label={`Type ${word} to confirm`} value={text} autoComplete="off" onValue={setText} />
      )}
      {by.error && <Failed error={by.error} />}
      <div className="decide-buttons">
        <Button
          kind="danger"
          busy={by.isPending}
          cannot={cannot}
          disabled={word !== undefined && text !== word}
          onClick={onAct}
        >
          {title}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </>
  );
}
