// The tools of coding assistants and their effects, by name. Contracts for Bash, Read, Edit and Write hold for every
// tool that does the same. Each table contains the version of its product, and the source of its facts.
import type { Fields } from '../../fields.ts';
import type { ArgumentKind } from '../../rules/sandbox/names.ts';
import { patchArguments, urlArguments } from './arguments.ts';

/** Effect of a tool: reads or writes files, runs commands, or something else. */
export type ToolKind = 'read' | 'write' | 'shell' | 'other';

export interface ToolEntry {
  readonly kind: ToolKind;
  /** The common name under which the tool is judged and recorded; default: its own. */
  readonly name?: string;
  /** Other names whose contracts hold for it. */
  readonly also?: readonly string[];
  /** Kinds of the arguments whose names do not show them. */
  readonly args?: { readonly [argument: string]: ArgumentKind };
  /** Makes the arguments that are judged. @throws Error for arguments that cannot be judged */
  readonly adapt?: (args: Fields) => Fields;
  /** The quotes of its commands are not those of a POSIX shell. */
  readonly foreignShell?: boolean;
}

export interface ToolTable {
  /** The product and the versions that the table was read for. */
  readonly product: string;
  /** The page that publishes the payload and the names. */
  readonly source: string;
  readonly tools: { readonly [tool: string]: ToolEntry };
  /** The name that an MCP server gives a tool, from the assistant's name of it; null: it is no tool of a server. */
  readonly mcpName?: (tool: string) => string | null;
}

const bash: ToolEntry = { kind: 'shell', name: 'Bash' };
const shell: ToolEntry = { kind: 'shell', also: ['Bash'] };
const read: ToolEntry = { kind: 'read', also: ['Read'] };
/** Makes or overwrites files and changes them. */
const write: ToolEntry = { kind: 'write', also: ['Edit', 'Write'] };
const patch: ToolEntry = {
  ...write,
  args: { command: 'content', input: 'content', patch: 'content', explanation: 'content' },
  adapt: patchArguments,
};

const all = (entry: ToolEntry, names: string): { [tool: string]: ToolEntry } =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, entry]));
const other = (names: string) => all({ kind: 'other' }, names);
/** Tools whose arguments name files in other words. */
const withArgs = (entry: ToolEntry, args: NonNullable<ToolEntry['args']>): ToolEntry => ({ ...entry, args });

const prefixed =
  (prefix: string) =>
  (tool: string): string | null =>
    tool.startsWith(prefix) ? tool : null;

/** Common names alone: contracts of one's own program use its own tool names. */
export const genericTable: ToolTable = {
  product: 'any program',
  source: 'docs/integrations.md',
  tools: { Bash: bash, Read: { kind: 'read' }, Write: { kind: 'write' }, Edit: { kind: 'write' } },
  mcpName: prefixed('mcp__'),
};

export const claudeTable: ToolTable = {
  product: 'Claude Code 2.1',
  source: 'https://code.claude.com/docs/en/hooks and https://code.claude.com/docs/en/tools-reference',
  tools: {
    Bash: bash,
    PowerShell: { ...shell, foreignShell: true },
    Monitor: shell,
    Read: { kind: 'read' },
    Write: { kind: 'write' },
    Edit: { kind: 'write' },
    ...all({ kind: 'write', also: ['Edit'] }, 'MultiEdit'),
    NotebookEdit: withArgs({ kind: 'write', also: ['Edit'] }, { new_source: 'content' }),
    EnterWorktree: write,
    Glob: withArgs(read, { pattern: 'path' }),
    Grep: withArgs(read, { glob: 'path' }),
    ...all(read, 'LS LSP NotebookRead'),
    ...other('Agent AskUserQuestion BashOutput CronCreate CronDelete CronList EnterPlanMode ExitPlanMode'),
    ...other('ExitWorktree KillBash KillShell ListMcpResourcesTool ReadMcpResourceTool SendMessage Skill'),
    ...other('SlashCommand Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate'),
    ...other('TeamDelete TodoWrite ToolSearch WebFetch WebSearch Workflow'),
  },
  mcpName: prefixed('mcp__'),
};

export const codexTable: ToolTable = {
  product: 'Codex CLI, hooks as of May 2026',
  source: 'https://developers.openai.com/codex/hooks',
  tools: { Bash: bash, apply_patch: patch },
  mcpName: prefixed('mcp__'),
};

export const copilotTable: ToolTable = {
  product: 'GitHub Copilot CLI 1 and cloud agent, hooks as of September 2026',
  source: 'https://docs.github.com/en/copilot/reference/hooks-reference',
  tools: {
    bash,
    powershell: { ...bash, foreignShell: true },
    write_bash: withArgs(shell, { input: 'command' }),
    write_powershell: { ...withArgs(shell, { input: 'command' }), foreignShell: true },
    view: { kind: 'read', name: 'Read' },
    create: { kind: 'write', name: 'Write' },
    edit: { kind: 'write', name: 'Edit' },
    str_replace_editor: withArgs(write, { command: 'content', file_text: 'content' }),
    apply_patch: patch,
    ...all(withArgs(read, { glob: 'path', include: 'path' }), 'grep rg'),
    glob: withArgs(read, { pattern: 'path' }),
    show_file: read,
    ...other(
      'ask_user exit_plan_mode list_bash list_powershell read_bash read_powershell report_intent skill',
    ),
    ...other('stop_bash stop_powershell store_memory task task_complete update_todo web_fetch web_search'),
  },
};

