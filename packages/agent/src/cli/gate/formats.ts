// The words of coding assistants: what each sends to a hook before a tool, and how each reads a verdict. Tools that
// most assistants have are judged under one name (Bash, Read, Write, Edit), so that one contract fits them all.

/** The call that an assistant is about to make. */
export interface HookInput {
  readonly tool: string;
  readonly args: { readonly [name: string]: unknown };
  /** Where the tool runs; null: not told. */
  readonly cwd: string | null;
  /** The assistant's session; null: it has none. */
  readonly session: string | null;
}

export interface Verdict {
  /** `ask`: the assistant asks its own user. */
  readonly verdict: 'allow' | 'deny' | 'ask';
  readonly contract: string | null;
  readonly reason: string;
}

/** What a hook prints, and its exit code. */
export interface HookOutput {
  readonly code: number;
  /** Null: nothing, so that the assistant's own permissions decide. */
  readonly stdout: object | null;
  readonly stderr: string;
}

export interface HookFormat {
  /** Whether the assistant asks its user when a hook says so. */
  readonly asks: boolean;
  /** Null: no event before a tool. @throws Error for input that cannot be understood */
  read(input: Fields): HookInput | null;
  write(verdict: Verdict): HookOutput;
}

export type Fields = { readonly [name: string]: unknown };

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** @throws Error */
function nameOf(value: unknown): string {
  const name = textOf(value);
  if (name === null) throw new Error('the input names no tool');
  return name;
}

/** Arguments, as an object or as the JSON text of one. @throws Error */
function argsOf(value: unknown): Fields {
  const read: unknown = typeof value === 'string' ? JSON.parse(value) : (value ?? {});
  if (!isObject(read)) throw new Error('the arguments of the tool are no object');
  return read;
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
 * Claude Code, and those that took its hooks over. An allow says nothing: it would go past the assistant's own
 * permissions.
 */
const claude = (asks: boolean): HookFormat => ({
  asks,
  read(input) {
    if ((input.hook_event_name ?? 'PreToolUse') !== 'PreToolUse') return null;
    return {
      tool: nameOf(input.tool_name),
      args: argsOf(input.tool_input),
      cwd: textOf(input.cwd),
      session: textOf(input.session_id),
    };
  },
  write({ verdict, reason }) {
    if (verdict === 'allow') return silent();
    if (verdict === 'ask' && asks) return silent(0, preToolUse('ask', reason));
    return blocked(reason, preToolUse('deny', reason));
  },
});

const cursor: HookFormat = {
  asks: true,
  read(input) {
    const [root] = Array.isArray(input.workspace_roots) ? (input.workspace_roots as unknown[]) : [];
    const place = {
      cwd: textOf(input.cwd) ?? textOf(root),
      session: textOf(input.conversation_id) ?? textOf(input.session_id),
    };
    switch (input.hook_event_name) {
      case 'beforeShellExecution':
        return { tool: 'Bash', args: { command: String(input.command ?? '') }, ...place };
      // The file's content is not an argument.
      case 'beforeReadFile':
      case 'beforeTabFileRead':
        return { tool: 'Read', args: { file_path: String(input.file_path ?? '') }, ...place };
      case 'beforeMCPExecution':
        return { tool: nameOf(input.tool_name), args: argsOf(input.tool_input), ...place };
      case 'preToolUse': {
        const tool = nameOf(input.tool_name);
        return { tool: tool === 'Shell' ? 'Bash' : tool, args: argsOf(input.tool_input), ...place };
      }
      default:
        return null;
    }
  },
  write({ verdict, reason }) {
    if (verdict === 'allow') return silent();
    const said = { permission: verdict, user_message: reason, agent_message: reason };
    return verdict === 'deny' ? blocked(reason, said) : silent(0, said);
  },
};

const geminiNames: { readonly [name: string]: string } = {
  run_shell_command: 'Bash',
  read_file: 'Read',
  write_file: 'Write',
  replace: 'Edit',
};

const gemini: HookFormat = {
  asks: false,
  read(input) {
    if ((input.hook_event_name ?? 'BeforeTool') !== 'BeforeTool') return null;
    const tool = nameOf(input.tool_name);
    return {
      tool: Object.hasOwn(geminiNames, tool) ? (geminiNames[tool] ?? tool) : tool,
      args: argsOf(input.tool_input),
      cwd: textOf(input.cwd),
      session: textOf(input.session_id),
    };
  },
  write: ({ verdict, reason }) =>
    verdict === 'allow' ? silent() : blocked(reason, { decision: 'deny', reason }),
};

const copilotNames: { readonly [name: string]: string } = {
  bash: 'Bash',
  view: 'Read',
  create: 'Write',
  edit: 'Edit',
};

const copilot: HookFormat = {
  asks: true,
  read(input) {
    const tool = nameOf(input.toolName);
    return {
      tool: Object.hasOwn(copilotNames, tool) ? (copilotNames[tool] ?? tool) : tool,
      args: argsOf(input.toolArgs),
      cwd: textOf(input.cwd),
      session: textOf(input.sessionId),
    };
  },
  // It reads verdicts from hooks that end well.
  write: ({ verdict, reason }) =>
    verdict === 'allow'
      ? silent()
      : silent(0, { permissionDecision: verdict, permissionDecisionReason: reason }),
};

const windsurf: HookFormat = {
  asks: false,
  read(input) {
    const info = argsOf(input.tool_info);
    const place = { cwd: textOf(info.cwd), session: textOf(input.trajectory_id) };
    switch (input.agent_action_name) {
      case 'pre_run_command':
        return { tool: 'Bash', args: { command: String(info.command_line ?? '') }, ...place };
      case 'pre_read_code':
        return { tool: 'Read', args: { file_path: String(info.file_path ?? '') }, ...place };
      case 'pre_write_code':
        return {
          tool: 'Write',
          args: { file_path: String(info.file_path ?? ''), edits: info.edits ?? [] },
          ...place,
        };
      case 'pre_mcp_tool_use': {
        const server = textOf(info.mcp_server_name);
        const tool = nameOf(info.mcp_tool_name);
        const args = argsOf(info.mcp_tool_arguments);
        return { tool: server === null ? tool : `mcp__${server}__${tool}`, args, ...place };
      }
      default:
        return null;
    }
  },
  write: ({ verdict, reason }) => (verdict === 'allow' ? silent() : blocked(reason)),
};

/** For programs of one's own. */
const generic: HookFormat = {
  asks: false,
  read: (input) => ({
    tool: nameOf(input.tool),
    args: argsOf(input.args),
    cwd: textOf(input.cwd),
    session: textOf(input.session),
  }),
  write: (verdict) => ({
    code: verdict.verdict === 'allow' ? 0 : 2,
    stdout: verdict,
    stderr: verdict.verdict === 'allow' ? '' : verdict.reason,
  }),
};

export const formats: { readonly [name: string]: HookFormat } = {
  generic,
  'claude-code': claude(true),
  codex: claude(false),
  copilot,
  cursor,
  gemini,
  vscode: claude(true),
  windsurf,
};

/** @throws Error in plain words */
export function readInput(format: HookFormat, text: string): HookInput | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw new Error('the input is not JSON');
  }
  if (!isObject(read)) throw new Error('the input is not an object');
  try {
    return format.read(read);
  } catch (failure) {
    if (failure instanceof SyntaxError) throw new Error('the arguments of the tool are not JSON');
    throw failure;
  }
}
