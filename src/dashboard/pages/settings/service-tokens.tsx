// The tokens of a service account. A new one is shown once.
import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { now } from '../../lib/browser.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { visible } from '../../lib/text.ts';
import { copyText } from '../../ui/download.ts';
import { Form } from '../../ui/form.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Field, Time } from '../../ui/parts.tsx';
import { Failed, FormFailed, QueryResult } from '../../ui/query-result.tsx';
import { Table } from '../../ui/table.tsx';

type Token = Reply<'listServiceTokens'>[number];

const dayMs = 86_400_000;
/** A token that expires within this time is marked. */
const warningMs = 14 * dayMs;

/** True for a time within the next 14 days. */
export const isSoon = (at: string): boolean => {
  const left = Date.parse(at) - now();
  return left > 0 && left < warningMs;
};

interface TokensProps {
  readonly account: Reply<'listServiceAccounts'>[number];
  readonly onClose: () => void;
}

export function ServiceTokens({ account, onClose }: TokensProps): JSX.Element {
  const params = { account_id: account.id };
  const tokens = useCall('listServiceTokens', { params });
  const create = useAction('createServiceToken', ['listServiceTokens', 'listServiceAccounts']);
  const revoke = useAction('revokeServiceToken', ['listServiceTokens', 'listServiceAccounts']);
  const [form, setForm] = useState({ label: '', days: '90' });
  const copy = async (token: string): Promise<void> =>
    say(
      (await copyText(token))
        ? 'Token copied.'
        : 'The browser blocked the clipboard. Select the token and copy it.',
    );
  const fields = create.error?.fields ?? {};
  return (
    <Dialog title={`Tokens of ${account.name}`} open onClose={onClose}>
      {revoke.error && <Failed error={revoke.error} />}
      <QueryResult query={tokens} rows={2}>
        {(list) => (
          <TokenTable
            tokens={list}
            onRevoke={({ id }) => revoke.mutate({ params: { ...params, token_id: id } })}
          />
        )}
      </QueryResult>
      {create.data && (
        <>
          <p>Store the token now, because the hub does not show it again.</p>
          <pre className="code">
            <Data text={create.data.token} max={200} />
          </pre>
          <Button icon="copy" onClick={() => void copy(create.data?.token ?? '')}>
            Copy token
          </Button>
        </>
      )}
      <Form
        onSubmit={() =>
          create.mutate(
            { params, body: { label: form.label, expires_in_days: Number(form.days) } },
            { onSuccess: () => setForm({ label: '', days: '90' }) },
          )
        }
      >
        <Field
          label="Label"
          required
          maxLength={128}
          value={form.label}
          onValue={(label) => setForm({ ...form, label })}
          error={fields.label}
        />
        <Field
          label="Expires in (days)"
          type="number"
          min={1}
          max={366}
          required
          value={form.days}
          onValue={(days) => setForm({ ...form, days })}
          error={fields.expires_in_days}
        />
        <FormFailed error={create.error} />
        <Button kind="primary" submit busy={create.isPending}>
          Create token
        </Button>
      </Form>
    </Dialog>
  );
}

interface TableProps {
  readonly tokens: readonly Token[];
  readonly onRevoke: (token: Token) => void;
}

const TokenTable = ({ tokens, onRevoke }: TableProps): JSX.Element => (
  <Table
    name="service_tokens"
    row="token"
    sortAs="service_tokens_sort"
    rows={tokens}
    keyOf={(token) => token.id}
    columns={[
      {
        key: 'label',
        label: 'Label',
        width: 2,
        sort: (token) => token.label,
        cell: (token) => <Data text={token.label} mono={false} max={128} />,
      },
      {
        key: 'expires',
        label: 'Expires',
        width: 1.6,
        sort: (token) => Date.parse(token.expires_at),
        text: (token) => token.expires_at,
        cell: (token) => <Expiry at={token.expires_at} />,
      },
      {
        key: 'used',
        label: 'Last used',
        sort: (token) => Date.parse(token.last_used_at ?? '1970-01-01'),
        text: (token) => token.last_used_at ?? '',
        cell: (token) =>
          token.last_used_at ? <Time at={token.last_used_at} className="muted" /> : <span>never</span>,
      },
      {
        key: 'actions',
        label: 'Actions',
        cell: (token) => (
          <Button kind="quiet" aria-label={`Revoke ${visible(token.label)}`} onClick={() => onRevoke(token)}>
            Revoke
          </Button>
        ),
      },
    ]}
  />
);

export function Expiry({ at }: { readonly at: string }): JSX.Element {
  const left = Date.parse(at) - now();
  if (left <= 0) return <span className="tone-deny">expired</span>;
  return (
    <>
      <Time at={at} className="muted" /> {isSoon(at) && <span className="tag tone-ask">soon</span>}
    </>
  );
}
