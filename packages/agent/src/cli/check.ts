// `reeve-agent check`: compiles and lints files of contracts.
import { readBundle } from '../rules/bundle/document.ts';
import { lintBundle, lintCodes } from '../rules/bundle/lint.ts';
import { compileBundle } from '../rules/evaluate/compile.ts';
import { absentOperators } from '../rules/evaluate/operator.ts';
import type { ToolArguments } from '../rules/sandbox/names.ts';
import type { CommandProfiles } from '../rules/sandbox/profiles/profile.ts';
import {
  type Annotation,
  type Command,
  formatOf,
  githubLine,
  parseCommand,
  readText,
  textLine,
  UsageError,
} from './command.ts';
import { readToolSettings, toolsHelp } from './tools.ts';

const help = `Usage: reeve-agent check [options] FILE...

Compiles each file of contracts (- is standard input) and finds contracts that can never match.

Options:
  --format FORMAT    text (default), json, or github (annotations in a workflow)
  --json             the same as --format json
  --selectors NAMES  prefixes of the selectors that your agents register, separated by commas
  --operators NAMES  operators that your agents register, separated by commas
${toolsHelp}
  --strict           fail on warnings, too; notices never fail
  --accept CODES     codes of accepted warnings, separated by commas; they become notices
  --compatibility    also print notices about calls that released clients judge differently, whatever you write

To clear a warning, change the file.

Exit code: 0 if every file is usable, 1 if a file has an error (with --strict: or a warning), 2 for wrong arguments.
`;

interface Finding extends Annotation {
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
      accept: { type: 'string' },
      compatibility: { type: 'boolean' },
    });
    const format = formatOf(values.format, values.json);
    const { toolArguments, commandProfiles, selectors, operators } = await readToolSettings(values.tools);
    const language = {
      operators: [...namesOf(values.operators), ...operators],
      selectors: [...namesOf(values.selectors), ...selectors],
      toolArguments,
      commandProfiles,
    };
    const accepted = acceptedOf(values.accept);
    const files = [];
    for (const file of positionals) {
      const findings = (await findingsOf(file, language)).filter(
        // Most notices are about released clients.
        ({ severity }) => values.compatibility || severity !== 'notice',
      );
      files.push({ file, findings: findings.map((finding) => asAccepted(finding, accepted)) });
    }
    const all = files.flatMap(({ findings }) => findings);
    const counted = (level: Finding['severity']) => all.filter(({ severity }) => severity === level).length;
    const [errors, warnings, notices] = [counted('error'), counted('warning'), counted('notice')];
    const ok = errors === 0 && (warnings === 0 || !values.strict);
    if (format === 'json') {
      process.stdout.write(`${JSON.stringify({ ok, errors, warnings, notices, files }, null, 2)}\n`);
    } else {
      for (const finding of all) {
        process.stdout.write(`${format === 'github' ? githubLine(finding) : textLine(finding)}\n`);
      }
      const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`;
      process.stderr.write(
        `${[count(files.length, 'file'), count(errors, 'error'), count(warnings, 'warning'), count(notices, 'notice')].join(', ')}\n`,
      );
    }
    return ok ? 0 : 1;
  },
};

/** @throws UsageError for a code that no finding has */
function acceptedOf(text: string | undefined): ReadonlySet<string> {
  const codes = namesOf(text);
  const unknown = codes.find((code) => !(lintCodes as readonly string[]).includes(code));
  if (unknown === undefined) return new Set(codes);
  throw new UsageError(`--accept has no code ${unknown}; the codes are ${lintCodes.join(', ')}`);
}

/** Errors cannot be accepted. */
const asAccepted = (finding: Finding, accepted: ReadonlySet<string>): Finding =>
  finding.severity === 'warning' && finding.code !== null && accepted.has(finding.code)
    ? { ...finding, severity: 'notice' }
    : finding;

interface Language {
  readonly operators: readonly string[];
  readonly selectors: readonly string[];
  readonly toolArguments: ToolArguments;
  readonly commandProfiles: CommandProfiles;
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
    commandProfiles: language.commandProfiles,
    operators: absentOperators(language.operators),
  });
  if (!compiled.ok)
    return compiled.problems.map(({ line, column, message }) => problem(line, column, message));
  const tools = Object.keys(toolArguments);
  return lintBundle(read, { ...options, tools }).map(
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
