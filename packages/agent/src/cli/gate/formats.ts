// Formats of coding assistants: the payload that each sends to a hook before a tool, and the verdict that each reads.
// tables.ts describes their tools.
import { type Fields, isObject } from '../../fields.ts';
import { readStrictJson, StrictJsonError } from '../../rules/strict-json.ts';
import {
  claudeTable,
  codexTable,
  copilotTable,
  cursorTable,
  geminiTable,
  genericTable,
  type KnownTool,
  mcpTool,
  type ToolTable,
  toolIn,
  vscodeTable,
  windsurfTable,
} from './tables.ts';

/** The call that an assistant is about to make, as its payload has it. */
interface HookPayload {
  /** The assistant's name of the tool. */
  readonly tool: string;
  readonly args: Fields;
  /** Working folder of the tool; null: the payload contains none. */
  readonly cwd: string | null;
  /** The assistant's session; null: it has none. */
  readonly session: string | null;
  /** Folders of the project; default: the payload names none. */
  readonly roots?: readonly string[];
  /** True if the assistant asks its user at this event; default: the format's value. */
  readonly asks?: boolean;
  /** True if the assistant needs an answer for an allowed call. */
  readonly needsAnswer?: boolean;
  /** The tool, if the event itself describes it; default: the entry in the format's table. */
  readonly knownTool?: KnownTool;
}

/** The call as it is judged. */
export interface HookInput extends Omit<HookPayload, 'knownTool'> {
  /** The common name of what the tool does, else the assistant's own name of it. */
  readonly tool: string;
  /** Null: the tool is not known. */
  readonly knownTool: KnownTool | null;
}

export interface Verdict {
  /** `ask`: the assistant asks its own user. */
  readonly verdict: 'allow' | 'deny' | 'ask';
  readonly contract: string | null;
  readonly reason: string;
}

/** Output of a hook, and its exit code. */
export interface HookOutput {
  readonly code: number;
  /** Null: nothing, so that the assistant's own permissions decide. */
  readonly stdout: object | null;
  readonly stderr: string;
}

export interface HookFormat {
  readonly table: ToolTable;
  /** True if the assistant asks its user when a hook requests that. */
  readonly asks: boolean;
  /** The variable of the environment by which the assistant names the project; null: it sets none. */
  readonly projectVariable: string | null;
  /** Null: no event before a tool. @throws Error for input that cannot be understood */
  read(input: Fields): HookPayload | null;
  /** @param input the call; absent where it could not be read */
  write(verdict: Verdict, input?: Pick<HookInput, 'asks' | 'needsAnswer'>): HookOutput;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** @throws Error */
function nameOf(value: unknown): string {
  const name = textOf(value);
  if (name === null) throw new Error('the input names no tool');
  return name;
}

/** @throws Error: what is not a text could be judged as another one than is used */
function requiredText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new Error(`the input names no ${what}`);
  return value;
}

/** Arguments, as an object or as the JSON text of one. @throws Error */
function argsOf(value: unknown): Fields {
  let args: unknown = value ?? {};
  if (typeof value === 'string') {
    // The patch itself, as some versions send it.
    if (/^\s*\*\*\* Begin Patch/.test(value)) return { input: value };
    try {
      args = readStrictJson(value);
    } catch (failure) {
      if (!(failure instanceof StrictJsonError)) throw failure;
      throw new Error(`the arguments of the tool are not valid JSON: ${failure.message}`);
    }
  }
  if (!isObject(args)) throw new Error('the arguments of the tool are not an object');
  return args;
}

/** @throws Error for roots that are no list of texts */
function rootsOf(value: unknown): readonly string[] {
  const roots: readonly unknown[] = Array.isArray(value) ? value : [value ?? []].flat();
  return roots.map((root) => {
    if (typeof root !== 'string' || root === '') throw new Error('the project folders are not strings');
    return root;
  });
}

const silent = (code = 0, stdout: object | null = null): HookOutput => ({ code, stdout, stderr: '' });

/** Blocks by the exit code that most assistants take for it. */
const blocked = (reason: string, stdout: object | null = null): HookOutput => ({
  code: 2,
  stdout,
  stderr: reason,
});

const preToolUse = (permissionDecision: 'deny' | 'ask', permissionDecisionReason: string): object => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason },
});

/**
 * Claude Code, and assistants with the same hooks. An allowed call gets no answer, because an answer would go past the
 * assistant's own permissions.
 */
const claude = (table: ToolTable, asks: boolean, projectVariable: string | null): HookFormat => ({
  table,
  asks,
  projectVariable,
  read(input) {
    // One of those that took them over writes these names in camel case.
    const events = [input.hook_event_name, input.hookEventName].filter((event) => event !== undefined);
    if (events.length > 0 && !events.includes('PreToolUse')) return null;
    return {
      tool: nameOf(input.tool_name),
      args: argsOf(input.tool_input),
      cwd: textOf(input.cwd),
      session: textOf(input.session_id) ?? textOf(input.sessionId),
    };
  },
  write({ verdict, reason }) {
    if (verdict === 'allow') return silent();
    if (verdict === 'ask' && asks) return silent(0, preToolUse('ask', reason));
    return blocked(reason, preToolUse('deny', reason));
  },
});

/** Events before something else than a tool. */
const cursorOthers: ReadonlySet<unknown> = new Set(['beforeSubmitPrompt', 'preCompact']);

