// Screens in place of a page: the set-up of a new hub, the sign-in, and errors of the hub or of a page.
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { type JSX, type ReactNode, useEffect, useRef, useState } from 'react';
import { translateOld } from '../lib/address.ts';
import { ApiError, call } from '../lib/api.ts';
import { signIn, signInByLink, useMe } from '../lib/me.ts';
import { refresh, useCall } from '../lib/query.ts';
import { Field, Form, useFields } from '../ui/form.tsx';
import { say } from '../ui/messages.tsx';
import { Button, Empty, Late, Notice } from '../ui/parts.tsx';
import { Failed } from '../ui/query-result.tsx';
import { InviteForm } from './invite.tsx';
import { Shell } from './shell.tsx';
import { EmailField, Mark, NewPasswordField, SignInForm, useSending } from './sign-in.tsx';

interface Tokens {
  readonly link: string | null;
  readonly invite: string | null;
}

export function RequireSignIn({ link, invite }: Tokens): JSX.Element {
  const [pending, setPending] = useState(link);
  const [invited, setInvited] = useState(invite);
  const me = useMe();
  const health = useCall('health', {}, { enabled: me.data === undefined });
  if (pending !== null && (me.data || me.error?.status === 401)) {
    return <ByLink token={pending} email={me.data?.email ?? null} onDone={() => setPending(null)} />;
  }
  if (invited !== null && (me.data || me.error?.status === 401)) {
    return (
      <Sheet
        title="Choose a password"
        summary="The invitation works once. Then you sign in with this password."
      >
        <InviteForm token={invited} email={me.data?.email ?? null} onDone={() => setInvited(null)} />
      </Sheet>
    );
  }
  if (me.data) {
    return (
      <Shell>
        <Outlet />
      </Shell>
    );
  }
  const failed = me.error && me.error.status !== 401 ? me.error : health.error;
  if (failed) {
    return (
      <Sheet title="Cannot reach the hub">
        <Failed error={failed} onRetry={() => void Promise.all([me.refetch(), health.refetch()])} />
      </Sheet>
    );
  }
  if (!me.error || !health.data)
    return (
      <Late>
        <main className="sign-in-page">
          <h1 className="heard">Reeve</h1>
          <p className="muted">Checking your session…</p>
        </main>
      </Late>
    );
  return health.data.bootstrap_complete ? <SignIn /> : <SetUp />;
}

function Sheet({
  title,
  summary,
  children,
}: Readonly<{ title: string; summary?: ReactNode; children: ReactNode }>): JSX.Element {
  useEffect(() => {
    document.title = `${title} · Reeve`;
  }, [title]);
  return (
    <main className="sign-in-page">
      <div className="sign-in-page-card">
        <Mark />
        <h1>{title}</h1>
        {summary && <p className="page-says">{summary}</p>}
        {children}
      </div>
    </main>
  );
}

/** Signs in with a one-time link: at once, or after a confirmation if another person is signed in. */
function ByLink({
  token,
  email,
  onDone,
}: Readonly<{ token: string; email: string | null; onDone: () => void }>): JSX.Element {
  const hasBegun = useRef(false);
  const { by, onSubmit } = useSending(async () => {
    await signInByLink(token);
    onDone();
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link works once
  useEffect(() => {
    if (email !== null || hasBegun.current) return;
    hasBegun.current = true;
    onSubmit();
  }, [email]);
  if (by.error) {
    return (
      <Sheet title="Sign in">
        <Failed error={by.error} />
        <Button onClick={onDone}>{email === null ? 'Sign in with a password' : 'Continue'}</Button>
      </Sheet>
    );
  }
  if (email === null)
    return (
      <Sheet title="Sign in" summary="Signing you in with the link…">
        {null}
      </Sheet>
    );
  return (
    <Sheet
      title="Sign in with the link?"
      summary={`You are signed in as ${email}. The link signs you in as another user.`}
    >
      <div className="decide-buttons">
        <Button kind="primary" busy={by.isPending} onClick={onSubmit}>
          Sign in with the link
        </Button>
        <Button onClick={onDone}>Stay signed in</Button>
      </div>
    </Sheet>
  );
}

const SignIn = (): JSX.Element => (
  <Sheet title="Sign in" summary="After you sign in, the requested page opens.">
    <SignInForm />
  </Sheet>
);

function SetUp(): JSX.Element {
  const [form, bind] = useFields({ email: '', password: '', token: '' });
  const { by, onSubmit } = useSending(async () => {
    const { email, password, token } = form;
    try {
      await call('setup', { body: { email, password, ...(token === '' ? {} : { setup_token: token }) } });
    } catch (failure) {
      // Another person set up the hub first, so the next step is to sign in.
      if (failure instanceof ApiError && failure.status === 409) {
        say('Another user already set up this hub. Sign in, or ask an admin for an account.', 'deny');
        refresh(['health']);
      }
      throw failure;
    }
    await signIn(email, password);
  });
  return (
    <Sheet title="Set up this hub" summary="This hub has no users yet. Create the first admin.">
      <Form onSubmit={onSubmit} by={by} act="Create admin">
        <EmailField {...bind('email')} />
        <NewPasswordField {...bind('password')} />
        <Field
          {...bind('token', 'setup_token')}
          label="Setup token"
          type="password"
          autoComplete="off"
          help="Find the token in the startup output, or use your SETUP_TOKEN value. On the hub machine, it is optional unless SETUP_TOKEN is set."
        />
      </Form>
    </Sheet>
  );
}

export function NotFound(): JSX.Element {
  const navigate = useNavigate();
  const { pathname, search } = useLocation();
  useEffect(() => {
    const today = translateOld(pathname, search as { [name: string]: string });
    if (today) void navigate({ to: today.path, search: today.search as never, replace: true });
  }, [pathname, search, navigate]);
  return (
    <Empty title="Page not found">
      <p>
        No page exists at this address. <a href="/dashboard/">Go to Overview</a>
      </p>
    </Empty>
  );
}

/** After an upgrade of the hub, a reload finds the new names of missing chunks. */
export const PageFailed = ({ error }: { readonly error: Error }): JSX.Element => (
  <div className="page">
    <Notice
      tone="deny"
      icon="triangle"
      role="alert"
      acts={<Button onClick={() => location.reload()}>Reload page</Button>}
    >
      <p>
        <strong>This page failed to load.</strong> {error.message}
      </p>
      <p>After an upgrade of the hub, reload the page.</p>
    </Notice>
  </div>
);
