// Service accounts: programs with roles of their own, for admins. Their tokens are in service-tokens.tsx.
import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Role, rolesText } from '../../lib/roles.ts';
import { visible } from '../../lib/text.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Form } from '../../ui/form.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Field, Time } from '../../ui/parts.tsx';
import { FormFailed, QueryResult } from '../../ui/query-result.tsx';
import { Table } from '../../ui/table.tsx';
import { RoleEditor } from './roles.tsx';
import { Expiry, isSoon, ServiceTokens } from './service-tokens.tsx';

type Account = Reply<'listServiceAccounts'>[number];

/** Names in the warning about expiring tokens. */
const maxNames = 5;

/** What is open over the list: an account of it, or (null) the form of a new one. */
type Open = { readonly what: 'edit'; readonly account: Account | null } | Opened;
interface Opened {
  readonly what: 'tokens' | 'delete';
  readonly account: Account;
}

export function ServiceAccounts(): JSX.Element {
  const accounts = useCall('listServiceAccounts', { query: { limit: 1000 } });
  const remove = useAction('deleteServiceAccount', ['listServiceAccounts']);
  const [open, setOpen] = useState<Open | null>(null);
  const close = (): void => setOpen(null);
  return (
    <section className="card" aria-label="Service accounts">
      <div className="card-head">
        <h2>Service accounts</h2>
        <Button icon="plus" onClick={() => setOpen({ what: 'edit', account: null })}>
          Add service account
        </Button>
      </div>
      <p className="muted">
        Programs that call the hub with a token, such as a pipeline, with roles of their own.
      </p>
      <QueryResult query={accounts} rows={2}>
        {(list) => (
          <>
            <ExpiryWarning accounts={list} />
            <Accounts list={list} onOpen={setOpen} />
          </>
        )}
      </QueryResult>
      {open?.what === 'edit' && <Edit account={open.account} onClose={close} />}
      {open?.what === 'tokens' && <ServiceTokens account={open.account} onClose={close} />}
      <Confirm
        title="Delete service account"
        open={open?.what === 'delete'}
        onClose={close}
        by={remove}
        act="Delete service account"
        onAct={() =>
          open?.what === 'delete' &&
          remove.mutate({ params: { account_id: open.account.id } }, { onSuccess: close })
        }
      >
        <p>
          All tokens of <Data text={open?.account?.name ?? ''} mono={false} max={128} /> stop working within a
          second.
        </p>
      </Confirm>
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

interface AccountsProps {
  readonly list: readonly Account[];
  readonly onOpen: (open: Open) => void;
}

const Accounts = ({ list, onOpen }: AccountsProps): JSX.Element => (
  <Table
    name="service_accounts"
    row="service account"
    sortAs="service_accounts_sort"
    rows={list}
    keyOf={(account) => account.id}
    columns={[
      {
        key: 'name',
        label: 'Name',
        width: 2,
        sort: (account) => account.name,
        cell: (account) => <Data text={account.name} mono={false} max={128} />,
      },
      {
        key: 'roles',
        label: 'Roles',
        width: 2,
        sort: (account) => rolesText(account.roles),
        cell: (account) => rolesText(account.roles),
      },
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
      {
        key: 'since',
        label: 'Since',
        sort: (account) => Date.parse(account.created_at),
        text: (account) => account.created_at,
        cell: (account) => <Time at={account.created_at} className="muted" />,
      },
      {
        key: 'actions',
        label: 'Actions',
        width: 3,
        cell: (account) => (
          <span className="decide-buttons">
            <Button
              kind="quiet"
              aria-label={`Tokens of ${visible(account.name)}`}
              onClick={() => onOpen({ what: 'tokens', account })}
            >
              Tokens
            </Button>
            <Button
              kind="quiet"
              aria-label={`Change ${visible(account.name)}`}
              onClick={() => onOpen({ what: 'edit', account })}
            >
              Change
            </Button>
            <Button
              kind="quiet"
              icon="trash"
              aria-label={`Delete ${visible(account.name)}`}
              onClick={() => onOpen({ what: 'delete', account })}
            >
              Delete
            </Button>
          </span>
        ),
      },
    ]}
  />
);

interface EditProps {
  /** Null: a new one. */
  readonly account: Account | null;
  readonly onClose: () => void;
}

function Edit({ account, onClose }: EditProps): JSX.Element {
  const create = useAction('createServiceAccount', ['listServiceAccounts']);
  const update = useAction('updateServiceAccount', ['listServiceAccounts']);
  const [name, setName] = useState(account?.name ?? '');
  const [roles, setRoles] = useState<readonly Role[]>(
    account?.roles ?? [{ role: 'operator', env: 'staging' }],
  );
  const { error, isPending } = account ? update : create;
  const onSuccess = (): void => {
    say(`Service account ${name} saved.`, 'allow');
    onClose();
  };
  const save = (): void => {
    const body = { name, roles: [...roles] };
    if (account) update.mutate({ params: { account_id: account.id }, body }, { onSuccess });
    else create.mutate({ body }, { onSuccess });
  };
  return (
    <Dialog title={account ? `Change ${account.name}` : 'Add service account'} open onClose={onClose}>
      <Form onSubmit={save}>
        <Field
          label="Name"
          required
          maxLength={128}
          value={name}
          onValue={setName}
          error={error?.fields.name}
        />
        <RoleEditor roles={roles} onRoles={setRoles} />
        <FormFailed error={error} />
        <Button kind="primary" submit busy={isPending} disabled={roles.length === 0}>
          {account ? 'Save' : 'Add service account'}
        </Button>
      </Form>
    </Dialog>
  );
}
