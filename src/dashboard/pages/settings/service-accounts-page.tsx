// The service accounts of the workspace, with their tokens.
import type { JSX } from 'react';
import { AdminPage } from './admin-page.tsx';
import { ServiceAccounts } from './service-accounts.tsx';

export default function ServiceAccountsPage(): JSX.Element {
  return (
    <AdminPage title="Service accounts" needs="change service accounts">
      <ServiceAccounts />
    </AdminPage>
  );
}
