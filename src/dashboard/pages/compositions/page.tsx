// The compositions: ordered contracts with their modes, assembled into deployable bundles.

import { useNavigate } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useRefusal } from '../../lib/may.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { nameColumn, proseColumn, timeColumn } from '../../ui/columns.tsx';
import { Form } from '../../ui/form.tsx';
import { PeekList } from '../../ui/list.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Empty, Field, Name, Select, TabHead } from '../../ui/parts.tsx';
import { FormFailed } from '../../ui/query-result.tsx';
import type { Column } from '../../ui/table.tsx';
import { CompositionPeek } from './detail.tsx';

type Row = Reply<'listCompositions'>[number];

const columns: readonly Column<Row>[] = [
  nameColumn('name', 'Composition', (row) => row.name, 2),
  {
    key: 'description',
    label: 'Description',
    width: 2.4,
    sort: (row) => (typeof row.description === 'string' ? row.description : ''),
    cell: (row) => <Name mono={false} text={typeof row.description === 'string' ? row.description : '–'} />,
  },
  {
    key: 'contracts',
    label: 'Contracts',
    number: true,
    sort: (row) => row.contract_count,
    cell: (row) => row.contract_count,
  },
  {
    key: 'mode',
    label: 'Mode',
    sort: (row) => row.defaults_mode,
    cell: (row) => <span className="tag">{row.defaults_mode}</span>,
  },
  proseColumn('by', 'Created by', (row) => row.created_by, 1.6),
  timeColumn('at', 'Changed', (row) => row.updated_at, 1.1),
];

export function Compositions(): JSX.Element {
  const [making, setMaking] = useState(false);
  useCommand('newComposition', () => setMaking(true), { why: useRefusal('createComposition') });
  const compositionsQuery = useCall('listCompositions', { query: { limit: 1000 } });
  return (
    <>
      <TabHead
        summary={compositionsQuery.data && `${counted(compositionsQuery.data.length, 'composition')}.`}
      >
        <ActButton operation="createComposition" kind="primary" icon="plus" onClick={() => setMaking(true)}>
          New composition
        </ActButton>
      </TabHead>
      <PeekList
        query={compositionsQuery}
        name="compositions"
        row="composition"
        rows={compositionsQuery.data ?? []}
        columns={columns}
        keyOf={(row) => row.name}
        empty={
          <Empty title="No compositions yet">
            <p>
              Compositions appear here when you create them. A composition orders library contracts for
              deployment.
            </p>
          </Empty>
        }
        linkOf={(row) => linkTo.composition(row.name)}
        title={(row) => `Composition ${row.name}`}
        peek={(row) => <CompositionPeek name={row.name} />}
      />
      <Make open={making} onClose={() => setMaking(false)} />
    </>
  );
}

function Make({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): JSX.Element {
  const make = useAction('createComposition', ['listCompositions']);
  const navigate = useNavigate();
  const [form, setForm] = useState({ name: '', description: '', mode: 'enforce', kind: '' });
  const fields = make.error?.fields ?? {};
  const done = (): void => {
    say(`${form.name} created. Add contracts to it.`, 'allow');
    onClose();
    void navigate({ ...linkTo.composition(form.name) });
  };
  return (
    <Dialog title="New composition" open={open} onClose={onClose}>
      <Form
        onSubmit={() => {
          make.mutate(
            {
              body: {
                name: form.name,
                description: form.description || null,
                defaults_mode: form.mode,
                document_kind: form.kind || null,
              },
            } as Input<'createComposition'>,
            { onSuccess: done },
          );
        }}
      >
        <Field
          label="Name"
          required
          value={form.name}
          onValue={(name) => setForm({ ...form, name })}
          help="Also the name of the deployed bundle."
          error={fields.name}
        />
        <Field
          label="Description"
          value={form.description}
          onValue={(description) => setForm({ ...form, description })}
          error={fields.description}
        />
        <Select
          label="Default mode"
          value={form.mode}
          options={[
            ['enforce', 'enforce: contracts apply'],
            ['observe', 'observe: contracts only record'],
          ]}
          onValue={(mode) => setForm({ ...form, mode })}
        />
        <Select
          label="Document"
          value={form.kind}
          options={[
            ['', 'hub default'],
            ['bundle', 'contract bundle: for /api/v1 agents'],
            ['ruleset', 'ruleset: for /v1 agents'],
          ]}
          onValue={(kind) => setForm({ ...form, kind })}
        />
        <p className="muted">
          Some agents load only one kind of document. Agents built with reeve-agent load both.
        </p>
        <FormFailed error={make.error} />
        <Button kind="primary" submit busy={make.isPending}>
          Create composition
        </Button>
      </Form>
    </Dialog>
  );
}
