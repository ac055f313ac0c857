// Users: add one with an initial password, change roles, remove one. The last admin stays.
import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Role, rolesText } from '../../lib/roles.ts';
import { visible } from '../../lib/text.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Form } from '../../ui/form.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Field, Time } from '../../ui/parts.tsx';
import { FormFailed, QueryResult } from '../../ui/query-result.tsx';
import { Table } from '../../ui/table.tsx';
import { InviteLink, RenewInvite } from './invite.tsx';
import { ChangeRoles, RoleEditor } from './roles.tsx';
import { UserSessions } from './sessions.tsx';

type User = Reply<'listUsers'>[number];

export function Users(): JSX.Element {
  const me = useSignedIn();
  const usersQuery = useCall('listUsers', { query: { limit: 1000 } });
  const remove = useAction('removeUser', ['listUsers']);
  const [adding, setAdding] = useState(false);
  const [changing, setChanging] = useState<User | null>(null);
  const [watching, setWatching] = useState<User | null>(null);
  const [inviting, setInviting] = useState<User | null>(null);
  const [removing, setRemoving] = useState<User | null>(null);
  useCommand('addUser', () => setAdding(true));
  return (
    <section className="card" aria-label="Users">
      <div className="card-head">
        <h2>Users</h2>
        <Button icon="plus" onClick={() => setAdding(true)}>
          Add user
        </Button>
      </div>
      <QueryResult query={usersQuery} rows={3}>
        {(list) => (
          <Table
            name="people"
            row="user"
            sortAs="people_sort"
            rows={list}
            keyOf={(user) => user.user_id}
            columns={[
              {
                key: 'email',
                label: 'E-mail',
                width: 2.4,
                sort: (user) => user.email,
                cell: (user) => (
                  <>
                    <Data text={user.email} mono={false} max={80} />{' '}
                    {user.user_id === me.user_id && <span className="muted">(you)</span>}
                    {user.invite_expires_at && <span className="tag">invited</span>}
                  </>
                ),
              },
              {
                key: 'role',
                label: 'Roles',
                width: 2,
                sort: (user) => rolesText(user.roles),
                cell: (user) =>
                  user.is_admin ? <span className="tag">admin</span> : <span>{rolesText(user.roles)}</span>,
              },
              {
                key: 'since',
                label: 'Since',
                sort: (user) => Date.parse(user.created_at),
                text: (user) => user.created_at,
                cell: (user) => <Time at={user.created_at} className="muted" />,
              },
              {
                key: 'actions',
                label: 'Actions',
                width: 5,
                cell: (user) =>
                  user.user_id === me.user_id ? null : (
                    <span className="decide-buttons">
                      <Button
                        kind="quiet"
                        aria-label={`Change roles of ${visible(user.email)}`}
                        onClick={() => setChanging(user)}
                      >
                        Change roles
                      </Button>
                      <Button
                        kind="quiet"
                        aria-label={`Sessions of ${visible(user.email)}`}
                        onClick={() => setWatching(user)}
                      >
                        Sessions
                      </Button>
                      <Button
                        kind="quiet"
                        aria-label={`New link for ${visible(user.email)}`}
                        onClick={() => setInviting(user)}
                      >
                        New link
                      </Button>
                      <Button
                        kind="quiet"
                        icon="trash"
                        aria-label={`Remove ${visible(user.email)}`}
                        onClick={() => setRemoving(user)}
                      >
                        Remove
                      </Button>
                    </span>
                  ),
              },
            ]}
          />
        )}
      </QueryResult>
      {changing && <ChangeRoles user={changing} onClose={() => setChanging(null)} />}
      {watching && <UserSessions user={watching} onClose={() => setWatching(null)} />}
      {inviting && <RenewInvite user={inviting} onClose={() => setInviting(null)} />}
      <Add open={adding} onClose={() => setAdding(false)} />
      <Confirm
        title="Remove user"
        open={removing !== null}
        onClose={() => setRemoving(null)}
        by={remove}
        act="Remove user"
        onAct={() =>
          removing &&
          remove.mutate({ params: { user_id: removing.user_id } }, { onSuccess: () => setRemoving(null) })
        }
      >
        <p>
          Removing <Data text={removing?.email ?? ''} mono={false} max={120} /> signs this user out within a
          second and blocks further sign-in. Records of earlier actions remain.
        </p>
      </Confirm>
    </section>
  );
}

const empty: { readonly email: string; readonly password: string; readonly roles: readonly Role[] } = {
  email: '',
  password: '',
  roles: [{ role: 'operator', env: '*' }],
};

function Add({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): JSX.Element {
  const add = useAction('addUser', ['listUsers']);
  const [form, setForm] = useState(empty);
  const [url, setUrl] = useState<string | null>(null);
  const close = (): void => {
    setUrl(null);
    onClose();
  };
  const fields = add.error?.fields ?? {};
  if (url !== null)
    return (
      <Dialog title="Invitation" open={open} onClose={close}>
        <InviteLink url={url} />
      </Dialog>
    );
  return (
    <Dialog title="Add user" open={open} onClose={onClose}>
      <Form
        onSubmit={() => {
          add.mutate(
            {
              body: {
                email: form.email,
                roles: [...form.roles],
                ...(form.password === '' ? {} : { password: form.password }),
              },
            },
            {
              onSuccess: (added) => {
                say(`User ${form.email} added.`, 'allow');
                setForm(empty);
                if (added.invite_url) setUrl(added.invite_url);
                else onClose();
              },
            },
          );
        }}
      >
        <Field
          label="E-mail"
          type="email"
          required
          value={form.email}
          onValue={(email) => setForm({ ...form, email })}
          error={fields.email}
        />
        <Field
          label="Initial password"
          type="password"
          minLength={12}
          autoComplete="new-password"
          value={form.password}
          onValue={(password) => setForm({ ...form, password })}
          help="Leave it empty to get an invitation link, by which the user chooses a password. Or use at least 12 characters."
          error={fields.password}
        />
        <RoleEditor roles={form.roles} onRoles={(roles) => setForm({ ...form, roles })} />
        <FormFailed error={add.error} />
        <Button kind="primary" submit busy={add.isPending} disabled={form.roles.length === 0}>
          Add user
        </Button>
      </Form>
    </Dialog>
  );
}
