// Contracts: the library. Search by text, type and tag; one contract in a panel with its editor, its versions and where
// it is used.
import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { nameColumn, timeColumn } from '../../ui/columns.tsx';
import { Editor } from '../../ui/editor.tsx';
import { ListWithPanel, SearchInput } from '../../ui/list.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Empty, Failed, Name, PageHead, Select } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table.tsx';
import { ContractDetail } from './detail.tsx';
import { ContractForm } from './form.tsx';
import { starterBundle } from './starters.ts';

type Row = Reply<'listContracts'>[number];

export const contractTypes = ['pre', 'post', 'session', 'sandbox'] as const;
const tagsOf = ({ tags }: Row): readonly string[] => (Array.isArray(tags) ? tags : []);

const columns: readonly Column<Row>[] = [
  nameColumn('id', 'Contract', (row) => row.contract_id, 2),
  { key: 'name', label: 'Name', width: 2, sort: (row) => row.name, cell: (row) => <Name text={row.name} /> },
  {
    key: 'type',
    label: 'Type',
    sort: (row) => row.type,
    cell: (row) => <span className="tag">{row.type}</span>,
  },
  {
    key: 'tags',
    label: 'Tags',
    width: 1.6,
    sort: (row) => tagsOf(row).join(' '),
    cell: (row) => <Name text={tagsOf(row).join(', ') || '–'} />,
  },
  {
    key: 'version',
    label: 'Version',
    width: 0.9,
    number: true,
    sort: (row) => row.version,
    cell: (row) => `v${row.version}`,
  },
  {
    key: 'used',
    label: 'Used in',
    width: 0.9,
    number: true,
    sort: (row) => row.usage_count,
    cell: (row) => row.usage_count,
  },
  timeColumn('at', 'Changed', (row) => row.created_at, 1.1),
];

export default function Contracts(): JSX.Element {
  const [{ search = '', type = '', tag = '' }, change] = useFilters();
  const [open, setOpen] = useState<'new' | 'import' | null>(null);
  useCommand('newContract', () => setOpen('new'));
  useCommand('importContracts', () => setOpen('import'));
  const found = useCall(
    'listContracts',
    {
      query: {
        limit: 1000,
        ...(search ? { search } : {}),
        ...(type ? { type } : {}),
        ...(tag ? { tag } : {}),
      },
    },
    { keep: true },
  );
  const tags = [...new Set((found.data ?? []).flatMap(tagsOf))].sort();
  const narrowed = search !== '' || type !== '' || tag !== '';
  return (
    <div className="page">
      <PageHead
        title="Contracts"
        says={
          found.data && `${counted(found.data.length, 'contract')} ${narrowed ? 'fit' : 'in the library'}.`
        }
      >
        <Button icon="upload" onClick={() => setOpen('import')}>
          Import bundle
        </Button>
        <Button kind="primary" icon="plus" onClick={() => setOpen('new')}>
          New contract
        </Button>
      </PageHead>
      <div className="filter-bar">
        <SearchInput of="contracts" />
        <Select
          compact
          label="Type"
          value={type}
          options={[['', 'Every type'], ...contractTypes.map((one) => [one, one] as const)]}
          onValue={(next) => change({ type: next })}
        />
        <Select
          compact
          label="Tag"
          value={tag}
          options={[
            ['', 'Every tag'],
            ...[...new Set([...tags, ...(tag ? [tag] : [])])].map((one) => [one, one] as const),
          ]}
          onValue={(next) => change({ tag: next })}
        />
      </div>
      <ListWithPanel
        of={found}
        name="contracts"
        rows={found.data ?? []}
        columns={columns}
        keyOf={(row) => row.contract_id}
        empty={
          <Empty title={narrowed ? 'No contract fits' : 'The library is empty'}>
            <p>{narrowed ? 'Remove a filter.' : 'Write a contract, or import a bundle that you have.'}</p>
          </Empty>
        }
        title={(id) => `Contract ${id}`}
        panel={(id) => <ContractDetail key={id} id={id} />}
      />
      <Dialog title="New contract" shape="wide" open={open === 'new'} onClose={() => setOpen(null)}>
        <ContractForm
          onDone={(made) => {
            setOpen(null);
            change({ id: made });
          }}
        />
      </Dialog>
      <Import open={open === 'import'} onClose={() => setOpen(null)} />
    </div>
  );
}

function Import({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): JSX.Element {
  const [text, setText] = useState(starterBundle);
  const run = useAction('importContracts', ['listContracts', 'listCompositions']);
  const done = ({ contracts_created: made, contracts_updated: changed }: Reply<'importContracts'>): void => {
    say(
      `${counted(made.length, 'contract')} added, ${counted(changed.length, 'contract')} got a new version.`,
      'allow',
    );
    onClose();
  };
  return (
    <Dialog title="Import bundle" shape="wide" open={open} onClose={onClose}>
      <p className="page-says">
        The bundle is taken apart into contracts, and a composition of its name is made unless there is one.
      </p>
      {open && <Editor label="Bundle as YAML" value={text} onValue={setText} />}
      {run.error && <Failed error={run.error} />}
      <div className="decide-buttons">
        <Button
          kind="primary"
          busy={run.isPending}
          onClick={() => run.mutate({ body: { yaml_content: text } }, { onSuccess: done })}
        >
          Import bundle
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </Dialog>
  );
}