export const cursorTable: ToolTable = {
  product: 'Cursor 2.4 to 3.5',
  source: 'https://cursor.com/docs/hooks',
  tools: {
    Shell: bash,
    Read: { kind: 'read' },
    Write: { kind: 'write', also: ['Edit'] },
    Edit: { kind: 'write' },
    ...all(write, 'Delete EditNotebook MultiEdit StrReplace TabWrite'),
    Grep: withArgs(read, { glob: 'path' }),
    Glob: withArgs(read, { glob_pattern: 'path', pattern: 'path' }),
    ...all(read, 'LS ReadLints SemanticSearch TabRead'),
    ...other('AskQuestion Task TodoWrite WebFetch WebSearch'),
  },
  mcpName: (tool) => (tool.startsWith('MCP:') ? tool.slice('MCP:'.length) : null),
};

export const geminiTable: ToolTable = {
  product: 'Gemini CLI 0.21 to 0.3x',
  source: 'https://github.com/google-gemini/gemini-cli, docs/hooks/reference.md and docs/tools',
  tools: {
    run_shell_command: withArgs(bash, { directory: 'cwd', dir_path: 'cwd' }),
    read_file: { kind: 'read', name: 'Read' },
    write_file: { kind: 'write', name: 'Write' },
    replace: { kind: 'write', name: 'Edit', args: { instruction: 'content' } },
    read_many_files: withArgs(read, { include: 'path', exclude: 'content' }),
    list_directory: withArgs(read, { ignore: 'content' }),
    glob: withArgs(read, { pattern: 'path' }),
    ...all(withArgs(read, { include: 'path', include_pattern: 'path' }), 'grep_search search_file_content'),
    web_fetch: { kind: 'other', adapt: urlArguments },
    ...other('activate_skill ask_user complete_task enter_plan_mode exit_plan_mode get_internal_docs'),
    ...other('google_web_search save_memory write_todos'),
  },
  mcpName: prefixed('mcp_'),
};

export const vscodeTable: ToolTable = {
  product: 'Visual Studio Code 1.110, agent hooks (preview)',
  source:
    'https://code.visualstudio.com/docs/agents/reference/hooks-reference and https://github.com/microsoft/vscode-copilot-chat, toolNames.ts',
  tools: {
    ...all(bash, 'run_in_terminal runInTerminal'),
    ...all(shell, 'create_and_run_task createAndRunTask'),
    ...all(
      read,
      'read_file readFile list_dir listDirectory view_image get_errors problems get_changed_files',
    ),
    ...all(read, 'changes copilot_getNotebookSummary getNotebookSummary read_notebook_cell_output'),
    ...all(read, 'readNotebookCellOutput read_project_structure test_search'),
    ...all(withArgs(read, { query: 'path' }), 'file_search fileSearch'),
    ...all(withArgs(read, { includePattern: 'path' }), 'grep_search textSearch'),
    ...all(write, 'create_directory createDirectory create_file createFile edit_files editFiles'),
    ...all(write, 'create_new_jupyter_notebook edit_notebook_file editNotebook insert_edit_into_file'),
    ...all(write, 'multi_replace_string_in_file replace_string_in_file'),
    apply_patch: patch,
    ...other('askQuestions codebase create_new_workspace extensions fetch fetch_webpage getProjectSetupInfo'),
    ...other('getTerminalOutput get_project_setup_info get_search_view_results get_terminal_output'),
    ...other('get_vscode_api githubRepo githubTextSearch github_repo installExtension install_extension'),
    ...other(
      'list_code_usages manage_todo_list memory newWorkspace open_simple_browser runCommand runSubagent',
    ),
    ...other('runNotebookCell runTests run_notebook_cell run_task run_tests run_vscode_command'),
    ...other('search_workspace_symbols semantic_search terminalLastCommand terminalSelection'),
    ...other('terminal_last_command terminal_selection testFailure test_failure todos usages VSCodeAPI'),
  },
  mcpName: prefixed('mcp_'),
};

export const windsurfTable: ToolTable = {
  product: 'Windsurf, Cascade hooks (beta) as of 2026',
  source: 'https://docs.windsurf.com/windsurf/cascade/hooks',
  // It has an event for each kind, which the reader of the payload names by these.
  tools: { Bash: bash, Read: { kind: 'read' }, Write: { kind: 'write', also: ['Edit'] } },
  mcpName: prefixed('mcp__'),
};

/** A tool with its facts from the table. */
export interface KnownTool extends ToolEntry {
  /** The name under which the tool is judged and recorded. */
  readonly name: string;
  readonly also: readonly string[];
  readonly isMcp: boolean;
}

/** Null: neither the table nor the caller knows the tool. */
export function toolIn(table: ToolTable, tool: string): KnownTool | null {
  const entry = Object.hasOwn(table.tools, tool) ? table.tools[tool] : undefined;
  if (entry) {
    const { name = tool, also = [] } = entry;
    // Contracts for the assistant's own name hold as well.
    return { ...entry, name, also: name === tool ? also : [...also, tool], isMcp: false };
  }
  const mcpName = table.mcpName?.(tool) ?? null;
  if (mcpName === null) return null;
  return mcpTool(tool, mcpName === tool ? [] : [mcpName]);
}

/** A tool of an MCP server, judged as itself. */
export const mcpTool = (name: string, also: readonly string[] = []): KnownTool => ({
  kind: 'other',
  name,
  also,
  isMcp: true,
});
