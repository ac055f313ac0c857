// The settings page: password, preferences, users, retention, signing key, purge of old events. Irreversible actions need a typed
// word.
import { type JSX, type ReactNode, useRef, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useSignedIn } from '../../lib/me.ts';
import { changePrefs, chooseTheme, type Theme, themeChoice, usePrefs } from '../../lib/prefs.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useStore } from '../../lib/store.ts';
import { counted } from '../../lib/text.ts';
import { Form } from '../../ui/form.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Field, PageHead, Select, Time } from '../../ui/parts.tsx';
import { Failed, FormFailed } from '../../ui/query-result.tsx';
import { AiSettings } from './ai.tsx';
import { Environments } from './environments.tsx';
import { Retention } from './retention.tsx';
import { ServiceAccounts } from './service-accounts.tsx';
import { OwnSessions } from './sessions.tsx';
import { Users } from './users.tsx';

export default function Settings(): JSX.Element {
  const me = useSignedIn();
  // A browser opens six connections: what is further down asks when the first answer is there.
  const { isPending } = useCall('aiSettings');
  return (
    <div className="page">
      <PageHead
        title="Settings"
        summary={me.is_admin ? undefined : 'Only an admin can change users, keys, the assistant and data.'}
      />
      <div className="columns-two">
        <View />
        <Password />
      </div>
      <AiSettings isAdmin={me.is_admin} />
      {!isPending && (
        <>
          <OwnSessions />
          <Environments isAdmin={me.is_admin} />
        </>
      )}
      {me.is_admin && (
        <>
          <Users />
          {!isPending && <ServiceAccounts />}
          {!isPending && <Retention />}
          <div className="columns-two">
            <SigningKey />
            <Purge />
          </div>
        </>
      )}
    </div>
  );
}

const Card = ({ title, children }: { readonly title: string; readonly children: ReactNode }): JSX.Element => (
  <section className="card" aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);

