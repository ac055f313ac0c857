// `--tools FILE`: what the arguments of tools hold, in YAML or JSON, the same mapping as the guard's option
// `toolArguments`.
import { isMapping } from '../rules/bundle/reader.ts';
import { RuleError } from '../rules/error.ts';
import { argumentKinds, type ToolArguments } from '../rules/sandbox/names.ts';
import { parseYaml, type YamlDocument, type YamlPath } from '../rules/yaml.ts';
import { readText, UsageError } from './command.ts';

/** The option in a command's help. */
export const toolsHelp = `  --tools FILE       what arguments hold, for sandboxes: {tool: {argument: ${argumentKinds.join('|')}}}`;

/** Declarations of a file; none without a file. @throws UsageError with the place of the first thing that is wrong */
export async function readTools(file: string | undefined): Promise<ToolArguments> {
  if (file === undefined) return {};
  const text = await readText(file).catch((error: Error) => {
    throw new UsageError(`--tools: ${file} ${error.message}`);
  });
  let document: YamlDocument | undefined;
  try {
    [document] = parseYaml(text, { maxDocuments: 1 });
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    throw new UsageError(`--tools: ${file}: ${error.message}`);
  }
  const wrong = (path: YamlPath, expected: string): UsageError => {
    const { line, column } = document?.positionOf(path) ?? { line: 1, column: 1 };
    return new UsageError(
      `--tools: ${file}:${line}:${column}: ${[...path, ''].join(': ')}expected ${expected}`,
    );
  };
  const tools = document?.value;
  if (!isMapping(tools)) throw wrong([], 'a mapping of tools');
  for (const [tool, kinds] of Object.entries(tools)) {
    if (!isMapping(kinds)) throw wrong([tool], 'a mapping of arguments to what they hold');
    for (const [argument, kind] of Object.entries(kinds)) {
      if (!argumentKinds.some((known) => known === kind))
        throw wrong([tool, argument], argumentKinds.join(', '));
    }
  }
  return tools as ToolArguments;
}
