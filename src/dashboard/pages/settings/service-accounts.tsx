// Service accounts: programs with roles of their own, for admins. Their tokens are in service-tokens.tsx.

import { type JSX, useState } from 'react';
import { call, type Reply } from '../../lib/api.ts';
import { usePageMutation } from '../../lib/mutation.ts';
import { refresh, useAction, usePageRows, usePages } from '../../lib/query.ts';
import { type Role, rolesText } from '../../lib/roles.ts';
import { loadedText, visible } from '../../lib/text.ts';
import { proseColumn, timeColumn, wordColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { EditConflict } from '../../ui/edit-conflict.tsx';
import { say } from '../../ui/messages.tsx';
import { Data } from '../../ui/parts.tsx';
import { RecordForm, type Resource, ResourceView, removal } from '../../ui/resource.tsx';
import { adminPage } from './admin-page.tsx';
import { areSameRoles, RoleEditor, reloadRow, useRolesDraft } from './roles.tsx';
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
  add: { label: 'Add service account', dialog: (close) => <Add onClose={close} /> },
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
      dialog: (account, close) => <Change account={account} onClose={close} />,
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

const fieldsOf = [{ name: 'name', label: 'Name', required: true, maxLength: 128 }] as const;

function Add({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const create = useAction('createServiceAccount', ['listServiceAccounts']);
  const [roles, setRoles] = useState<readonly Role[]>([{ role: 'operator', env: 'staging' }]);
  return (
    <Dialog title="Add service account" open onClose={onClose}>
      <RecordForm
        initial={{ name: '' }}
        by={create}
        act="Add service account"
        isOff={roles.length === 0}
        fields={() => fieldsOf}
        onSubmit={({ name }) =>
          create.mutate({ body: { name, roles: [...roles] } }, () => {
            saySaved(name);
            onClose();
          })
        }
      >
        {() => <RoleEditor roles={roles} onRoles={setRoles} />}
      </RecordForm>
    </Dialog>
  );
}

const saySaved = (name: string): void => say(`Service account ${name} saved.`, 'allow');

interface AccountChange {
  readonly id: string;
  /** Undefined: the name stays. */
  readonly name: string | undefined;
  /** Undefined: the roles stay. */
  readonly roles: readonly Role[] | undefined;
  /** The roles that the change is based on. */
  readonly base: readonly Role[];
}

/** @returns null if the list has other roles than `base`: nothing is saved */
async function saveAccount({ id, name, roles, base }: AccountChange) {
  if (roles) {
    const newest = await reloadRow<Account>('listServiceAccounts', (account) => account.id === id);
    if (newest && !areSameRoles(newest.roles, base)) return null;
  }
  const body = { ...(name === undefined ? {} : { name }), ...(roles ? { roles: [...roles] } : {}) };
  return call('updateServiceAccount', { params: { account_id: id }, body });
}

interface ChangeProps {
  /** Its newest state. */
  readonly account: Account;
  readonly onClose: () => void;
}

function Change({ account, onClose }: ChangeProps): JSX.Element {
  const update = usePageMutation(saveAccount, () => refresh(['listServiceAccounts']));
  const draft = useRolesDraft(account.roles, 'listServiceAccounts', update);
  const { roles, base, hasMoved, setRoles } = draft;
  const [initial] = useState({ name: account.name });
  const save = (name: string): void => {
    // Another admin may have changed the rest.
    const change = {
      name: name === initial.name ? undefined : name,
      roles: areSameRoles(roles, base) ? undefined : roles,
    };
    if (!change.name && !change.roles) {
      onClose();
      return;
    }
    // The dialog keeps its roles, whatever the list contains now.
    setRoles(roles);
    update.mutate({ id: account.id, base, ...change }, (saved) => {
      if (saved === null) return;
      saySaved(name);
      onClose();
    });
  };
  return (
    <Dialog title={`Change ${account.name}`} open onClose={onClose}>
      <RecordForm
        initial={initial}
        by={update}
        act="Save"
        isOff={roles.length === 0 || hasMoved}
        fields={() => fieldsOf}
        onSubmit={({ name }) => save(name)}
      >
        {() => (
          <>
            <RoleEditor roles={roles} onRoles={setRoles} />
            {hasMoved && <EditConflict noun="service account" onLoad={draft.load} onKeep={draft.keep} />}
          </>
        )}
      </RecordForm>
    </Dialog>
  );
}

export default adminPage('Service accounts', 'change service accounts', ServiceAccounts);
