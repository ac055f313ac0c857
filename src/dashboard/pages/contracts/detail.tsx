// One contract: its definition with an editor for a new version, the changes of each version, its uses, and its
// deletion.

import { useNavigate } from '@tanstack/react-router';
import { type JSX, useEffect, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import { definitionText } from '../../lib/engine.ts';
import { useCall } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { textColumn, timeColumn } from '../../ui/columns.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Select } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { DataLink, DataParagraph } from '../../ui/names.tsx';
import { Button, Data, Time } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { RemovalDialog } from '../../ui/resource.tsx';
import { QuerySection, Section } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { thingPage } from '../../ui/thing-page.tsx';
import { ContractForm } from './form.tsx';

/** A contract by its id. The page of an entry's id, which events and approvals link to, moves to its contract's. */
function useContract(id: string) {
  const navigate = useNavigate();
  const ownQuery = useCall('getContract', { params: { contract_id: id } });
  const isUnknown = ownQuery.error?.status === 404;
  const entryQuery = useCall(
    'getContract',
    { params: { contract_id: id }, query: { entry: 'true' } },
    { enabled: isUnknown },
  );
  const contractQuery = isUnknown && !entryQuery.error ? entryQuery : ownQuery;
  const contractId = contractQuery.data?.contract_id ?? id;
  useEffect(() => {
    if (contractId !== id) void navigate({ ...linkTo.contract(contractId), replace: true });
  }, [contractId, id, navigate]);
  return contractQuery;
}

export function ContractDetail({
  id,
  isPeek = false,
}: {
  readonly id: string;
  /** Without forms and actions. */
  readonly isPeek?: boolean;
}): JSX.Element {
  const contractQuery = useContract(id);
  const navigate = useNavigate();
  const [mode, setMode] = useState<'read' | 'edit' | 'copy' | 'delete'>('read');
  /** An older definition as the form's initial text. */
  const [again, setAgain] = useState<object | null>(null);
  const read = (): void => {
    setMode('read');
    setAgain(null);
  };
  return (
    <QueryResult query={contractQuery} rows={8}>
      {(contract) =>
        mode === 'edit' || mode === 'copy' ? (
          <>
            <ContractForm
              contract={again === null ? contract : { ...contract, definition: again }}
              copy={mode === 'copy'}
              onDone={(savedId) => {
                say(
                  mode === 'copy'
                    ? `${savedId} added.`
                    : `New version of ${savedId} saved. To send it to agents, deploy a composition.`,
                  'allow',
                );
                read();
                if (savedId !== id) void navigate({ ...linkTo.contract(savedId) });
              }}
            />
            <Button onClick={read}>Cancel</Button>
          </>
        ) : (
          <>
            <p>
              <Data text={contract.name} mono={false} /> <span className="tag">{contract.type}</span> version{' '}
              {contract.version}, changed <Time at={contract.created_at} /> by{' '}
              <Data text={contract.created_by} mono={false} max={60} />
            </p>
            <DataParagraph className="muted" text={contract.description} mono={false} max={1_000} />
            {!isPeek && (
              <div className="decide-buttons">
                <ActButton operation="updateContract" kind="primary" onClick={() => setMode('edit')}>
                  Edit contract
                </ActButton>
                <ActButton operation="createContract" icon="copy" onClick={() => setMode('copy')}>
                  Duplicate
                </ActButton>
                <ActButton
                  operation="deleteContract"
                  kind="danger"
                  icon="trash"
                  onClick={() => setMode('delete')}
                >
                  Delete
                </ActButton>
              </div>
            )}
            <Editor
              key={contract.version}
              label="Definition as YAML"
              value={definitionText(contract.definition)}
            />
            <Usage id={id} />
            {!isPeek && (
              <Versions
                id={id}
                latest={contract.version}
                definition={contract.definition}
                versions={contract.versions}
                onAgain={(definition) => {
                  setAgain(definition);
                  setMode('edit');
                }}
              />
            )}
            <Delete
              id={id}
              usage={contract.usage_count}
              open={mode === 'delete'}
              onClose={() => setMode('read')}
            />
          </>
        )
      }
    </QueryResult>
  );
}

function Usage({ id }: { readonly id: string }): JSX.Element {
  const contractUsageQuery = useCall('contractUsage', { params: { contract_id: id } });
  return (
    <QuerySection
      title="Compositions"
      query={contractUsageQuery}
      rows={1}
      none={(list) =>
        list.length === 0 &&
        'Not used in any composition, so no agent has it. To use it, add it to a composition.'
      }
    >
      {(list) => (
        <ul>
          {list.map((one) => (
            <li key={one.composition_id}>
              <DataLink link={linkTo.composition(one.composition_name)} text={one.composition_name} />
            </li>
          ))}
        </ul>
      )}
    </QuerySection>
  );
}

interface Version {
  readonly version: number;
  readonly created_at: string;
  readonly created_by: string;
}

const versionColumns = (compared: string, compare: (version: string) => void): readonly Column<Version>[] => [
  {
    key: 'version',
    label: 'Version',
    sort: (one) => one.version,
    cell: (one) => <strong>v{one.version}</strong>,
  },
  {
    key: 'actions',
    label: 'Actions',
    width: 2,
    cell: (one) => (
      <Button
        kind="quiet"
        aria-pressed={String(one.version) === compared}
        onClick={() => compare(String(one.version))}
      >
        Compare with v{one.version}
      </Button>
    ),
  },
  timeColumn('made', 'Saved', (one) => one.created_at, 1.2),
  textColumn(60)('by', 'Saved by', (one) => one.created_by, 2),
];

/** The differences between two versions, and a button that restores an older one. */
function Versions(props: {
  readonly id: string;
  readonly latest: number;
  readonly definition: object;
  readonly versions: readonly Version[];
  readonly onAgain: (definition: object) => void;
}): JSX.Element | null {
  const { id, latest, versions } = props;
  const newestFirst = [...versions].sort((a, b) => b.version - a.version);
  const [chosen, setChosen] = useState({ from: '', to: '' });
  const to = chosen.to || String(latest);
  const from =
    chosen.from || String(newestFirst.find(({ version }) => String(version) !== to)?.version ?? '');
  const older = useVersion(id, from);
  const newer = useVersion(id, to === String(latest) ? '' : to);
  const after = to === String(latest) ? props.definition : newer.data?.definition;
  if (versions.length < 2) return null;
  return (
    <Section title="Changes" label>
      <Table
        name="versions of a contract"
        sortAs="versions_sort"
        rows={newestFirst.filter(({ version }) => String(version) !== to)}
        columns={versionColumns(from, (version) => setChosen({ from: version, to }))}
        keyOf={({ version }) => String(version)}
        bar={counted(versions.length, 'version')}
      />
      <div className="filter-bar">
        <Select
          label="Changes up to"
          value={to}
          options={newestFirst.map(({ version }) => [String(version), `v${version}`] as const)}
          onValue={(next) => setChosen({ from: next === from ? '' : from, to: next })}
        />
      </div>
      <QueryResult query={older}>
        {(before) => (
          <>
            <p className="muted">
              From v{from} to v{to}
            </p>
            {after ? (
              <Diff before={definitionText(before.definition)} after={definitionText(after)} />
            ) : (
              newer.error && <Failed error={newer.error} onRetry={() => void newer.refetch()} />
            )}
            <div className="decide-buttons">
              <Button onClick={() => props.onAgain(before.definition)}>Edit copy of v{from}</Button>
            </div>
          </>
        )}
      </QueryResult>
    </Section>
  );
}

const useVersion = (id: string, version: string) =>
  useCall('getContractVersion', { params: { contract_id: id, version } }, { enabled: version !== '' });

function Delete({
  id,
  usage,
  open,
  onClose,
}: Readonly<{ id: string; usage: number; open: boolean; onClose: () => void }>): JSX.Element {
  const navigate = useNavigate();
  const done = (): void => {
    say(`${id} deleted.`, 'allow');
    void navigate({ to: '/policies', replace: true });
  };
  return (
    <RemovalDialog
      operation="deleteContract"
      refreshes={['listContracts']}
      title="Delete contract"
      input={{ params: { contract_id: id } }}
      {...{ open, onClose }}
      onDone={done}
    >
      Deleting <Data text={id} /> removes all its versions permanently.{' '}
      {usage > 0 && `First remove it from ${counted(usage, 'composition')}.`} Bundles that contain it remain.
    </RemovalDialog>
  );
}

export default thingPage('Contract', { to: '/policies', label: 'View all contracts' }, ContractDetail);
