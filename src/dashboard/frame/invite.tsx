// The form behind an invitation's link: the invited person chooses a password and is signed in.
import { type JSX, useState } from 'react';
import { acceptInvite } from '../lib/me.ts';
import { Form } from '../ui/form.tsx';
import { Button } from '../ui/parts.tsx';
import { NewPasswordField, ProviderLink, useSending, useTakesPasswords } from './sign-in.tsx';

interface InviteProps {
  readonly token: string;
  /** E-mail of the signed-in user; null: nobody is signed in. */
  readonly email: string | null;
  readonly onDone: () => void;
}

export function InviteForm({ token, email, onDone }: InviteProps): JSX.Element {
  const [password, setPassword] = useState('');
  const { by, onSubmit } = useSending(async () => {
    await acceptInvite(token, password);
    onDone();
  });
  const takesPasswords = useTakesPasswords();
  // The sign-in through the provider accepts the invitation.
  if (!takesPasswords) return <ProviderLink />;
  return (
    <Form
      onSubmit={onSubmit}
      by={by}
      act="Set password and sign in"
      buttons={<Button onClick={onDone}>Not now</Button>}
    >
      {email !== null && (
        <p className="muted">You are signed in as {email}. The invitation signs you in instead.</p>
      )}
      <NewPasswordField value={password} onValue={setPassword} />
    </Form>
  );
}
