// The cases saved in Test that concern one contract, and their results with this contract alone.
import { Link } from '@tanstack/react-router';
import { type JSX, useMemo, useState } from 'react';
import { compileBundle } from '../../../../packages/agent/src/rules/evaluate/compile.ts';
import { globMatch } from '../../../../packages/agent/src/rules/evaluate/glob.ts';
import { toolsOf } from '../../../contract/rules.ts';
import { bundleOfContract } from '../../lib/engine.ts';
import { useEngineOptions } from '../../lib/own-words.ts';
import { counted } from '../../lib/text.ts';
import { nameColumn, textColumn, verdictColumn } from '../../ui/columns.tsx';
import { Button } from '../../ui/parts.tsx';
import { Section } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { type Kept, runKept } from '../playground/call.ts';
import { type CaseRow, failuresOf, outcomeColumn } from '../playground/cases.tsx';
import { readKept } from '../playground/kept.ts';

/**
 * True for a case that the contract decides, and for a call of its tools that no contract decides. A case that another
 * contract decides says nothing about this one alone.
 */
function concerns(id: string, tools: readonly string[], { call, expect }: Kept): boolean {
  if (expect.contract !== null && expect.contract !== undefined) return expect.contract === id;
  return tools.length === 0 || tools.some((tool) => globMatch(tool, call.tool));
}

const expectedColumns: readonly Column<CaseRow>[] = [
  textColumn(120)('case', 'Case', ({ kept }) => kept.name, 1.8),
  nameColumn('tool', 'Tool', ({ kept }) => kept.call.tool, 1.2),
  verdictColumn('expected', 'Expected', ({ kept }) => kept.expect.verdict),
];

const gotColumns: readonly Column<CaseRow>[] = [
  ...expectedColumns,
  verdictColumn('got', 'Got', ({ outcome }) => outcome?.verdict ?? 'unknown'),
  outcomeColumn,
  textColumn(200)('why', 'Why', failuresOf, 2),
];

export interface OwnCasesProps {
  readonly id: string;
  readonly type: string;
  readonly definition: { readonly [key: string]: unknown };
  /** The definition as YAML. */
  readonly text: string;
}

export function OwnCases({ id, type, definition, text }: OwnCasesProps): JSX.Element {
  const cases = useMemo(
    () => readKept().filter((one) => concerns(id, toolsOf(definition as never), one)),
    [id, definition],
  );
  const [rows, setRows] = useState<readonly CaseRow[] | null>(null);
  const engine = useEngineOptions();
  const run = (): void => {
    if (engine === null) return;
    const compiled = compileBundle(bundleOfContract(id, type, text), engine);
    setRows(cases.map((kept) => ({ kept, outcome: compiled.ok ? runKept(compiled.bundle, kept) : null })));
  };
  const passedCount = rows?.filter(({ outcome }) => outcome?.ok).length ?? 0;
  return (
    <Section title="Saved cases" label>
      <div className="decide-buttons">
        {cases.length > 0 && (
          <Button icon="play" disabled={engine === null} onClick={run}>
            Run {counted(cases.length, 'case')}
          </Button>
        )}
        <Link to="/test">Open Test</Link>
      </div>
      <div role="status">
        {rows !== null && (
          <p className={passedCount === rows.length ? 'tone-allow' : 'tone-deny'}>
            {passedCount} of {counted(rows.length, 'case')} as expected with this contract alone.
          </p>
        )}
      </div>
      {cases.length === 0 ? (
        <p className="muted">
          No case in this browser concerns this contract. To save one, enter a call in Test and choose{' '}
          <em>Save case</em>.
        </p>
      ) : (
        <Table
          name="cases of a contract"
          row="case"
          rows={rows ?? cases.map((kept) => ({ kept, outcome: null }))}
          columns={rows === null ? expectedColumns : gotColumns}
          keyOf={({ kept }) => kept.name}
        />
      )}
    </Section>
  );
}
