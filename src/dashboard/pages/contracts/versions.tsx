// The versions of a contract with what changed in each, and the differences between two of them.
import { type JSX, useState } from 'react';
import { impactOf } from '../../../deployment/rules/impact.ts';
import type { Reply } from '../../lib/api.ts';
import { definitionText } from '../../lib/engine.ts';
import { useCall } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { instantColumn, textColumn } from '../../ui/columns.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Select } from '../../ui/form.tsx';
import { Button, Data } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { Section } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Contract = Pick<
  Reply<'getContractVersion'>,
  'contract_id' | 'type' | 'version' | 'name' | 'description' | 'tags' | 'definition'
>;
type Version = Reply<'getContract'>['versions'][number];

const directions = ['tightened', 'loosened', 'changed'] as const;

/** The fields that differ, and whether the rule became stricter, such as `tightened: then, when`. */
function changeText(before: Contract, after: Contract): string {
  const documentOf = ({ contract_id: contractId, type, definition }: Contract) => ({
    defaultsMode: 'enforce' as const,
    contracts: [{ contractId, type, definition: definition as { readonly [key: string]: unknown } }],
  });
  const impact = impactOf(documentOf(before), documentOf(after));
  const rule = directions.flatMap((direction) =>
    impact[direction].map(({ fields }) => `${direction}: ${fields.join(', ')}`),
  );
  const words = (['name', 'description', 'tags'] as const).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
  return [...rule, ...words].join(', ') || 'nothing';
}

/** The difference from the version before. */
function Change({ id, version }: { readonly id: string; readonly version: number }): JSX.Element | null {
  const before = useVersion(id, version > 1 ? String(version - 1) : '');
  const after = useVersion(id, version > 1 ? String(version) : '');
  if (version === 1) return <span className="muted">first version</span>;
  if (before.data && after.data)
    return <Data text={changeText(before.data, after.data)} mono={false} max={120} />;
  return before.isError || after.isError ? <span className="muted">unavailable</span> : null;
}

const versionColumns = (
  id: string,
  { from, to }: { readonly from: string; readonly to: string },
  compare: (version: string) => void,
): readonly Column<Version>[] => [
  {
    key: 'version',
    label: 'Version',
    sort: (one) => one.version,
    cell: (one) => <strong>v{one.version}</strong>,
  },
  { key: 'change', label: 'Changed', width: 2.4, cell: (one) => <Change id={id} version={one.version} /> },
  {
    key: 'actions',
    label: 'Actions',
    width: 2,
    cell: (one) =>
      String(one.version) === to ? null : (
        <Button
          kind="quiet"
          aria-pressed={String(one.version) === from}
          onClick={() => compare(String(one.version))}
        >
          Compare with v{one.version}
        </Button>
      ),
  },
  instantColumn('made', 'Saved', (one) => one.created_at),
  textColumn(60)('by', 'Saved by', (one) => one.created_by, 2),
];

/** The differences between two versions, and a button that restores an older one. */
export function Versions(props: {
  readonly id: string;
  readonly latest: Contract;
  readonly versions: readonly Version[];
  readonly onAgain: (definition: object) => void;
}): JSX.Element | null {
  const { id, latest, versions } = props;
  const newestFirst = [...versions].sort((a, b) => b.version - a.version);
  const [chosen, setChosen] = useState({ from: '', to: '' });
  const to = chosen.to || String(latest.version);
  const from =
    chosen.from || String(newestFirst.find(({ version }) => String(version) !== to)?.version ?? '');
  const older = useVersion(id, from);
  const newer = useVersion(id, to === String(latest.version) ? '' : to);
  const after = to === String(latest.version) ? latest.definition : newer.data?.definition;
  if (versions.length < 2) return null;
  return (
    <Section title="Changes" label>
      <Table
        name="versions of a contract"
        sortAs="versions_sort"
        rows={newestFirst}
        columns={versionColumns(id, { from, to }, (version) => setChosen({ from: version, to }))}
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
  useCall(
    'getContractVersion',
    { params: { contract_id: id, version } },
    { enabled: version !== '', isFixed: true },
  );
