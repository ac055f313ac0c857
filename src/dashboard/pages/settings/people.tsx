// The people of the workspace, with their roles and invitations.
import type { JSX } from 'react';
import { AdminPage } from './admin-page.tsx';
import { Users } from './users.tsx';

export default function People(): JSX.Element {
  return (
    <AdminPage title="People" needs="change users">
      <Users />
    </AdminPage>
  );
}
