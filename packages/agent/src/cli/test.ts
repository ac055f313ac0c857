// `reeve-agent test`: runs files of cases against the contracts that they name.
import { dirname, resolve } from 'node:path';
import { readBundle } from '../rules/bundle/document.ts';
import type { RuleDocument } from '../rules/bundle/rule.ts';
import { type CompiledBundle, compileBundle } from '../rules/evaluate/compile.ts';
import { absentOperators } from '../rules/evaluate/operator.ts';
import { type CaseFile, type CaseResult, readCases, runCase } from '../rules/testing/cases.ts';
import { type Coverage, coverageOf } from '../rules/testing/coverage.ts';
import { type Annotation, type Command, formatOf, githubLine, parseCommand, readText } from './command.ts';
import { readToolSettings, type ToolSettings, toolsHelp } from './tools.ts';

const help = `Usage: reeve-agent test [options] FILE...

Runs the cases in each file (- is standard input) against the contracts that it names, and lists the contracts and conditions that no case
reaches.

    contracts: payments.yaml          # relative to this file; a list is read in layers
    cases:
      - name: large transfers are refused
        call: { tool: pay, args: { amount: 20000 }, principal: { role: clerk } }
        session: { attempts: 3, calls: 3, calls_of_tool: 1 }    # before this call; without it, session contracts are not evaluated
        output: "done"                                          # without it, post contracts are not evaluated
        expect: { verdict: deny, contract: never-over-10000, message: "too much" }

Options:
  --format FORMAT     text (default), json, or github (annotations in a workflow)
  --json              the same as --format json
  --require-coverage  fail if a contract fires in no case
${toolsHelp.replace('FILE ', 'FILE  ')}

Exit code: 0 if every case passes, 1 if a case fails, 2 for wrong arguments or an unusable file.
`;

interface FileReport {
  readonly file: string;
  readonly results: readonly CaseResult[];
  readonly coverage: Coverage;
}

export const testCommand: Command = {
  help,
  async run(args) {
    const { values, positionals } = parseCommand(args, {
      format: { type: 'string' },
      json: { type: 'boolean' },
      'require-coverage': { type: 'boolean' },
      tools: { type: 'string' },
    });
    const format = formatOf(values.format, values.json);
    const settings = await readToolSettings(values.tools);
    const reports: FileReport[] = [];
    for (const file of positionals) {
      try {
        reports.push(await runFile(file, settings));
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        process.stderr.write(`${file}: ${message}\n`);
        if (format === 'github') process.stdout.write(`${githubLine(about('error', file, message))}\n`);
        return 2;
      }
    }
    const failed = reports.flatMap(({ results }) => results.filter(({ ok }) => !ok)).length;
    const silent = reports.flatMap(({ coverage }) => coverage.contracts.filter(({ fired }) => fired === 0));
    const ok = failed === 0 && !(values['require-coverage'] && silent.length > 0);
    if (format === 'json')
      process.stdout.write(`${JSON.stringify({ ok, failed, files: reports }, null, 2)}\n`);
    else
      for (const report of reports) {
        process.stdout.write(format === 'github' ? github(report) : text(report));
        if (format === 'github') process.stderr.write(`${summaryOf(report)}\n`);
      }
    return ok ? 0 : 1;
  },
};

async function runFile(file: string, settings: ToolSettings): Promise<FileReport> {
  const read = readCases(await readText(file));
  const bundle = await bundleOf(file, read, settings);
  return {
    file,
    results: read.cases.map((one) => runCase(bundle, one)),
    coverage: coverageOf(bundle, read.cases),
  };
}

/** @throws Error that names the document and what is wrong with it */
async function bundleOf(
  file: string,
  { contracts }: CaseFile,
  { toolArguments, commandProfiles, operators }: ToolSettings,
): Promise<CompiledBundle> {
  const folder = file === '-' ? process.cwd() : dirname(resolve(file));
  const documents: RuleDocument[] = [];
  for (const path of contracts) {
    const source = await readText(resolve(folder, path)).catch((error: Error) => {
      throw new Error(`${path} ${error.message}`);
    });
    const read = readBundle(source, { maxContracts: 500, operators });
    if (!read.ok) throw new Error(`${path}: ${read.problems.map(({ message }) => message).join('\n')}`);
    documents.push(...read.documents);
  }
  const options = { toolArguments, commandProfiles, operators: absentOperators(operators) };
  const compiled = compileBundle(documents, options);
  if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join('\n'));
  return compiled.bundle;
}

function text({ file, results, coverage }: FileReport): string {
  const lines = results.flatMap(({ ok, name, line, failures, faults }) => [
    `${ok ? 'ok  ' : 'FAIL'} ${name}${ok ? '' : ` (${file}:${line})`}`,
    ...[...failures, ...faults].map((sentence) => `       ${sentence}`),
  ]);
  lines.push(summaryOf({ file, results, coverage }));
  for (const { id, looked, fired, unmet } of coverage.contracts) {
    if (looked === 0) lines.push(`  ${id}: no case reaches it`);
    else if (fired === 0) lines.push(`  ${id}: fires in no case`);
    for (const condition of unmet) lines.push(`  ${id}: true in no case: ${condition}`);
  }
  return `${lines.join('\n')}\n`;
}

function summaryOf({ results, coverage }: FileReport): string {
  const passed = results.filter(({ ok }) => ok).length;
  return `${passed} of ${results.length} cases passed; ${coverage.fired} of ${coverage.total} contracts fire in a case`;
}

/** An annotation of a whole file. */
const about = (severity: Annotation['severity'], file: string, message: string): Annotation => ({
  severity,
  file,
  line: 1,
  column: 1,
  message,
});

function github({ file, results, coverage }: FileReport): string {
  const annotations: Annotation[] = [
    ...results.flatMap(({ line, name, failures, faults }) =>
      [...failures, ...faults].map((sentence, i) => ({
        severity: i < failures.length ? ('error' as const) : ('warning' as const),
        file,
        line,
        column: 1,
        message: `${name}: ${sentence}`,
      })),
    ),
    ...coverage.contracts.flatMap(({ id, fired, unmet }) => [
      ...(fired > 0 ? [] : [about('warning', file, `contract '${id}' fires in no case`)]),
      ...unmet.map((condition) => about('notice', file, `contract '${id}': true in no case: ${condition}`)),
    ]),
  ];
  return annotations.map((one) => `${githubLine(one)}\n`).join('');
}
