// The confirmation of a destructive action: its consequences in numbers, a button that performs it, and a way out.
import type { JSX, ReactNode } from 'react';
import type { ApiError } from '../lib/api.ts';
import { Dialog } from './dialog.tsx';
import { Button } from './parts.tsx';
import { Failed } from './query-result.tsx';

export interface ConfirmProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /** The action to confirm. */
  readonly by: { readonly isPending: boolean; readonly error: ApiError | null };
  /** Label of the button: a verb and its object. */
  readonly act: ReactNode;
  readonly onAct: () => void;
  readonly children: ReactNode;
}

export const Confirm = ({ title, open, onClose, by, act, onAct, children }: ConfirmProps): JSX.Element => (
  <Dialog title={title} open={open} onClose={onClose}>
    {children}
    {by.error && <Failed error={by.error} />}
    <div className="decide-buttons">
      <Button kind="danger" busy={by.isPending} onClick={onAct}>
        {act}
      </Button>
      <Button onClick={onClose}>Cancel</Button>
    </div>
  </Dialog>
);
