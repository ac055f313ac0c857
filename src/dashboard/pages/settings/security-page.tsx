// The security of the signed-in person: password, and own sessions.
import { type JSX, useRef, useState } from 'react';
import type { Input } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useAction } from '../../lib/query.ts';
import { Field, Form, useFields } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';
import { OwnSessions } from './sessions.tsx';

export default function SecurityPage(): JSX.Element {
  return (
    <div className="page">
      <PageHead title="Security" />
      <Password />
      <OwnSessions />
    </div>
  );
}

function Password(): JSX.Element {
  const change = useAction('changePassword', ['listOwnSessions']);
  const [form, bind, setForm] = useFields({ old: '', next: '' });
  // Each change begins with empty fields that nobody has filled in.
  const [changes, setChanges] = useState(0);
  const first = useRef<HTMLInputElement>(null);
  useCommand('changePassword', () => first.current?.focus());
  return (
    <TitledCard title="Your password">
      <Form
        key={changes}
        by={change}
        act="Change password"
        onSubmit={() => {
          change.mutate(
            { body: { old_password: form.old, new_password: form.next } } as Input<'changePassword'>,
            () => {
              setForm({ old: '', next: '' });
              setChanges(changes + 1);
              say('Password changed. Your other sessions are signed out.', 'allow');
            },
          );
        }}
      >
        <Field
          {...bind('old', 'old_password')}
          ref={first}
          label="Current password"
          type="password"
          required
          autoComplete="current-password"
        />
        <Field
          {...bind('next', 'new_password')}
          label="New password"
          type="password"
          required
          minLength={12}
          maxLength={1024}
          autoComplete="new-password"
          help="Use at least 12 characters. The change signs out your other sessions."
        />
      </Form>
    </TitledCard>
  );
}
