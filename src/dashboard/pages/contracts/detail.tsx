// One contract: its definition, changed in place as a new version; what each version changed; where it is used; and its
// end.
import { Link } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { definitionText } from '../../lib/engine.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { Answer, Failed } from '../../ui/answer.tsx';
import { timeColumn } from '../../ui/columns.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Editor } from '../../ui/editor.tsx';
import { say } from '../../ui/overlay.tsx';
import { Button, Data, Select, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { ContractForm } from './form.tsx';

export function ContractDetail({ id }: { readonly id: string }): JSX.Element {
  const found = useCall('getContract', { params: { contract_id: id } });
  const [, change] = useFilters();
  const [mode, setMode] = useState<'read' | 'edit' | 'copy' | 'delete'>('read');
  /** An older definition that the form begins with. */
  const [again, setAgain] = useState<object | null>(null);
  const read = (): void => {
    setMode('read');
    setAgain(null);
  };
  return (
    <Answer of={found} rows={8}>
      {(contract) =>
        mode === 'edit' || mode === 'copy' ? (
          <>
            <ContractForm
              of={again === null ? contract : { ...contract, definition: again }}
              copy={mode === 'copy'}
              onDone={(made) => {
                say(
                  mode === 'copy'
                    ? `${made} was added.`
                    : `${made} has a new version. Deploy a composition to bring it to agents.`,
                  'allow',
                );
                read();
                change({ id: made }, true);
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
            {contract.description && (
              <p className="muted">
                <Data text={contract.description} mono={false} max={1_000} />
              </p>
            )}
            <div className="decide-buttons">
              <Button kind="primary" onClick={() => setMode('edit')}>
                Edit contract
              </Button>
              <Button icon="copy" onClick={() => setMode('copy')}>
                Duplicate
              </Button>
              <Button kind="danger" icon="trash" onClick={() => setMode('delete')}>
                Delete
              </Button>
            </div>
            <Editor
              key={contract.version}
              label="Definition as YAML"
              value={definitionText(contract.definition)}
            />
            <Usage id={id} />
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
            <Delete
              id={id}
              usage={contract.usage_count}
              open={mode === 'delete'}
              onClose={() => setMode('read')}
            />
          </>
        )
      }
    </Answer>
  );
}

function Usage({ id }: { readonly id: string }): JSX.Element {
  const found = useCall('contractUsage', { params: { contract_id: id } });
  return (
    <section className="form">
      <h3>Where it is used</h3>
      <Answer of={found} rows={1}>
        {(list) =>
          list.length === 0 ? (
            <p className="muted">No composition names it: no agent has it.</p>
          ) : (
            <ul>
              {list.map((one) => (
                <li key={one.composition_id}>
                  <Link to="/compositions" search={{ id: one.composition_name } as never}>
                    <Data text={one.composition_name} />
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
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
  timeColumn('made', 'Made', (one) => one.created_at, 1.2),
  {
    key: 'by',
    label: 'By',
    width: 2,
    sort: (one) => one.created_by,
    cell: (one) => <Data text={one.created_by} mono={false} max={60} />,
  },
];

/** What changed between any two versions, and the way back to an older one. */
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
    <section className="form" aria-label="What changed">
      <h3>What changed</h3>
      <Table
        name="versions of a contract"
        sortAs="versions_sort"
        rows={newestFirst.filter(({ version }) => String(version) !== to)}
        columns={versionColumns(from, (version) => setChosen({ from: version, to }))}
        keyOf={({ version }) => String(version)}
        bar={<span className="muted">{counted(versions.length, 'version')}</span>}
      />
      <div className="filter-bar">
        <Select
          label="Changes up to"
          value={to}
          options={newestFirst.map(({ version }) => [String(version), `v${version}`] as const)}
          onValue={(next) => setChosen({ from: next === from ? '' : from, to: next })}
        />
      </div>
      <Answer of={older}>
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
              <Button onClick={() => props.onAgain(before.definition)}>Edit again from v{from}</Button>
            </div>
          </>
        )}
      </Answer>
    </section>
  );
}

const useVersion = (id: string, version: string) =>
  useCall('getContractVersion', { params: { contract_id: id, version } }, { enabled: version !== '' });

function Delete({
  id,
  usage,
  open,
  onClose,
}: {
  readonly id: string;
  readonly usage: number;
  readonly open: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const remove = useAction('deleteContract', ['listContracts']);
  const [, change] = useFilters();
  const done = (): void => {
    say(`${id} was deleted.`, 'allow');
    change({ id: undefined }, true);
  };
  return (
    <Confirm
      title="Delete contract"
      open={open}
      onClose={onClose}
      by={remove}
      act="Delete contract"
      onAct={() => remove.mutate({ params: { contract_id: id } }, { onSuccess: done })}
    >
      <p>
        All versions of <Data text={id} /> are deleted for ever.{' '}
        {usage > 0 && `${counted(usage, 'composition')} named it: take it out there first.`} Bundles that were
        made with it stay.
      </p>
    </Confirm>
  );
}
