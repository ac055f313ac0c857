// A dialog whose action needs a typed word.
import { type JSX, type ReactNode, useState } from 'react';
import { Dialog } from './dialog.tsx';
import { Field } from './form.tsx';
import { Button } from './parts.tsx';

export function TypedConfirm(props: {
  readonly title: string;
  readonly word: string;
  readonly open: boolean;
  readonly busy: boolean;
  readonly onClose: () => void;
  readonly onGo: () => void;
  readonly children: ReactNode;
}): JSX.Element {
  const [text, setText] = useState('');
  const close = (): void => {
    setText('');
    props.onClose();
  };
  return (
    <Dialog title={props.title} open={props.open} onClose={close}>
      {props.children}
      <Field label={`Type ${props.word} to confirm`} value={text} autoComplete="off" onValue={setText} />
      <div className="decide-buttons">
        <Button kind="danger" busy={props.busy} disabled={text !== props.word} onClick={props.onGo}>
          {props.title}
        </Button>
        <Button onClick={close}>Cancel</Button>
      </div>
    </Dialog>
  );
}
