// The security of the signed-in person: password, and own sessions.
import { type JSX, useRef, useState } from 'react';
import type { Input } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useAction } from '../../lib/query.ts';
import { Form } from '../../ui/form.tsx';
import { say } from '../../ui/overlay.tsx';
import { Button, Field, PageHead } from '../../ui/parts.tsx';
import { FormFailed } from '../../ui/query-result.tsx';
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
  const change = useAction('changePassword');
  const [form, setForm] = useState({ old: '', next: '' });
  const first = useRef<HTMLInputElement>(null);
  useCommand('changePassword', () => first.current?.focus());
  const fields = change.error?.fields ?? {};
  return (
    <TitledCard title="Your password">
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
    </TitledCard>
  );
}
