// Settings: one's own password and view, the users of the hub, the signing key, the purge of old events. What cannot be
// undone is typed first.
import { type JSX, type ReactNode, useRef, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useSignedIn } from '../../lib/me.ts';
import { changePrefs, chooseTheme, type Theme, themeChoice, usePrefs } from '../../lib/prefs.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useStore } from '../../lib/store.ts';
import { counted } from '../../lib/text.ts';
import { Failed, FormFailed } from '../../ui/answer.tsx';
import { Form } from '../../ui/form.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Field, PageHead, Select, Time } from '../../ui/parts.tsx';
import { AiSettings } from './ai.tsx';
import { Users } from './users.tsx';

export default function Settings(): JSX.Element {
  const me = useSignedIn();
  return (
    <div className="page">
      <PageHead
        title="Settings"
        says={me.is_admin ? undefined : 'Users, keys and data are an admin’s to change.'}
      />
      <div className="columns-two">
        <View />
        <Password />
      </div>
      <AiSettings />
      {me.is_admin && (
        <>
          <Users />
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
    <Card title="How the console looks">
      <Select
        label="Theme"
        value={theme}
        options={[
          ['system', 'Theme of the system'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ]}
        onValue={(next) => chooseTheme(next as Theme)}
      />
      <label className="checks">
        <input type="checkbox" checked={utc} onChange={() => changePrefs({ utc: !utc })} /> Times in UTC
      </label>
      <label className="checks">
        <input type="checkbox" checked={compact} onChange={() => changePrefs({ compact: !compact })} />{' '}
        Compact rows
      </label>
      <p className="muted">Kept in this browser.</p>
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
                say('Your password is changed. Your other logins have ended.', 'allow');
              },
            },
          );
        }}
      >
        <Field
          ref={first}
          label="Present password"
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
          help="12 characters or more. Your other logins end."
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

/** A dialog that lets its action go only once a word was typed. */
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
      <Field label={`Type ${props.word} to go on`} value={text} autoComplete="off" onValue={setText} />
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
      <p>Every document that agents load is signed with it. A new key signs every current deployment anew.</p>
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
            ? `${counted(deployments, 'deployment')} ${deployments === 1 ? 'is' : 'are'} signed anew, and ` +
              `${counted(details.data.connected_agents, 'connected agent')} ` +
              `${details.data.connected_agents === 1 ? 'gets' : 'get'} the new signatures at once.`
            : 'Every current deployment is signed anew, and connected agents get the new signatures at once.'}{' '}
          Agents that pinned the old key follow to the new one, unless the old one is compromised.
        </p>
        <label className="checks">
          <input type="checkbox" checked={compromised} onChange={() => setCompromised(!compromised)} /> The
          old key is compromised: agents that pinned it must be pinned again
        </label>
        {rotate.error && <Failed error={rotate.error} />}
      </Typed>
    </Card>
  );
}

function Purge(): JSX.Element {
  const purge = useAction('purgeEvents', ['searchEvents', 'eventHistogram', 'eventFacets', 'statsOverview']);
  const count = useAction('purgeEvents');
  const [days, setDays] = useState('90');
  const field = useRef<HTMLInputElement>(null);
  useCommand('purgeEvents', () => field.current?.focus());
  const [open, setOpen] = useState(false);
  const ask = (): void =>
    count.mutate(
      { query: { older_than_days: Number(days), dry_run: 'true' } },
      { onSuccess: () => setOpen(true) },
    );
  const many = count.data === undefined ? '' : counted(count.data.deleted_count, 'event');
  const done = ({ deleted_count: deleted, complete }: Reply<'purgeEvents'>): void => {
    setOpen(false);
    say(
      `${counted(deleted, 'event')} removed${complete ? '' : '; the rest goes in the background'}.`,
      'allow',
    );
  };
  return (
    <Card title="Old events">
      <Field ref={field} label="Older than days" type="number" min={1} value={days} onValue={setDays} />
      <div>
        <Button kind="danger" busy={count.isPending} disabled={!/^[1-9]\d{0,4}$/.test(days)} onClick={ask}>
          Purge events
        </Button>
      </div>
      {count.error && <Failed error={count.error} />}
      <Typed
        title="Purge events"
        word="purge"
        open={open}
        busy={purge.isPending}
        onClose={() => setOpen(false)}
        onGo={() => purge.mutate({ query: { older_than_days: Number(days) } }, { onSuccess: done })}
      >
        <p>
          {many} that the hub received before <Time at={count.data?.cutoff ?? null} />{' '}
          {count.data?.deleted_count === 1 ? 'is' : 'are'} removed, in every environment, for ever
          {count.data?.complete === false ? '; there may be more of them than that' : ''}.
        </p>
        {purge.error && <Failed error={purge.error} />}
      </Typed>
    </Card>
  );
}
