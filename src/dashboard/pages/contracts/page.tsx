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
import { Choice } from '../../ui/choice.tsx';
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
import { Select } from '../../ui/form.tsx';
import { PeekList, SearchInput } from '../../ui/list.tsx';
import { Empty, TabHead } from '../../ui/parts.tsx';
import { QueryProblem } from '../../ui/query-result.tsx';
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

export function Contracts(): JSX.Element {
  const [{ search = '', type = '', tag = '' }, change] = useFilters();
  const [open, setOpen] = useState<'new' | 'import' | null>(null);
  const navigate = useNavigate();
  const why = useRefusal('createContract');
  useCommand('newContract', () => setOpen('new'), { why });
  useCommand('importContracts', () => setOpen('import'), { why });
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
      <TabHead
        summary={
          contractsQuery.data &&
          !isOld &&
          `${contractsQuery.hasNextPage ? `${count(rows.length)}+ contracts` : counted(rows.length, 'contract')} ${narrowed ? 'found' : 'in the library'}.`
        }
      >
        <ActButton operation="createContract" icon="upload" onClick={() => setOpen('import')}>
          Import bundle
        </ActButton>
        <ActButton operation="createContract" kind="primary" icon="plus" onClick={() => setOpen('new')}>
          New contract
        </ActButton>
      </TabHead>
      <div className="filter-bar">
        <SearchInput items="contracts" />
        <Select
          compact
          label="Type"
          value={type}
          options={[['', 'All types'], ...contractTypes]}
          onValue={(next) => change({ type: next })}
        />
        <Choice
          compact
          label="Tag"
          value={tag}
          options={[['', 'All tags'], ...new Set([...tags, ...(tag ? [tag] : [])])]}
          onValue={(next) => change({ tag: next })}
        />
      </div>
      <QueryProblem query={tagsQuery} />
      <PeekList
        query={contractsQuery}
        isOld={isOld}
        name="contracts"
        row="contract"
        rows={rows}
        bar={isOld ? '' : loadedText(rows.length, 'contract', contractsQuery.hasNextPage)}
        columns={columns}
        keyOf={keyOf}
        empty={
          <Empty
            title={narrowed ? 'No contracts match these filters' : 'No contracts yet'}
            text={
              narrowed
                ? 'Remove a filter to see more contracts.'
                : 'Contracts appear here when you create them or import a bundle.'
            }
          />
        }
        linkOf={(row) => linkTo.contract(row.contract_id)}
        title={(row) => `Contract ${row.contract_id}`}
        peek={(row) => <ContractDetail id={row.contract_id} isPeek />}
      />
      <Dialog title="New contract" shape="wide" open={open === 'new'} onClose={() => setOpen(null)}>
        <ContractForm
          draftName="new contract"
          onClose={() => setOpen(null)}
          onDone={(contractId) => {
            setOpen(null);
            void navigate({ ...linkTo.contract(contractId) });
          }}
        />
      </Dialog>
      <Import open={open === 'import'} onClose={() => setOpen(null)} />
    </>
  );
}
