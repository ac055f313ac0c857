// The form behind an invitation's link: the invited person chooses a password and is signed in.
import { type JSX, useState } from 'react';
import { acceptInvite } from '../lib/me.ts';
import { Form } from '../ui/form.tsx';
import { Button, Field } from '../ui/parts.tsx';
import { FormFailed } from '../ui/query-result.tsx';
import { ProviderLink, useSending, useTakesPasswords } from './sign-in.tsx';

interface InviteProps {
  readonly token: string;
  /** Who is signed in already; null: nobody. */
  readonly email: string | null;
  readonly onDone: () => void;
}

export function InviteForm({ token, email, onDone }: InviteProps): JSX.Element {
  const [password, setPassword] = useState('');
  const { error, busy, onSubmit } = useSending(async () => {
    await acceptInvite(token, password);
    onDone();
  });
  const takesPasswords = useTakesPasswords();
  // The sign-in through the provider accepts the invitation.
  if (!takesPasswords) return <ProviderLink />;
  return (
    <Form onSubmit={onSubmit}>
      {email !== null && (
        <p className="muted">You are signed in as {email}. The invitation signs you in instead.</p>
      )}
      <Field
        label="Password"
        type="password"
        autoComplete="new-password"
        required
        minLength={12}
        maxLength={1024}
        value={password}
        onValue={setPassword}
        help="Use at least 12 characters."
        error={error?.fields.password}
      />
      <FormFailed error={error} />
      <div className="decide-buttons">
        <Button kind="primary" submit busy={busy}>
          Set password and sign in
        </Button>
        <Button onClick={onDone}>Not now</Button>
      </div>
    </Form>
  );
}
