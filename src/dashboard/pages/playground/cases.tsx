// Saved calls with their expected results. They run with the current text, and are exported and imported as files for
// `reeve-agent test`.
import { type JSX, useMemo, useState } from 'react';
import { compileBundle } from '../../../../packages/agent/src/rules/evaluate/compile.ts';
import type { DryRun } from '../../../../packages/agent/src/rules/evaluate/playground.ts';
import type { CaseResult } from '../../../../packages/agent/src/rules/testing/cases.ts';
import { useEngineOptions } from '../../lib/own-words.ts';
import { counted } from '../../lib/text.ts';
import { nameColumn, textColumn } from '../../ui/columns.tsx';
import { download } from '../../ui/download.ts';
import { FileButton } from '../../ui/file-button.tsx';
import { Field } from '../../ui/form.tsx';
import { Icon } from '../../ui/icons.tsx';
import { say } from '../../ui/messages.tsx';
import { Button, Data } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import {
  type Call,
  callOf,
  casesText,
  type Kept,
  keptOf,
  type Parsed,
  readCaseFile,
  runKept,
} from './call.ts';
import { readKept, writeKept } from './kept.ts';

/** Maximum size of a file with cases, in bytes. */
const maxFile = 1024 * 1024;
const document = 'bundle.yaml';

export interface CaseRow {
  readonly kept: Kept;
  /** Result of the case; null while the text is invalid or tool settings load. */
  readonly outcome: CaseResult | null;
}

const outcomeWord = ({ outcome }: CaseRow): string =>
  outcome === null ? 'unknown' : outcome.ok ? 'as expected' : 'not as expected';

export const failuresOf = ({ outcome }: CaseRow): string => outcome?.failures.join('; ') ?? '';

export const outcomeColumn: Column<CaseRow> = {
  key: 'outcome',
  label: 'Outcome',
  width: 1.8,
  sort: outcomeWord,
  cell: (row) => (
    <span
      className={`verdict ${row.outcome === null ? 'muted' : row.outcome.ok ? 'tone-allow' : 'tone-deny'}`}
    >
      <Icon name={row.outcome === null ? 'dash' : row.outcome.ok ? 'check' : 'x'} />
      {outcomeWord(row)}
    </span>
  ),
};

const caseColumns: readonly Column<CaseRow>[] = [
  textColumn(120)('case', 'Case', ({ kept }) => kept.name, 1.8),
  nameColumn('tool', 'Tool', ({ kept }) => kept.call.tool, 1.2),
  outcomeColumn,
  textColumn(200)('why', 'Why', failuresOf, 2),
];

/** The saved cases with their outcomes for a text. */
function useCases(text: string) {
  const [cases, setCases] = useState(readKept);
  /** Replaces these cases in the list that this browser stores now: another tab may have changed it. */
  const replace = (old: readonly Kept[], more: readonly Kept[]): void => {
    const next = [...readKept().filter((one) => !old.some(({ name }) => name === one.name)), ...more];
    setCases(next);
    writeKept(next);
  };
  const engine = useEngineOptions();
  const outcomes = useMemo(() => {
    if (cases.length === 0 || engine === null) return null;
    const compiled = compileBundle(text, engine);
    return compiled.ok ? cases.map((one) => runKept(compiled.bundle, one)) : null;
  }, [text, cases, engine]);
  const rows = useMemo(
    (): readonly CaseRow[] => cases.map((one, i) => ({ kept: one, outcome: outcomes?.[i] ?? null })),
    [cases, outcomes],
  );
  return {
    cases,
    rows,
    /** Number of the cases with the expected result; null while there are no results, and without cases. */
    passed: outcomes?.filter(({ ok }) => ok).length ?? null,
    add: (more: readonly Kept[]): void => replace(more, more),
    remove: (kept: Kept): void => replace([kept], []),
  };
}

interface CasesProps {
  readonly text: string;
  readonly read: Parsed;
  /** Result of the call; null while the text is invalid or tool settings load. */
  readonly result: DryRun | null;
  readonly onCall: (call: Call) => void;
}

export function Cases({ text, read, result, onCall }: CasesProps): JSX.Element {
  const { cases, rows, passed, add, remove } = useCases(text);
  /** The case that the form loaded last. */
  const [chosen, setChosen] = useState<string>();
  const removal: Column<CaseRow> = {
    ...{ key: 'forget', label: 'Delete', width: 0.9, text: () => '' },
    cell: ({ kept }) => (
      <Button
        kind="quiet"
        icon="trash"
        aria-label={`Delete ${kept.name.slice(0, 80)}`}
        onClick={() => remove(kept)}
      />
    ),
  };
  return (
    <section className="form" aria-label="Cases">
      <SaveCase read={read} result={result} onCase={(kept) => add([kept])} />
      {passed !== null && (
        <p className={passed === cases.length ? 'tone-allow' : 'tone-deny'} role="status">
          {passed} of {counted(cases.length, 'case')} as expected.
        </p>
      )}
      {cases.length > 0 && (
        <Table
          name="kept cases"
          row="case"
          rows={rows}
          columns={[...caseColumns, removal]}
          keyOf={({ kept }) => kept.name}
          chosen={chosen}
          onOpen={({ kept }) => {
            setChosen(kept.name);
            onCall(callOf(kept));
          }}
        />
      )}
      <CaseFiles text={text} cases={cases} onCases={add} />
      <p className="muted">
        Cases are stored in this browser. To run a downloaded file against the document, use{' '}
        <code>reeve-agent test cases.yaml</code>.
      </p>
    </section>
  );
}

/** Saves the call with its present result as a case. */
function SaveCase({
  read,
  result,
  onCase,
}: Pick<CasesProps, 'read' | 'result'> & { readonly onCase: (kept: Kept) => void }): JSX.Element {
  const [name, setName] = useState('');
  const save = (): void => {
    if (!read.ok || result === null) return;
    const expect = { verdict: result.verdict, contract: result.deciding_contract };
    onCase(keptOf(name.trim(), read.value, expect));
    setName('');
    say('Case saved in this browser.', 'allow');
  };
  return (
    <div className="filter-bar">
      <Field label="Case name" value={name} maxLength={120} onValue={setName} />
      <Button disabled={name.trim() === '' || !read.ok || result === null} onClick={save}>
        Save case
      </Button>
    </div>
  );
}

/** The cases and the document as files for `reeve-agent test`. */
function CaseFiles({
  text,
  cases,
  onCases,
}: Readonly<{
  text: string;
  cases: readonly Kept[];
  onCases: (cases: readonly Kept[]) => void;
}>): JSX.Element {
  const [refused, setRefused] = useState<string | null>(null);
  const load = (fileText: string): void => {
    try {
      const loadedCases = readCaseFile(fileText);
      onCases(loadedCases);
      setRefused(null);
      say(`${counted(loadedCases.length, 'case')} loaded.`, 'allow');
    } catch (error) {
      setRefused((error as Error).message);
    }
  };
  return (
    <>
      <div className="decide-buttons starters">
        <Button
          icon="download"
          disabled={cases.length === 0}
          onClick={() => download('cases.yaml', 'application/yaml', casesText(document, cases))}
        >
          Download cases
        </Button>
        <Button icon="download" onClick={() => download(document, 'application/yaml', text)}>
          Download document
        </Button>
        <FileButton
          label="Load cases"
          accept=".yaml,.yml"
          maxBytes={maxFile}
          onText={load}
          onRefused={setRefused}
        />
      </div>
      {refused && (
        <p className="field-error" role="alert">
          <Data text={refused} mono={false} max={400} />
        </p>
      )}
    </>
  );
}
