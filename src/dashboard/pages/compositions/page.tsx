// The compositions: ordered contracts with their modes, assembled into deployable bundles.
import { useNavigate } from '@tanstack/react-router';
import { type JSX, useMemo } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { useAction, usePageRows, usePages } from '../../lib/query.ts';
import { count, counted, loadedText } from '../../lib/text.ts';
import { countColumn, nameColumn, proseColumn, tagColumn, timeColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { say } from '../../ui/messages.tsx';
import { TabHead } from '../../ui/parts.tsx';
import { RecordForm, type Resource, ResourceView } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import {
  type Deployments,
  deployedColumn,
  documentCallsColumn,
  useDeployments,
} from '../policies/deployed.tsx';
import { CompositionPeek } from './detail.tsx';

type Row = Reply<'listCompositions'>[number];

const columnsOf = (deployments: Deployments): readonly Column<Row>[] => [
  nameColumn('name', 'Composition', (row) => row.name, 2),
  proseColumn(
    'description',
    'Description',
    (row) => (typeof row.description === 'string' ? row.description : ''),
    2.4,
  ),
  countColumn('contracts', 'Contracts', (row) => row.contract_count),
  tagColumn('mode', 'Mode', (row) => row.defaults_mode),
  documentCallsColumn(deployments),
  deployedColumn(deployments),
  proseColumn('by', 'Created by', (row) => row.created_by, 1.6),
  timeColumn('at', 'Changed', (row) => row.updated_at, 1.1),
];

const compositions: Omit<Resource<Row>, 'columns'> = {
  name: 'compositions',
  noun: 'composition',
  keyOf: (row) => row.name,
  linkOf: (row) => linkTo.composition(row.name),
  title: (row) => `Composition ${row.name}`,
  peek: (row) => <CompositionPeek name={row.name} />,
  add: {
    label: 'New composition',
    kind: 'primary',
    operation: 'createComposition',
    command: 'newComposition',
    dialog: (close) => <Make onClose={close} />,
  },
  empty: {
    title: 'No compositions yet',
    text: 'Compositions appear here when you create them. A composition orders library contracts for deployment.',
  },
};

export function Compositions(): JSX.Element {
  const compositionsQuery = usePages('listCompositions', { query: { limit: 1000 } }, { byOffset: true });
  const rows = usePageRows(compositionsQuery, ({ reply }) => reply, compositions.keyOf);
  const deployments = useDeployments();
  const resource = useMemo(() => ({ ...compositions, columns: columnsOf(deployments) }), [deployments]);
  return (
    <ResourceView
      resource={{ ...resource, bar: loadedText(rows.length, 'composition', compositionsQuery.hasNextPage) }}
      query={compositionsQuery}
      rows={rows}
      head={(add) => (
        <TabHead
          summary={
            compositionsQuery.data &&
            `${compositionsQuery.hasNextPage ? `${count(rows.length)}+ compositions` : counted(rows.length, 'composition')}.`
          }
        >
          {add}
        </TabHead>
      )}
    />
  );
}

function Make({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const make = useAction('createComposition', ['listCompositions']);
  const navigate = useNavigate();
  return (
    <Dialog title="New composition" open onClose={onClose}>
      <RecordForm
        initial={{ name: '', description: '', mode: 'enforce', kind: '' }}
        by={make}
        act="Create composition"
        fields={() => [
          { name: 'name', label: 'Name', required: true, help: 'Also the name of the deployed bundle.' },
          { name: 'description', label: 'Description' },
          {
            ...{ name: 'mode', label: 'Default mode' },
            options: [
              ['enforce', 'enforce: contracts apply'],
              ['observe', 'observe: contracts only record'],
            ],
          },
          {
            ...{ name: 'kind', label: 'Document' },
            options: [
              ['', 'hub default'],
              ['bundle', 'contract bundle: for /api/v1 agents'],
              ['ruleset', 'ruleset: for /v1 agents'],
            ],
          },
        ]}
        onSubmit={({ name, description, mode, kind }) => {
          const body = { name, description: description || null };
          make.mutate(
            {
              body: { ...body, defaults_mode: mode, document_kind: kind || null },
            } as Input<'createComposition'>,
            () => {
              say(`${name} created. Add contracts to it.`, 'allow');
              onClose();
              void navigate({ ...linkTo.composition(name) });
            },
          );
        }}
      >
        {() => (
          <p className="muted">
            Some agents load only one kind of document. Agents built with reeve-agent load both.
          </p>
        )}
      </RecordForm>
    </Dialog>
  );
}
