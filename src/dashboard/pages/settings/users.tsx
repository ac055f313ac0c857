// Users: add one with an initial password, change roles, remove one. The last admin stays.

import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, usePageRows, usePages } from '../../lib/query.ts';
import { type Role, rolesText } from '../../lib/roles.ts';
import { loadedText, visible } from '../../lib/text.ts';
import { timeColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { say } from '../../ui/messages.tsx';
import { Data } from '../../ui/parts.tsx';
import { RecordForm, type Resource, ResourceView, type RowAct, removal } from '../../ui/resource.tsx';
import { adminPage } from './admin-page.tsx';
import { Invitation, RenewInvite } from './invite.tsx';
import { ChangeRoles, RoleEditor } from './roles.tsx';
import { UserSessions } from './sessions.tsx';

type User = Reply<'listUsers'>[number];

const actsOnOthers: readonly RowAct<User>[] = [
  {
    label: 'Change roles',
    name: (user) => `Change roles of ${visible(user.email)}`,
    dialog: (user, close) => <ChangeRoles user={user} onClose={close} />,
  },
  {
    label: 'Sessions',
    name: (user) => `Sessions of ${visible(user.email)}`,
    dialog: (user, close) => <UserSessions user={user} onClose={close} />,
  },
  {
    label: 'New link',
    name: (user) => `New link for ${visible(user.email)}`,
    dialog: (user, close) => <RenewInvite user={user} onClose={close} />,
  },
  removal({
    label: 'Remove',
    title: 'Remove user',
    of: (user: User) => user.email,
    operation: 'removeUser',
    refreshes: ['listUsers'],
    input: (user) => ({ params: { user_id: user.user_id } }),
    text: (user) => (
      <Data
        before="Removing "
        text={user.email}
        mono={false}
        max={120}
        after=" signs this user out within a second and blocks further sign-in. Records of earlier actions remain."
      />
    ),
  }),
];

const userIdOf = (user: User): string => user.user_id;

const users = (own: string): Resource<User> => ({
  name: 'people',
  noun: 'user',
  sortAs: 'people_sort',
  keyOf: userIdOf,
  columns: [
    {
      key: 'email',
      label: 'E-mail',
      width: 2.4,
      sort: (user) => user.email,
      cell: (user) => (
        <>
          <Data text={user.email} mono={false} max={80} />{' '}
          {user.user_id === own && <span className="muted">(you)</span>}
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
    timeColumn('since', 'Since', (user) => user.created_at),
  ],
  add: { label: 'Add user', command: 'addUser', dialog: (close) => <Add onClose={close} /> },
  actsWidth: 5,
  acts: actsOnOthers.map((act) => ({ ...act, isHidden: (user) => user.user_id === own })),
});

function Users(): JSX.Element {
  const me = useSignedIn();
  const usersQuery = usePages('listUsers', { query: { limit: 1000 } }, { byOffset: true });
  const rows = usePageRows(usersQuery, ({ reply }) => reply, userIdOf);
  return (
    <section className="card" aria-label="Users">
      <ResourceView
        resource={{ ...users(me.user_id), bar: loadedText(rows.length, 'user', usersQuery.hasNextPage) }}
        query={usersQuery}
        rows={rows}
        head={(add) => (
          <div className="card-head">
            <h2>Users</h2>
            {add}
          </div>
        )}
      />
    </section>
  );
}

function Add({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const add = useAction('addUser', ['listUsers']);
  const [roles, setRoles] = useState<readonly Role[]>([{ role: 'operator', env: '*' }]);
  const url = add.data?.invite_url;
  if (url) return <Invitation title="Invitation" url={url} onClose={onClose} />;
  return (
    <Dialog title="Add user" open onClose={onClose} held={add.isPending}>
      <RecordForm
        initial={{ email: '', password: '' }}
        by={add}
        act="Add user"
        isOff={roles.length === 0}
        fields={() => [
          { name: 'email', label: 'E-mail', type: 'email', required: true },
          {
            ...{ name: 'password', label: 'Initial password', type: 'password' },
            ...{ minLength: 12, autoComplete: 'new-password' },
            help: 'Leave it empty to get an invitation link, by which the user chooses a password. Or use at least 12 characters.',
          },
        ]}
        onSubmit={({ email, password }) =>
          add.mutate(
            { body: { email, roles: [...roles], ...(password === '' ? {} : { password }) } },
            ({ invite_url: invited }) => {
              say(`User ${email} added.`, 'allow');
              if (!invited) onClose();
            },
          )
        }
      >
        {() => <RoleEditor roles={roles} onRoles={setRoles} />}
      </RecordForm>
    </Dialog>
  );
}

export default adminPage('People', 'change users', Users);