const cursor: HookFormat = {
  table: cursorTable,
  asks: true,
  projectVariable: 'CURSOR_PROJECT_DIR',
  read(input) {
    const roots = rootsOf(input.workspace_roots);
    const place = {
      cwd: textOf(input.cwd) ?? roots[0] ?? null,
      session: textOf(input.conversation_id) ?? textOf(input.session_id),
      roots,
    };
    const event = input.hook_event_name;
    switch (event) {
      case 'beforeShellExecution':
        return { tool: 'Shell', args: { command: requiredText(input.command, 'command') }, ...place };
      // The file's content is not an argument.
      case 'beforeReadFile':
      case 'beforeTabFileRead':
        return {
          tool: 'Read',
          args: { file_path: requiredText(input.file_path, 'file') },
          ...place,
          asks: false,
        };
      case 'beforeMCPExecution': {
        const tool = nameOf(input.tool_name);
        const ofServer = mcpTool(tool, [`MCP:${tool}`]);
        return { tool, args: argsOf(input.tool_input), ...place, knownTool: ofServer };
      }
      case 'preToolUse': {
        // It takes `ask` and does not ask.
        const answer = { asks: false, needsAnswer: true };
        return { tool: nameOf(input.tool_name), args: argsOf(input.tool_input), ...place, ...answer };
      }
      default:
        if (typeof event !== 'string' || cursorOthers.has(event) || !/^(?:before|pre)[A-Z]/.test(event))
          return null;
        // A tool of a version to come: unknown.
        return { tool: event, args: input, ...place, asks: false };
    }
  },
  write({ verdict, reason }, { asks = true, needsAnswer = false } = {}) {
    if (verdict === 'allow') return silent(0, needsAnswer ? { permission: 'allow' } : null);
    const answer = { permission: asks ? verdict : 'deny', user_message: reason, agent_message: reason };
    return answer.permission === 'deny' ? blocked(reason, answer) : silent(0, answer);
  },
};

const gemini: HookFormat = {
  table: geminiTable,
  asks: false,
  projectVariable: 'GEMINI_PROJECT_DIR',
  read(input) {
    if ((input.hook_event_name ?? 'BeforeTool') !== 'BeforeTool') return null;
    return {
      tool: nameOf(input.tool_name),
      args: argsOf(input.tool_input),
      cwd: textOf(input.cwd),
      session: textOf(input.session_id),
    };
  },
  write: ({ verdict, reason }) =>
    verdict === 'allow' ? silent() : blocked(reason, { decision: 'deny', reason }),
};

const copilot: HookFormat = {
  table: copilotTable,
  asks: true,
  projectVariable: null,
  read: (input) => ({
    tool: nameOf(input.toolName),
    args: argsOf(input.toolArgs),
    cwd: textOf(input.cwd),
    session: textOf(input.sessionId),
  }),
  // It reads verdicts from hooks that end well.
  write: ({ verdict, reason }) =>
    verdict === 'allow'
      ? silent()
      : silent(0, { permissionDecision: verdict, permissionDecisionReason: reason }),
};

const windsurf: HookFormat = {
  table: windsurfTable,
  asks: false,
  projectVariable: null,
  read(input) {
    const event = input.agent_action_name;
    if (typeof event !== 'string' || !event.startsWith('pre_') || event === 'pre_user_prompt') return null;
    const info = argsOf(input.tool_info);
    const place = { cwd: textOf(info.cwd), session: textOf(input.trajectory_id) };
    const file = () => ({ file_path: requiredText(info.file_path, 'file') });
    switch (event) {
      case 'pre_run_command':
        return { tool: 'Bash', args: { command: requiredText(info.command_line, 'command') }, ...place };
      case 'pre_read_code':
        return { tool: 'Read', args: file(), ...place };
      case 'pre_write_code':
        return { tool: 'Write', args: { ...file(), edits: info.edits ?? [] }, ...place };
      case 'pre_mcp_tool_use': {
        const server = textOf(info.mcp_server_name);
        const tool = nameOf(info.mcp_tool_name);
        const args = argsOf(info.mcp_tool_arguments);
        const name = server === null ? tool : `mcp__${server}__${tool}`;
        return { tool: name, args, ...place, knownTool: mcpTool(name) };
      }
      default:
        // A tool of a version to come: unknown.
        return { tool: event, args: info, ...place };
    }
  },
  write: ({ verdict, reason }) => (verdict === 'allow' ? silent() : blocked(reason)),
};

/** For programs of one's own. */
const generic: HookFormat = {
  table: genericTable,
  asks: false,
  projectVariable: null,
  read: (input) => ({
    tool: nameOf(input.tool),
    args: argsOf(input.args),
    cwd: textOf(input.cwd),
    session: textOf(input.session),
    roots: rootsOf(input.project),
  }),
  write: (verdict) => ({
    code: verdict.verdict === 'allow' ? 0 : 2,
    stdout: verdict,
    stderr: verdict.verdict === 'allow' ? '' : verdict.reason,
  }),
};

export const formats: { readonly [name: string]: HookFormat } = {
  generic,
  'claude-code': claude(claudeTable, true, 'CLAUDE_PROJECT_DIR'),
  codex: claude(codexTable, false, null),
  copilot,
  cursor,
  gemini,
  vscode: claude(vscodeTable, true, null),
  windsurf,
};

/** Null: no event before a tool. @throws Error in plain words */
export function readInput(format: HookFormat, text: string): HookInput | null {
  let read: unknown;
  try {
    read = readStrictJson(text);
  } catch (failure) {
    if (!(failure instanceof StrictJsonError)) throw failure;
    throw new Error(`the input is not valid JSON: ${failure.message}`);
  }
  if (!isObject(read)) throw new Error('the input is not an object');
  const payload = format.read(read);
  if (!payload) return null;
  const declared = payload.knownTool ?? toolIn(format.table, payload.tool);
  const args = declared?.adapt ? declared.adapt(payload.args) : payload.args;
  return { ...payload, tool: declared?.name ?? payload.tool, args, knownTool: declared };
}
