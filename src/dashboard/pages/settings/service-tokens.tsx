// The tokens of a service account. A new one is shown once.
import type { JSX } from 'react';
import { dayMs } from '../../../shared/duration.ts';
import type { Reply } from '../../lib/api.ts';
import { now } from '../../lib/browser.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { proseColumn, timeColumn } from '../../ui/columns.tsx';
import { CopySecret } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Button, Data, Time } from '../../ui/parts.tsx';
import { RecordForm, type Resource, ResourceView, removal } from '../../ui/resource.tsx';

type Token = Reply<'listServiceTokens'>[number];

/** A token that expires within this time is marked. */
const warningMs = 14 * dayMs;

/** True for a time within the next 14 days. */
export const isSoon = (at: string): boolean => {
  const left = Date.parse(at) - now();
  return left > 0 && left < warningMs;
};

const tokensOf = (account: string): Resource<Token> => ({
  name: 'service_tokens',
  noun: 'token',
  sortAs: 'service_tokens_sort',
  keyOf: (token) => token.id,
  columns: [
    proseColumn('label', 'Label', (token) => token.label, 2),
    {
      ...timeColumn<Token>('expires', 'Expires', (token) => token.expires_at, 1.6),
      cell: (token) => <Expiry at={token.expires_at} />,
    },
    timeColumn('used', 'Last used', (token) => token.last_used_at),
  ],
  acts: [
    removal({
      label: 'Revoke',
      title: 'Revoke token',
      of: (token: Token) => token.label,
      operation: 'revokeServiceToken',
      refreshes: ['listServiceTokens', 'listServiceAccounts'],
      input: ({ id }) => ({ params: { account_id: account, token_id: id } }),
      text: (token) => (
        <>
          Scripts with the token <Data text={token.label} mono={false} max={128} /> stop working within a
          second. Last used <Time at={token.last_used_at} />.
        </>
      ),
    }),
  ],
});

export function ServiceTokens({
  account,
  onClose,
}: Readonly<{ account: Reply<'listServiceAccounts'>[number]; onClose: () => void }>): JSX.Element {
  const params = { account_id: account.id };
  const tokens = useCall('listServiceTokens', { params });
  const create = useAction('createServiceToken', ['listServiceTokens', 'listServiceAccounts']);
  const held = create.isPending || create.data !== undefined;
  return (
    <Dialog title={`Tokens of ${account.name}`} open onClose={onClose} held={held}>
      <ResourceView
        resource={tokensOf(account.id)}
        query={tokens}
        rows={tokens.data ?? []}
        head={() => null}
      />
      {create.data ? (
        // No form beside it: the next token would take the place of this one.
        <>
          <p>Store the token now, because the hub does not show it again.</p>
          <CopySecret text={create.data.token} noun="token" />
          <Button onClick={onClose}>Close</Button>
        </>
      ) : (
        <RecordForm
          initial={{ label: '', days: '90' }}
          by={create}
          act="Create token"
          fields={() => [
            { name: 'label', label: 'Label', required: true, maxLength: 128 },
            {
              ...{ name: 'days', sent: 'expires_in_days', label: 'Expires in (days)' },
              ...{ type: 'number', min: 1, max: 366, required: true },
            },
          ]}
          onSubmit={({ label, days }) =>
            create.mutate({ params, body: { label, expires_in_days: Number(days) } })
          }
        />
      )}
    </Dialog>
  );
}

export function Expiry({ at }: { readonly at: string }): JSX.Element {
  const left = Date.parse(at) - now();
  if (left <= 0) return <span className="tone-deny">expired</span>;
  return (
    <>
      <Time at={at} className="muted" /> {isSoon(at) && <span className="tag tone-ask">soon</span>}
    </>
  );
}
