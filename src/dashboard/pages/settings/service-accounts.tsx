// Service accounts: programs with roles of their own, for admins. Their tokens are in service-tokens.tsx.

import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useAction, usePageRows, usePages } from '../../lib/query.ts';
import { type Role, rolesText } from '../../lib/roles.ts';
import { loadedText, visible } from '../../lib/text.ts';
import { proseColumn, timeColumn, wordColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { say } from '../../ui/messages.tsx';
import { Data } from '../../ui/parts.tsx';
import { RecordForm, type Resource, ResourceView, removal } from '../../ui/resource.tsx';
import { adminPage } from './admin-page.tsx';
import { RoleEditor } from './roles.tsx';
import { Expiry, isSoon, ServiceTokens } from './service-tokens.tsx';

type Account = Reply<'listServiceAccounts'>[number];

/** Names in the warning about expiring tokens. */
const maxNames = 5;

const accountsOf: Resource<Account> = {
  name: 'service_accounts',
  noun: 'service account',
  sortAs: 'service_accounts_sort',
  keyOf: (account) => account.id,
  columns: [
    proseColumn('name', 'Name', (account) => account.name, 2),
    wordColumn('roles', 'Roles', (account) => rolesText(account.roles), 2),
    {
      key: 'expiry',
      label: 'Next expiry',
      width: 1.6,
      sort: (account) => Date.parse(account.next_expiry_at ?? '9999-01-01'),
      text: (account) => account.next_expiry_at ?? '',
      cell: (account) =>
        account.next_expiry_at ? (
          <Expiry at={account.next_expiry_at} />
        ) : (
          <span className="muted">no token</span>
        ),
    },
    timeColumn('since', 'Since', (account) => account.created_at),
  ],
  empty: {
    title: 'No service accounts yet',
    text: 'Programs with roles of their own appear here when an admin adds them.',
  },
  add: { label: 'Add service account', dialog: (close) => <Edit account={null} onClose={close} /> },
  actsWidth: 3,
  acts: [
    {
      label: 'Tokens',
      name: (account) => `Tokens of ${visible(account.name)}`,
      dialog: (account, close) => <ServiceTokens account={account} onClose={close} />,
    },
    {
      label: 'Change',
      name: (account) => `Change ${visible(account.name)}`,
      dialog: (account, close) => <Edit account={account} onClose={close} />,
    },
    removal({
      label: 'Delete',
      title: 'Delete service account',
      of: (account: Account) => account.name,
      operation: 'deleteServiceAccount',
      refreshes: ['listServiceAccounts'],
      input: ({ id }) => ({ params: { account_id: id } }),
      text: ({ name }) => (
        <Data
          before="All tokens of "
          text={name}
          mono={false}
          max={128}
          after=" stop working within a second."
        />
      ),
    }),
  ],
};

function ServiceAccounts(): JSX.Element {
  const accountsQuery = usePages('listServiceAccounts', { query: { limit: 1000 } }, { byOffset: true });
  const accounts = usePageRows(accountsQuery, ({ reply }) => reply, accountsOf.keyOf);
  const bar = loadedText(accounts.length, 'service account', accountsQuery.hasNextPage);
  return (
    <section className="card" aria-label="Service accounts">
      <ResourceView
        resource={{ ...accountsOf, bar }}
        query={accountsQuery}
        rows={accounts}
        head={(add) => (
          <>
            <div className="card-head">
              <h2>Service accounts</h2>
              {add}
            </div>
            <p className="muted">
              Programs that call the hub with a token, such as a pipeline, with roles of their own.
            </p>
            <ExpiryWarning accounts={accounts} />
          </>
        )}
      />
    </section>
  );
}

/** Names accounts with a token that expires within 14 days, so that nobody has to open each. */
function ExpiryWarning({ accounts }: { readonly accounts: readonly Account[] }): JSX.Element | null {
  const expiring = accounts.filter(({ next_expiry_at: at }) => at !== null && isSoon(at));
  if (expiring.length === 0) return null;
  const names = expiring.slice(0, maxNames).map(({ name }) => visible(name));
  const others = expiring.length - names.length;
  return (
    <p className="notice notice-ask" role="status">
      A token of {names.join(', ')}
      {others > 0 ? ` and ${others} more` : ''} expires within 14 days. Create a new token and use it, then
      revoke the old one.
    </p>
  );
}

interface EditProps {
  /** Null: a new one. */
  readonly account: Account | null;
  readonly onClose: () => void;
}

function Edit({ account, onClose }: EditProps): JSX.Element {
  const create = useAction('createServiceAccount', ['listServiceAccounts']);
  const update = useAction('updateServiceAccount', ['listServiceAccounts']);
  const [initial] = useState(account);
  const [roles, setRoles] = useState<readonly Role[]>(
    account?.roles ?? [{ role: 'operator', env: 'staging' }],
  );
  const save = (name: string): void => {
    const onSuccess = (): void => {
      say(`Service account ${name} saved.`, 'allow');
      onClose();
    };
    if (account === null) {
      create.mutate({ body: { name, roles: [...roles] } }, onSuccess);
      return;
    }
    // Another admin may have changed the rest.
    const body = {
      ...(name === initial?.name ? {} : { name }),
      ...(roles === initial?.roles ? {} : { roles: [...roles] }),
    };
    if (Object.keys(body).length === 0) onClose();
    else update.mutate({ params: { account_id: account.id }, body }, onSuccess);
  };
  return (
    <Dialog title={account ? `Change ${account.name}` : 'Add service account'} open onClose={onClose}>
      <RecordForm
        initial={{ name: initial?.name ?? '' }}
        by={account ? update : create}
        act={account ? 'Save' : 'Add service account'}
        isOff={roles.length === 0}
        fields={() => [{ name: 'name', label: 'Name', required: true, maxLength: 128 }]}
        onSubmit={({ name }) => save(name)}
      >
        {() => <RoleEditor roles={roles} onRoles={setRoles} />}
      </RecordForm>
    </Dialog>
  );
}

export default adminPage('Service accounts', 'change service accounts', ServiceAccounts);
