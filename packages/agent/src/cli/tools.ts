// The file of `--tools FILE`, in YAML or JSON, describes the arguments of tools by the same mapping as the guard's
// option `toolArguments`. The file also holds the selectors and operators that agents register, profiles of programs,
// and their isolation. The settings of a hub (`GET /api/v1/settings/tools`) are such a file, too.
import { isMapping } from '../rules/bundle/reader.ts';
import { RuleError } from '../rules/error.ts';
import { type IsolationMode, isolationModes } from '../rules/isolation.ts';
import type { ToolArguments } from '../rules/sandbox/names.ts';
import { argumentKinds } from '../rules/sandbox/names.ts';
import { profilesProblem } from '../rules/sandbox/profiles/check.ts';
import type { CommandProfiles } from '../rules/sandbox/profiles/profile.ts';
import { type Json, type JsonObject, parseYaml, type YamlDocument, type YamlPath } from '../rules/yaml.ts';
import { readText, UsageError } from './command.ts';

/** The option in a command's help. */
export const toolsHelp = `  --tools FILE       kinds of tool arguments, for sandboxes: {tool: {argument: ${argumentKinds.join('|')}}},
                     names that your agents register: custom_selectors: [geo], custom_operators: [in_network];
                     profiles of programs: command_profiles: {deploy: {operands: [path]}};
                     and their least isolation: isolation: ${isolationModes.join('|')}`;

export interface ToolSettings {
  readonly toolArguments: ToolArguments;
  readonly commandProfiles: CommandProfiles;
  /** Prefixes of selectors that agents register. */
  readonly selectors: readonly string[];
  /** Operators that agents register. */
  readonly operators: readonly string[];
  /** The least isolation of programs. */
  readonly isolation: IsolationMode;
}

const nothing: ToolSettings = {
  toolArguments: {},
  commandProfiles: {},
  selectors: [],
  operators: [],
  isolation: 'none',
};

/**
 * Everything in a file; nothing without a file.
 * @throws UsageError with the place of the first thing that is wrong
 */
export async function readToolSettings(file: string | undefined): Promise<ToolSettings> {
  if (file === undefined) return nothing;
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
  const settings = document?.value;
  if (!isMapping(settings)) throw wrong([], 'a mapping of tools');
  const { custom_selectors: selectors, custom_operators: operators, command_profiles, ...others } = settings;
  const problem = command_profiles === undefined ? null : profilesProblem(command_profiles);
  if (problem !== null) throw wrong(['command_profiles'], `sound profiles: ${problem}`);
  const list = (key: string, value: Json | undefined): readonly string[] => {
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
    throw wrong([key], 'a list of names');
  };
  const { isolation, tools } = isolationIn(others, wrong);
  const { tool_arguments: inSettings, ...bare } = tools;
  const isSettings = isMapping(inSettings) && Object.values(inSettings).every(isMapping);
  const { updated_at: _at, updated_by: _by, ...ofTools } = bare;
  return {
    toolArguments: {
      ...argumentsIn(isSettings ? ofTools : tools, [], wrong),
      ...(isSettings ? argumentsIn(inSettings, ['tool_arguments'], wrong) : {}),
    },
    commandProfiles: (command_profiles ?? {}) as unknown as CommandProfiles,
    selectors: list('custom_selectors', selectors),
    operators: list('custom_operators', operators),
    isolation,
  };
}

/** The mode, and everything else. A mapping under this name declares the arguments of a tool. */
function isolationIn(
  settings: JsonObject,
  wrong: (path: YamlPath, expected: string) => UsageError,
): { readonly isolation: IsolationMode; readonly tools: JsonObject } {
  const { isolation = 'none', ...tools } = settings;
  if (isMapping(isolation)) return { isolation: 'none', tools: settings };
  const mode = isolationModes.find((one) => one === isolation);
  if (mode === undefined) throw wrong(['isolation'], isolationModes.join(', '));
  return { isolation: mode, tools };
}

function argumentsIn(
  tools: JsonObject,
  at: YamlPath,
  wrong: (path: YamlPath, expected: string) => UsageError,
): ToolArguments {
  for (const [tool, kinds] of Object.entries(tools)) {
    if (!isMapping(kinds)) throw wrong([...at, tool], 'a mapping from arguments to their kinds');
    for (const [argument, kind] of Object.entries(kinds)) {
      if (!argumentKinds.some((one) => one === kind))
        throw wrong([...at, tool, argument], argumentKinds.join(', '));
    }
  }
  return tools as ToolArguments;
}
