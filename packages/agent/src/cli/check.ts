// `reeve-agent check`: compiles and lints files of contracts.
import { readBundle } from '../rules/bundle/document.ts';
import { lintBundle } from '../rules/bundle/lint.ts';
import { compileBundle } from '../rules/evaluate/compile.ts';
import type { ToolArguments } from '../rules/sandbox/names.ts';
import {
  type Annotation,
  type Command,
  formatOf,
  githubLine,
  parseCommand,
  readText,
  textLine,
} from './command.ts';
import { readTools, toolsHelp } from './tools.ts';

const help = `Usage: reeve-agent check [options] FILE...

Compiles each file of contracts (- is standard input) and looks for contracts that can never match.

Options:
  --format FORMAT    text (default), json, or github (annotations in a workflow)
  --json             the same as --format json
  --selectors NAMES  prefixes of selectors that your agents register, separated by commas
  --operators NAMES  operators that your agents register, separated by commas
${toolsHelp}
  --strict           warnings fail, too

Exit code: 0 when every file can be used, 1 when one has an error (with --strict: or a warning), 2 for a wrong call.
`;

interface Finding extends Annotation {
  readonly severity: 'error' | 'warning';
  /** Null for what does not compile. */
  readonly code: string | null;
  readonly contract: string | null;
  readonly suggestion: string | null;
}

const namesOf = (text: string | undefined): string[] =>
  (text ?? '').split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));

export const checkCommand: Command = {
  help,
  async run(args) {
    const { values, positionals } = parseCommand(args, {
      format: { type: 'string' },
      json: { type: 'boolean' },
      selectors: { type: 'string' },
      operators: { type: 'string' },
      tools: { type: 'string' },
      strict: { type: 'boolean' },
    });
    const format = formatOf(values.format, values.json);
    const language = {
      operators: namesOf(values.operators),
      selectors: namesOf(values.selectors),
      toolArguments: await readTools(values.tools),
    };
    const files = [];
    for (const file of positionals) files.push({ file, findings: await findingsOf(file, language) });
    const all = files.flatMap(({ findings }) => findings);
    const errors = all.filter(({ severity }) => severity === 'error').length;
    const warnings = all.length - errors;
    const ok = errors === 0 && (warnings === 0 || !values.strict);
    if (format === 'json') {
      process.stdout.write(`${JSON.stringify({ ok, errors, warnings, files }, null, 2)}\n`);
    } else {
      for (const finding of all) {
        process.stdout.write(`${format === 'github' ? githubLine(finding) : textLine(finding)}\n`);
      }
      const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`;
      process.stderr.write(
        `${count(files.length, 'file')}, ${count(errors, 'error')}, ${count(warnings, 'warning')}\n`,
      );
    }
    return ok ? 0 : 1;
  },
};

interface Language {
  readonly operators: readonly string[];
  readonly selectors: readonly string[];
  readonly toolArguments: ToolArguments;
}

async function findingsOf(file: string, { toolArguments, ...language }: Language): Promise<Finding[]> {
  const problem = (
    line: number,
    column: number,
    message: string,
    contract: string | null = null,
  ): Finding => ({
    severity: 'error',
    code: null,
    contract,
    file,
    line,
    column,
    message,
    suggestion: null,
  });
  let text: string;
  try {
    text = await readText(file);
  } catch (error) {
    return [problem(1, 1, error instanceof Error ? error.message : String(error))];
  }
  const options = { maxContracts: 500, ...language };
  const read = readBundle(text, options);
  if (!read.ok) {
    const problems = read.problems.map(({ line, column, message, contract }) =>
      // The place stands in front of the line already.
      problem(line, column, message.replace(/ \(line \d+, column \d+\)$/, ''), contract),
    );
    return problems.sort((a, b) => a.line - b.line || a.column - b.column);
  }
  const compiled = compileBundle(read.documents, {
    toolArguments,
    operators: Object.fromEntries(language.operators.map((name) => [name, () => false])),
  });
  if (!compiled.ok)
    return compiled.problems.map(({ line, column, message }) => problem(line, column, message));
  const tools = Object.keys(toolArguments);
  return lintBundle(text, { ...options, tools }).map(
    ({ severity, code, contract, line, column, message, suggestion }) => ({
      severity,
      code,
      contract,
      file,
      line,
      column,
      message: contract === null ? message : `contract '${contract}': ${message}`,
      suggestion,
    }),
  );
}
