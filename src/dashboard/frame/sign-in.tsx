// The sign-in form, in place of the frame or over it, and the product's logo.
import { type JSX, useState } from 'react';
import { ApiError } from '../lib/api.ts';
import { signIn } from '../lib/me.ts';
import { useCall } from '../lib/query.ts';
import { Field, type FieldProps, Form } from '../ui/form.tsx';
import { Button } from '../ui/parts.tsx';

export const Mark = (): JSX.Element => (
  <span className="mark" aria-hidden="true">
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" />
      <path d="M10 24V8h7.2a5 5 0 0 1 1.2 9.85L23 24M10 18h8" />
    </svg>
  </span>
);

/** Submits a form once at a time, and returns the error of the latest submission. */
export function useSending(send: () => Promise<void>) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isPending, setPending] = useState(false);
  const run = async (): Promise<void> => {
    setPending(true);
    setError(null);
    try {
      await send();
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, 'unknown', String(failure), null));
    } finally {
      setPending(false);
    }
  };
  const onSubmit = (): void => {
    void run();
  };
  return { by: { error, isPending }, onSubmit };
}

type EntryProps = Pick<FieldProps, 'value' | 'onValue'>;

export const EmailField = (props: EntryProps): JSX.Element => (
  <Field {...props} name="email" label="E-mail" type="email" autoComplete="username" required />
);

export const NewPasswordField = (props: EntryProps): JSX.Element => (
  <Field
    {...props}
    name="password"
    label="Password"
    type="password"
    autoComplete="new-password"
    required
    minLength={12}
    maxLength={1024}
    help="Use at least 12 characters."
  />
);

/** The way through the identity provider, back to this page; nothing without one. */
export function ProviderLink(): JSX.Element | null {
  const methods = useCall('signInMethods', {});
  const provider = methods.data?.oidc ?? null;
  if (provider === null) return null;
  const { pathname, search } = location;
  return (
    <p>
      <a className="button" href={`/auth/oidc?return_to=${encodeURIComponent(pathname + search)}`}>
        Sign in with {provider.name}
      </a>
    </p>
  );
}

/** False where the hub takes no passwords. */
export const useTakesPasswords = (): boolean => useCall('signInMethods', {}).data?.password ?? true;

/** The ways to sign in, as the hub offers them. */
export function SignInForm({ email }: { readonly email?: string }): JSX.Element {
  const takesPasswords = useTakesPasswords();
  return (
    <>
      <ProviderLink />
      {takesPasswords && <PasswordForm {...(email === undefined ? {} : { email })} />}
    </>
  );
}

/** Keeps the input after a failure. Only the password must be typed again. */
function PasswordForm({ email: knownEmail = '' }: { readonly email?: string }): JSX.Element {
  const [email, setEmail] = useState(knownEmail);
  const [password, setPassword] = useState('');
  const { by, onSubmit } = useSending(async () => {
    try {
      await signIn(email, password);
    } catch (failure) {
      setPassword('');
      throw failure;
    }
  });
  return (
    <Form
      onSubmit={onSubmit}
      by={by}
      buttons={
        <Button kind="primary" submit busy={by.isPending}>
          Sign in
        </Button>
      }
    >
      <EmailField value={email} onValue={setEmail} />
      <Field
        name="password"
        label="Password"
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onValue={setPassword}
      />
    </Form>
  );
}
