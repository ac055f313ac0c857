// Hook formats of coding assistants: what each sends, and how each reads a verdict.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { formats, type HookFormat, readInput } from '../../src/cli/gate/formats.ts';

const format = (name: string): HookFormat => {
  const found = formats[name];
  if (!found) throw new Error(name);
  return found;
};
const read = (name: string, input: object) => readInput(format(name), JSON.stringify(input));

const claude = {
  session_id: 's1',
  transcript_path: '/t.jsonl',
  cwd: '/work',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command: 'ls' },
};
const cursor = { conversation_id: 's1', generation_id: 'g', workspace_roots: ['/work'] };
const windsurf = (agent_action_name: string, tool_info: object) => ({
  trajectory_id: 's1',
  agent_action_name,
  tool_info,
});
const bash = { tool: 'Bash', args: { command: 'ls' }, cwd: '/work', session: 's1' };

describe('calls', () => {
  it.each([
    ['generic', { tool: 'Bash', args: { command: 'ls' }, cwd: '/work', session: 's1' }, bash],
    ['claude-code', claude, bash],
    ['codex', claude, bash],
    [
      'vscode',
      { ...claude, tool_name: 'editFiles', tool_input: { files: ['a'] } },
      { tool: 'editFiles', args: { files: ['a'] } },
    ],
    ['claude-code', { ...claude, tool_name: 'mcp__files__read' }, { tool: 'mcp__files__read' }],
    ['cursor', { ...cursor, hook_event_name: 'beforeShellExecution', command: 'ls', cwd: '/work' }, bash],
    [
      'cursor',
      { ...cursor, hook_event_name: 'beforeReadFile', file_path: '/a', content: 'SECRET' },
      { tool: 'Read', args: { file_path: '/a' }, cwd: '/work' },
    ],
    [
      'cursor',
      {
        ...cursor,
        hook_event_name: 'beforeMCPExecution',
        tool_name: 'query',
        tool_input: '{"sql":"select"}',
      },
      { tool: 'query', args: { sql: 'select' } },
    ],
    [
      'cursor',
      { ...cursor, hook_event_name: 'preToolUse', tool_name: 'Shell', tool_input: { command: 'ls' } },
      { tool: 'Bash', args: { command: 'ls' } },
    ],
    [
      'gemini',
      {
        session_id: 's1',
        cwd: '/work',
        hook_event_name: 'BeforeTool',
        tool_name: 'run_shell_command',
        tool_input: { command: 'ls' },
      },
      bash,
    ],
    [
      'gemini',
      { hook_event_name: 'BeforeTool', tool_name: 'glob', tool_input: {} },
      { tool: 'glob', args: {}, cwd: null, session: null },
    ],
    [
      'copilot',
      { timestamp: 1, cwd: '/work', toolName: 'bash', toolArgs: '{"command":"ls"}' },
      { ...bash, session: null },
    ],
    ['windsurf', windsurf('pre_run_command', { command_line: 'ls', cwd: '/work' }), bash],
    ['windsurf', windsurf('pre_read_code', { file_path: '/a' }), { tool: 'Read', args: { file_path: '/a' } }],
    [
      'windsurf',
      windsurf('pre_write_code', { file_path: '/a', edits: [{ new_string: 'x' }] }),
      { tool: 'Write', args: { file_path: '/a', edits: [{ new_string: 'x' }] } },
    ],
    [
      'windsurf',
      windsurf('pre_mcp_tool_use', {
        mcp_server_name: 'db',
        mcp_tool_name: 'query',
        mcp_tool_arguments: { sql: 'x' },
      }),
      { tool: 'mcp__db__query', args: { sql: 'x' } },
    ],
  ])('%s sends %j', (name, input, call) => {
    expect(read(name, input)).toMatchObject(call);
  });

  it.each([
    ['claude-code', { ...claude, hook_event_name: 'PostToolUse' }],
    ['cursor', { ...cursor, hook_event_name: 'stop' }],
    ['gemini', { hook_event_name: 'AfterTool', tool_name: 'glob' }],
    ['windsurf', windsurf('post_run_command', {})],
  ])('%s tells of something else: %j', (name, input) => {
    expect(read(name, input)).toBeNull();
  });

  it.each([
    ['generic', '', 'not JSON'],
    ['generic', '[]', 'not an object'],
    ['generic', '{}', 'names no tool'],
    ['generic', '{"tool":"a","args":[1]}', 'not an object'],
    ['copilot', '{"toolName":"a","toolArgs":"{"}', 'arguments of the tool are not valid JSON'],
    ['claude-code', '{"tool_name":7}', 'names no tool'],
  ])('%s with %s cannot be understood', (name, text, why) => {
    expect(() => readInput(format(name), text)).toThrow(why);
  });
});

describe('tables', () => {
  it('are of products, versions and pages that the guide names', async () => {
    const page = await readFile(new URL('../../../../docs/integrations.md', import.meta.url), 'utf8');
    for (const [name, { table }] of Object.entries(formats)) {
      expect(page).toContain(`| \`${name}\` | ${table.product} |`);
      for (const address of table.source.match(/https:\/\/[^\s,]+/g) ?? []) expect(page).toContain(address);
    }
  });
});

describe('verdicts', () => {
  const deny = { verdict: 'deny', contract: 'no-rm', reason: 'not here' } as const;
  const ask = { verdict: 'ask', contract: null, reason: 'sure?' } as const;

  it('that allow say nothing, so that the assistant’s own permissions hold', () => {
    for (const [name, { write }] of Object.entries(formats)) {
      const { code, stdout } = write({ verdict: 'allow', contract: null, reason: '' });
      expect(code).toBe(0);
      if (name !== 'generic') expect(stdout).toBeNull();
    }
  });

  it.each([
    ['generic', 2, deny],
    [
      'claude-code',
      2,
      {
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: 'deny',
          permissionDecisionReason: 'not here',
        },
      },
    ],
    ['cursor', 2, { permission: 'deny', user_message: 'not here', agent_message: 'not here' }],
    ['gemini', 2, { decision: 'deny', reason: 'not here' }],
    ['copilot', 0, { permissionDecision: 'deny', permissionDecisionReason: 'not here' }],
    ['windsurf', 2, null],
  ])('that deny are told to %s by exit code %i and JSON', (name, code, stdout) => {
    const said = format(name).write(deny);
    expect([said.code, said.stdout]).toEqual([code, stdout]);
    if (code === 2) expect(said.stderr).toBe('not here');
  });

  it('that ask are denials at events of which an assistant does not ask', () => {
    const { write } = format('cursor');
    expect(write(ask, { asks: false })).toMatchObject({ code: 2, stdout: { permission: 'deny' } });
    expect(write({ ...ask, verdict: 'allow' }, { needsAnswer: true })).toEqual({
      code: 0,
      stdout: { permission: 'allow' },
      stderr: '',
    });
    for (const event of ['preToolUse', 'beforeReadFile']) {
      const input = { ...cursor, hook_event_name: event, tool_name: 'Read', tool_input: {}, file_path: 'a' };
      expect(read('cursor', input)?.asks).toBe(false);
    }
  });

  it('that ask are told to those who can ask, and block all others', () => {
    for (const { asks, write } of Object.values(formats)) {
      if (asks) expect(JSON.stringify(write(ask).stdout)).toContain('"ask"');
      else expect(write(ask).code).toBe(2);
    }
  });
});
