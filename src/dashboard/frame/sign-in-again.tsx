// The sign-in over a page whose session ended. Unsaved text stays below it.
import type { JSX } from 'react';
import { useSignedIn } from '../lib/me.ts';
import { Dialog } from '../ui/dialog.tsx';
import type { LateProps } from './late.tsx';
import { SignInForm } from './sign-in.tsx';

export default function SignInAgain({ open, onClose }: LateProps): JSX.Element {
  return (
    <Dialog title="Sign in again" open={open} held onClose={onClose}>
      <p className="page-says">Your session ended. Your unsaved text is still here. Sign in to continue.</p>
      <SignInForm email={useSignedIn().email} />
    </Dialog>
  );
}
