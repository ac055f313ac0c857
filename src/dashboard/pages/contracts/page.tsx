// The contracts of the library, with filters for text, type and tag, and a peek of one contract.
import { useNavigate } from '@tanstack/react-router';
import { type JSX, useEffect, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useRefusal } from '../../lib/may.ts';
import { readOn, useIsOld, usePageRows, usePages } from '../../lib/query.ts';
import { envs, useFilters } from '../../lib/search.ts';
import { count, counted, loadedText } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { callsColumn } from '../../ui/calls-cell.tsx';
import {
  envsColumn,
  nameColumn,
  nameOrColumn,
  proseColumn,
  tagColumn,
  timeColumn,
  versionColumn,
} from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TabHead } from '../../ui/parts.tsx';
import { QueryProblem } from '../../ui/query-result.tsx';
import { type Resource, ResourceView } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { ContractDetail } from './detail.tsx';
import { ContractForm } from './form.tsx';
import { Import } from './import.tsx';

type Row = Reply<'listContracts'>[number];

const pageSize = 1000;

export const contractTypes = ['pre', 'post', 'session', 'sandbox'] as const;

const keyOf = (row: Row): string => row.contract_id;

/** In the order of environments elsewhere in the console. */
const deployedEnvs = ({ rule }: Row): readonly string[] =>
  envs.filter((env) => rule?.deployed.some((one) => one.env === env));

const columns: readonly Column<Row>[] = [
  nameColumn('id', 'Contract', (row) => row.contract_id, 1.8),
  proseColumn('rule', 'Rule', (row) => row.rule?.sentence ?? null, 3.6),
  nameOrColumn('all')('tools', 'Tools', (row) => row.rule?.tools.join(', ') ?? null, 1.3),
  callsColumn('contract', (row) => row.contract_id),
  envsColumn('not deployed')('deployed', 'Deployed to', deployedEnvs, 2.2),
  proseColumn('name', 'Name', (row) => row.name, 1.2),
  tagColumn('type', 'Type', (row) => row.type, 0.8),
  versionColumn('version', 'Version', (row) => row.version, 0.8),
  timeColumn('at', 'Changed', (row) => row.created_at, 1.1),
];

const contracts: Resource<Row> = {
  name: 'contracts',
  noun: 'contract',
  columns,
  keyOf,
  isSearched: true,
  linkOf: (row) => linkTo.contract(row.contract_id),
  title: (row) => `Contract ${row.contract_id}`,
  peek: (row) => <ContractDetail id={row.contract_id} isPeek />,
  add: {
    ...{ label: 'New contract', kind: 'primary', operation: 'createContract', command: 'newContract' },
    dialog: (close) => <NewContract onClose={close} />,
  },
  empty: {
    title: 'No contracts yet',
    text: 'Contracts appear here when you create them or import a bundle.',
  },
};

export function Contracts(): JSX.Element {
  const [{ search = '', type = '', tag = '' }] = useFilters();
  const [isImporting, setImporting] = useState(false);
  useCommand('importContracts', () => setImporting(true), { why: useRefusal('createContract') });
  const contractsQuery = usePages(
    'listContracts',
    {
      query: {
        limit: pageSize,
        include_rules: 'true',
        ...(search ? { search } : {}),
        ...(type ? { type } : {}),
        ...(tag ? { tag } : {}),
      },
    },
    { keep: true, byOffset: true },
  );
  const rows = usePageRows(contractsQuery, ({ reply }) => reply, keyOf);
  const isOld = useIsOld(contractsQuery, `${search} ${type} ${tag}`);
  const tagsQuery = usePages('listContractTags', { query: { limit: pageSize } }, { byOffset: true });
  const tags = usePageRows(tagsQuery, ({ reply }) => reply);
  useEffect(() => readOn(tagsQuery));
  const narrowed = search !== '' || type !== '' || tag !== '';
  return (
    <>
      <ResourceView
        resource={{
          ...contracts,
          bar: isOld ? '' : loadedText(rows.length, 'contract', contractsQuery.hasNextPage),
          facets: [
            { name: 'type', label: 'Type', all: 'All types', options: contractTypes },
            { name: 'tag', label: 'Tag', all: 'All tags', options: tags },
          ],
        }}
        query={contractsQuery}
        isOld={isOld}
        rows={rows}
        head={(add) => (
          <>
            <TabHead
              summary={
                contractsQuery.data &&
                !isOld &&
                `${contractsQuery.hasNextPage ? `${count(rows.length)}+ contracts` : counted(rows.length, 'contract')} ${narrowed ? 'found' : 'in the library'}.`
              }
            >
              <ActButton operation="createContract" icon="upload" onClick={() => setImporting(true)}>
                Import bundle
              </ActButton>
              {add}
            </TabHead>
            <QueryProblem query={tagsQuery} />
          </>
        )}
      />
      <Import open={isImporting} onClose={() => setImporting(false)} />
    </>
  );
}

function NewContract({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const navigate = useNavigate();
  return (
    <Dialog title="New contract" shape="wide" open onClose={onClose}>
      <ContractForm
        draftName="new contract"
        onClose={onClose}
        onDone={(contractId) => {
          onClose();
          void navigate({ ...linkTo.contract(contractId) });
        }}
      />
    </Dialog>
  );
}