function View(): JSX.Element {
  const { utc, compact } = usePrefs();
  const theme = useStore(themeChoice);
  return (
    <Card title="Appearance">
      <Select
        label="Theme"
        value={theme}
        options={[
          ['system', 'System theme'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ]}
        onValue={(next) => chooseTheme(next as Theme)}
      />
      <label className="checks">
        <input type="checkbox" checked={utc} onChange={() => changePrefs({ utc: !utc })} /> Show times in UTC
      </label>
      <label className="checks">
        <input type="checkbox" checked={compact} onChange={() => changePrefs({ compact: !compact })} /> Use
        compact rows
      </label>
      <p className="muted">Stored in this browser.</p>
    </Card>
  );
}

function Password(): JSX.Element {
  const change = useAction('changePassword');
  const [form, setForm] = useState({ old: '', next: '' });
  const first = useRef<HTMLInputElement>(null);
  useCommand('changePassword', () => first.current?.focus());
  const fields = change.error?.fields ?? {};
  return (
    <Card title="Your password">
      <Form
        onSubmit={() => {
          change.mutate(
            { body: { old_password: form.old, new_password: form.next } } as Input<'changePassword'>,
            {
              onSuccess: () => {
                setForm({ old: '', next: '' });
                say('Password changed. Your other sessions are signed out.', 'allow');
              },
            },
          );
        }}
      >
        <Field
          ref={first}
          label="Current password"
          type="password"
          required
          autoComplete="current-password"
          value={form.old}
          onValue={(old) => setForm({ ...form, old })}
          error={fields.old_password}
        />
        <Field
          label="New password"
          type="password"
          required
          minLength={12}
          maxLength={1024}
          autoComplete="new-password"
          value={form.next}
          onValue={(next) => setForm({ ...form, next })}
          help="Use at least 12 characters. The change signs out your other sessions."
          error={fields.new_password}
        />
        <FormFailed error={change.error} />
        <div>
          <Button kind="primary" submit busy={change.isPending}>
            Change password
          </Button>
        </div>
      </Form>
    </Card>
  );
}

/** A dialog whose action needs a typed word. */
function Typed(props: {
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

function SigningKey(): JSX.Element {
  const rotate = useAction('rotateSigningKey');
  const [open, setOpen] = useState(false);
  const [compromised, setCompromised] = useState(false);
  useCommand('rotateSigningKey', () => setOpen(true));
  const [done, setDone] = useState<Reply<'rotateSigningKey'> | null>(null);
  const bundles = useCall('listBundles', { query: { limit: 1000 } }, { enabled: open });
  const details = useCall('healthDetails', {}, { enabled: open });
  const deployments = (bundles.data ?? []).reduce((sum, one) => sum + one.deployed_envs.length, 0);
  return (
    <Card title="Signing key">
      <p>
        The hub signs every document with this key. Rotating the key signs every current deployment again.
      </p>
      {done && (
        <div className="notice notice-allow">
          <div>
            <p>{counted(done.deployments_re_signed, 'deployment')} signed with the new key:</p>
            <Data text={done.public_key} />
            {done.warning && (
              <p>
                <Data text={done.warning} mono={false} max={500} />
              </p>
            )}
          </div>
        </div>
      )}
      <div>
        <Button kind="danger" onClick={() => setOpen(true)}>
          Rotate signing key
        </Button>
      </div>
      <Typed
        title="Rotate signing key"
        word="rotate"
        open={open}
        busy={rotate.isPending}
        onClose={() => setOpen(false)}
        onGo={() =>
          rotate.mutate(
            { body: { compromised } },
            {
              onSuccess: (answer) => {
                setDone(answer);
                setOpen(false);
              },
            },
          )
        }
      >
        <p>
          {bundles.data && details.data
            ? `The new key signs ${counted(deployments, 'deployment')}, and ` +
              `${counted(details.data.connected_agents, 'connected agent')} ` +
              `${details.data.connected_agents === 1 ? 'gets' : 'get'} the new signatures immediately.`
            : 'The new key signs every current deployment. Connected agents get the new signatures immediately.'}{' '}
          Agents with the old key pinned accept the new key, unless the old key is compromised.
        </p>
        <label className="checks">
          <input type="checkbox" checked={compromised} onChange={() => setCompromised(!compromised)} /> The
          old key is compromised (agents must pin the new key)
        </label>
        {rotate.error && <Failed error={rotate.error} />}
      </Typed>
    </Card>
  );
}

function Purge(): JSX.Element {
  const purge = useAction('purgeEvents', ['searchEvents', 'eventHistogram', 'eventFacets', 'statsOverview']);
  const preview = useAction('purgeEvents');
  const [count, setCount] = useState('90');
  const [unit, setUnit] = useState<'days' | 'hours'>('days');
  const field = useRef<HTMLInputElement>(null);
  useCommand('purgeEvents', () => field.current?.focus());
  const [open, setOpen] = useState(false);
  const age = unit === 'hours' ? { older_than_hours: Number(count) } : { older_than_days: Number(count) };
  const ask = (): void =>
    preview.mutate({ query: { ...age, dry_run: 'true' } }, { onSuccess: () => setOpen(true) });
  const many = preview.data === undefined ? '' : counted(preview.data.deleted_count, 'event');
  const done = ({ deleted_count: deleted, complete }: Reply<'purgeEvents'>): void => {
    setOpen(false);
    say(
      `${counted(deleted, 'event')} removed${complete ? '' : '; removal continues in the background'}.`,
      'allow',
    );
  };
  return (
    <Card title="Old events">
      <Field
        ref={field}
        label={`Older than (${unit})`}
        type="number"
        min={1}
        value={count}
        onValue={setCount}
      />
      <Select
        label="Unit"
        value={unit}
        options={[
          ['days', 'days'],
          ['hours', 'hours'],
        ]}
        onValue={(value) => setUnit(value === 'hours' ? 'hours' : 'days')}
      />
      <div>
        <Button kind="danger" busy={preview.isPending} disabled={!/^[1-9]\d{0,4}$/.test(count)} onClick={ask}>
          Purge events
        </Button>
      </div>
      {preview.error && <Failed error={preview.error} />}
      <Typed
        title="Purge events"
        word="purge"
        open={open}
        busy={purge.isPending}
        onClose={() => setOpen(false)}
        onGo={() => purge.mutate({ query: { ...age } }, { onSuccess: done })}
      >
        <p>
          The purge removes {many} received before <Time at={preview.data?.cutoff ?? null} /> from all
          environments permanently{preview.data?.complete === false ? ', and possibly more' : ''}.
        </p>
        {purge.error && <Failed error={purge.error} />}
      </Typed>
    </Card>
  );
}
