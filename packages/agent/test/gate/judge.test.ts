// The input of a gate: payloads as the products publish them, against a sandbox of the project and contracts by the
// common names of tools.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../../../../test/runs.ts';
import { formats, type HookFormat, readInput, type Verdict } from '../../src/cli/gate/formats.ts';
import { judge } from '../../src/cli/gate/judge.ts';
import { projectsOf } from '../../src/cli/gate/project.ts';
import { GateState, maxEventBytes } from '../../src/cli/gate/state.ts';
import type { ToolArguments, WireEvent } from '../../src/index.ts';
import { readBundle } from '../../src/rules/bundle/document.ts';
import { rules } from '../mcp/setting.ts';

let root = '';
let project = '';
let sibling = '';
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'reeve-judge-')));
  project = join(root, 'project');
  sibling = join(root, 'sibling');
  mkdirSync(join(project, 'src'), { recursive: true });
  mkdirSync(sibling);
  writeFileSync(join(project, 'a.txt'), '');
  symlinkSync(sibling, join(project, 'link'));
  symlinkSync(project, join(root, 'alias'));
});
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

const inside =
  '{ id: inside, type: sandbox, tools: [Bash, Read, Edit, Write], within: ["."], message: "outside of the project" }';

interface Setting {
  readonly contracts?: readonly string[];
  /** `--project`. */
  readonly option?: readonly string[];
  readonly variables?: { readonly [name: string]: string };
  /** Where the hook was started. */
  readonly start?: string;
  readonly toolArguments?: ToolArguments;
  readonly unknown?: 'judge' | 'deny';
  /** With a hub, for whom events are kept. Names the files of state. */
  readonly scope?: string;
}

interface Outcome extends Verdict {
  readonly told: readonly string[];
}

async function verdictOn(name: string, payload: object, setting: Setting = {}): Promise<Outcome> {
  const {
    contracts = [inside],
    option = [],
    variables = {},
    start = project,
    toolArguments,
    unknown = 'judge',
    scope,
  } = setting;
  const format = formats[name] as HookFormat;
  const input = readInput(format, JSON.stringify(payload));
  if (!input) throw new Error('no call');
  const read = readBundle(rules(...contracts), { maxContracts: 500 });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const told: string[] = [];
  const state = new GateState(join(root, 'state'), scope ?? 'test');
  state.make();
  const verdict = await judge(input, {
    plan: {
      hub: scope === undefined ? null : { url: 'http://127.0.0.1:1', apiKey: 'key', agentId: 'laptop' },
      bundleName: null,
      contracts: ['contracts.yaml'],
      state: state.folder,
      guard: toolArguments ? { toolArguments } : {},
      scope: 'test',
    },
    state,
    contracts: { policyVersion: 'v', name: 'guardrails', sources: '', documents: read.documents },
    projects: projectsOf(option, input, format, variables, start),
    asks: input.asks ?? format.asks,
    unknown,
    warnsOfUnknown: true,
    hubApprovals: async () => null,
    log: (text) => told.push(text),
  });
  return { ...verdict, told };
}

/** The events that wait for the hub. */
const keptEvents = (scope: string) =>
  readFileSync(new GateState(join(root, 'state'), scope).path('events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as WireEvent);

const claude = (tool_name: string, tool_input: object, cwd = project) => ({
  session_id: 's1',
  transcript_path: '/t.jsonl',
  cwd,
  permission_mode: 'default',
  hook_event_name: 'PreToolUse',
  tool_name,
  tool_input,
});
const codex = (tool_name: string, tool_input: object) => ({
  ...claude(tool_name, tool_input),
  model: 'm',
  tool_use_id: 't',
  turn_id: '1',
});
const copilot = (toolName: string, toolArgs: unknown) => ({
  sessionId: 's1',
  timestamp: 1_704_614_600_000,
  cwd: project,
  toolName,
  toolArgs: typeof toolArgs === 'string' ? toolArgs : JSON.stringify(toolArgs),
});
const cursor = (hook_event_name: string, more: object) => ({
  conversation_id: 's1',
  generation_id: 'g',
  model: 'm',
  hook_event_name,
  cursor_version: '2.4.0',
  workspace_roots: [project],
  user_email: null,
  ...more,
});
const cursorTool = (tool_name: string, tool_input: object) =>
  cursor('preToolUse', { tool_name, tool_input, tool_use_id: 't', cwd: project });
const gemini = (tool_name: string, tool_input: object) => ({
  session_id: 's1',
  transcript_path: '/t.json',
  cwd: project,
  hook_event_name: 'BeforeTool',
  timestamp: '2026-01-01T00:00:00Z',
  tool_name,
  tool_input,
});
const vscode = (tool_name: string, tool_input: object) => ({
  timestamp: '2026-01-01T00:00:00Z',
  cwd: project,
  sessionId: 's1',
  hookEventName: 'PreToolUse',
  transcript_path: '/t.json',
  tool_name,
  tool_input,
  tool_use_id: 'tool-123',
});
const windsurf = (agent_action_name: string, tool_info: object) => ({
  agent_action_name,
  trajectory_id: 's1',
  execution_id: 'e',
  timestamp: '2026-01-01T00:00:00Z',
  tool_info,
});
const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n');

/** The product, a call that stays in the project, and the same call that leaves it. */
const pairs: [string, string, (path: string) => object][] = [
  ['claude-code', 'Bash', (path) => claude('Bash', { command: `cat ${path}`, description: 'x' })],
  ['claude-code', 'PowerShell', (path) => claude('PowerShell', { command: `Get-Content ${path}` })],
  ['claude-code', 'Monitor', (path) => claude('Monitor', { command: `tail -f ${path}` })],
  ['claude-code', 'Read', (path) => claude('Read', { file_path: path })],
  ['claude-code', 'Write', (path) => claude('Write', { file_path: path, content: '/etc/passwd' })],
  ['claude-code', 'Edit', (path) => claude('Edit', { file_path: path, old_string: '/', new_string: '..' })],
  ['claude-code', 'MultiEdit', (path) => claude('MultiEdit', { file_path: path, edits: [] })],
  [
    'claude-code',
    'NotebookEdit',
    (path) => claude('NotebookEdit', { notebook_path: path, new_source: '/etc/x' }),
  ],
  ['claude-code', 'Grep', (path) => claude('Grep', { pattern: '/etc/', path, output_mode: 'content' })],
  ['claude-code', 'Glob', (path) => claude('Glob', { pattern: path })],
  ['claude-code', 'Glob in a folder', (path) => claude('Glob', { pattern: '**/*.ts', path })],
  ['claude-code', 'LS', (path) => claude('LS', { path })],
  ['claude-code', 'LSP', (path) => claude('LSP', { operation: 'hover', filePath: path, line: 1 })],
  ['codex', 'Bash', (path) => codex('Bash', { command: `cat ${path}` })],
  [
    'codex',
    'apply_patch',
    (path) => codex('apply_patch', { command: patch(`*** Update File: ${path}`, '@@', '-/etc', '+/x') }),
  ],
  [
    'codex',
    'apply_patch that moves',
    (path) => codex('apply_patch', { command: patch('*** Update File: a', `*** Move to: ${path}`) }),
  ],
  [
    'codex',
    'apply_patch with more files',
    (path) => codex('apply_patch', { command: patch('*** Add File: a', '+x', `*** Delete File: ${path}`) }),
  ],
  ['copilot', 'bash', (path) => copilot('bash', { command: `cat ${path}`, description: 'x' })],
  ['copilot', 'write_bash', (path) => copilot('write_bash', { sessionId: '1', input: `cat ${path}` })],
  ['copilot', 'view', (path) => copilot('view', { path })],
  ['copilot', 'create', (path) => copilot('create', { path, file_text: '/etc/passwd' })],
  ['copilot', 'edit', (path) => copilot('edit', { path, old_str: '/', new_str: '..' })],
  [
    'copilot',
    'str_replace_editor',
    (path) => copilot('str_replace_editor', { command: 'create', path, file_text: '/' }),
  ],
  ['copilot', 'apply_patch', (path) => copilot('apply_patch', patch(`*** Add File: ${path}`, '+x'))],
  ['copilot', 'rg', (path) => copilot('rg', { pattern: '/etc', path })],
  ['copilot', 'glob', (path) => copilot('glob', { pattern: path })],
  ['cursor', 'a command', (path) => cursor('beforeShellExecution', { command: `cat ${path}`, cwd: project })],
  ['cursor', 'a file to read', (path) => cursor('beforeReadFile', { file_path: path, content: 'SECRET' })],
  ['cursor', 'Shell', (path) => cursorTool('Shell', { command: `cat ${path}`, working_directory: project })],
  ['cursor', 'Read', (path) => cursorTool('Read', { file_path: path })],
  ['cursor', 'Write', (path) => cursorTool('Write', { file_path: path, content: 'x' })],
  ['cursor', 'Delete', (path) => cursorTool('Delete', { file_path: path })],
  ['cursor', 'Grep', (path) => cursorTool('Grep', { pattern: 'x', path })],
  ['gemini', 'run_shell_command', (path) => gemini('run_shell_command', { command: `cat ${path}` })],
  [
    'gemini',
    'run_shell_command in a folder',
    (path) => gemini('run_shell_command', { command: 'ls', directory: path }),
  ],
  ['gemini', 'read_file', (path) => gemini('read_file', { absolute_path: path })],
  ['gemini', 'read_many_files', (path) => gemini('read_many_files', { paths: ['a.txt', path] })],
  [
    'gemini',
    'read_many_files with more',
    (path) => gemini('read_many_files', { paths: ['a'], include: [path] }),
  ],
  ['gemini', 'write_file', (path) => gemini('write_file', { file_path: path, content: 'x' })],
  ['gemini', 'replace', (path) => gemini('replace', { file_path: path, old_string: 'a', new_string: 'b' })],
  ['gemini', 'list_directory', (path) => gemini('list_directory', { path })],
  ['gemini', 'glob', (path) => gemini('glob', { pattern: path })],
  ['gemini', 'search_file_content', (path) => gemini('search_file_content', { pattern: '/etc', path })],
  ['vscode', 'editFiles', (path) => vscode('editFiles', { files: [path] })],
  ['vscode', 'read_file', (path) => vscode('read_file', { filePath: path, startLine: 1, endLine: 9 })],
  ['vscode', 'create_file', (path) => vscode('create_file', { filePath: path, content: '/etc' })],
  [
    'vscode',
    'replace_string_in_file',
    (path) => vscode('replace_string_in_file', { filePath: path, oldString: '/', newString: '..' }),
  ],
  [
    'vscode',
    'multi_replace_string_in_file',
    (path) =>
      vscode('multi_replace_string_in_file', { replacements: [{ filePath: 'a.txt' }, { filePath: path }] }),
  ],
  [
    'vscode',
    'apply_patch',
    (path) => vscode('apply_patch', { input: patch(`*** Update File: ${path}`, ' /etc'), explanation: 'x' }),
  ],
  [
    'vscode',
    'run_in_terminal',
    (path) => vscode('run_in_terminal', { command: `cat ${path}`, explanation: 'x', isBackground: false }),
  ],
  [
    'vscode',
    'create_and_run_task',
    (path) => vscode('create_and_run_task', { task: { label: 'x', type: 'shell', command: `cat ${path}` } }),
  ],
  ['vscode', 'create_directory', (path) => vscode('create_directory', { dirPath: path })],
  ['vscode', 'file_search', (path) => vscode('file_search', { query: path })],
  [
    'vscode',
    'grep_search',
    (path) => vscode('grep_search', { query: '/etc', isRegexp: false, includePattern: path }),
  ],
  ['vscode', 'edit_notebook_file', (path) => vscode('edit_notebook_file', { filePath: path, newCode: 'x' })],
  [
    'windsurf',
    'a command',
    (path) => windsurf('pre_run_command', { command_line: `cat ${path}`, cwd: project }),
  ],
  ['windsurf', 'a file to read', (path) => windsurf('pre_read_code', { file_path: path })],
  [
    'windsurf',
    'a file to write',
    (path) => windsurf('pre_write_code', { file_path: path, edits: [{ old_string: '/', new_string: 'x' }] }),
  ],
];

describe('a sandbox of the project', () => {
  it.each(pairs)('holds for %s, %s', async (format, _tool, payload) => {
    expect(await verdictOn(format, payload(join(project, 'src')))).toMatchObject({ verdict: 'allow' });
    for (const path of ['/etc/passwd', join(sibling, 'x'), '../sibling/x']) {
      expect(await verdictOn(format, payload(path)), path).toMatchObject({
        verdict: 'deny',
        contract: 'inside',
        reason: 'outside of the project',
      });
    }
  });

  it.each([
    ['the root', '/'],
    ['a folder beside', 'sibling'],
    ['a link that leads out', 'project/link'],
  ])('does not move with a call’s folder: %s', async (_name, folder) => {
    const cwd = folder === '/' ? folder : join(root, folder);
    const calls: [string, object][] = [
      ['claude-code', claude('Bash', { command: 'cat /etc/passwd' }, cwd)],
      ['claude-code', claude('Bash', { command: 'cat etc/passwd' }, cwd)],
      ['claude-code', claude('Bash', { command: 'ls' }, cwd)],
      ['claude-code', claude('Read', { file_path: 'etc/passwd' }, cwd)],
      ['claude-code', claude('Grep', { pattern: 'root' }, cwd)],
      ['codex', { ...codex('apply_patch', { command: patch('*** Add File: etc/x') }), cwd }],
      ['cursor', cursor('beforeShellExecution', { command: 'cat x', cwd })],
      ['cursor', cursorTool('Shell', { command: 'cat x', working_directory: cwd })],
      ['windsurf', windsurf('pre_run_command', { command_line: 'cat x', cwd })],
    ];
    for (const [format, payload] of calls) {
      expect(await verdictOn(format, payload), JSON.stringify(payload)).toMatchObject({ verdict: 'deny' });
    }
  });

  it('takes relative words from the call’s folder', async () => {
    const cwd = join(project, 'src');
    expect(await verdictOn('claude-code', claude('Bash', { command: 'cat ../a.txt' }, cwd))).toMatchObject({
      verdict: 'allow',
    });
    expect(await verdictOn('claude-code', claude('Bash', { command: 'cat ../../x' }, cwd))).toMatchObject({
      verdict: 'deny',
    });
    expect(
      await verdictOn('generic', { tool: 'Read', args: { file_path: 'a.txt' }, cwd: '.' }),
    ).toMatchObject({ verdict: 'allow' });
  });

  it.each([
    ['the option', { option: ['/elsewhere'] }, 'deny'],
    ['the option, relative', { option: ['project'], start: '' }, 'allow'],
    ['the environment', { variables: { CLAUDE_PROJECT_DIR: '/elsewhere' } }, 'deny'],
    [
      'the option before the environment',
      { option: ['.'], variables: { CLAUDE_PROJECT_DIR: '/elsewhere' } },
      'allow',
    ],
    ['the variable of another product', { variables: { GEMINI_PROJECT_DIR: '/elsewhere' } }, 'allow'],
    ['the folder that the hook was started in', { start: '/elsewhere' }, 'deny'],
    ['a link to the project', { option: ['alias'], start: '' }, 'allow'],
    ['several options', { option: ['/elsewhere', '.'] }, 'allow'],
  ] as [string, Setting, string][])('is of %s', async (_name, setting, verdict) => {
    const start = setting.start === '' ? root : (setting.start ?? project);
    const call = claude('Read', { file_path: join(project, 'a.txt') });
    expect(await verdictOn('claude-code', call, { ...setting, start })).toMatchObject({ verdict });
  });

  it('is each root that the payload names, and what is left out of each', async () => {
    const box =
      '{ id: inside, type: sandbox, tools: [Read], within: ["."], not_within: ["./secret"], message: outside }';
    const roots = { workspace_roots: [project, sibling] };
    const at = (path: string) =>
      verdictOn(
        'cursor',
        { ...cursorTool('Read', { file_path: path }), ...roots },
        { contracts: [box], start: '/' },
      );
    expect(await at(join(project, 'a.txt'))).toMatchObject({ verdict: 'allow' });
    expect(await at(join(sibling, 'x'))).toMatchObject({ verdict: 'allow' });
    expect(await at(join(sibling, 'secret/x'))).toMatchObject({ verdict: 'deny' });
    expect(await at(join(root, 'x'))).toMatchObject({ verdict: 'deny' });
    const generic = { tool: 'Read', args: { path: join(sibling, 'x') }, project: [sibling] };
    expect(await verdictOn('generic', generic, { contracts: [box] })).toMatchObject({ verdict: 'allow' });
  });
});

describe('names of tools', () => {
  const deny = (tool: string, id = 'no') =>
    `{ id: ${id}, type: pre, tool: "${tool}", when: { tool.name: { exists: true } }, then: { effect: deny, message: "not ${tool}" } }`;

  it.each([
    ['claude-code', () => claude('Grep', { pattern: 'x' }), 'Grep'],
    ['claude-code', () => claude('Grep', { pattern: 'x' }), 'Read'],
    ['claude-code', () => claude('NotebookEdit', { notebook_path: 'a' }), 'Edit'],
    ['claude-code', () => claude('PowerShell', { command: 'ls' }), 'Bash'],
    ['gemini', () => gemini('run_shell_command', { command: 'ls' }), 'Bash'],
    ['gemini', () => gemini('run_shell_command', { command: 'ls' }), 'run_shell_command'],
    ['gemini', () => gemini('read_many_files', { paths: ['a'] }), 'Read'],
    ['codex', () => codex('apply_patch', { command: patch('*** Add File: a') }), 'Write'],
    ['codex', () => codex('apply_patch', { command: patch('*** Add File: a') }), 'Edit'],
    ['vscode', () => vscode('editFiles', { files: ['a'] }), 'Edit'],
    ['cursor', () => cursor('beforeMCPExecution', { tool_name: 'query', tool_input: '{}' }), 'query'],
    ['cursor', () => cursorTool('MCP:query', {}), 'query'],
    ['cursor', () => cursor('beforeMCPExecution', { tool_name: 'query', tool_input: '{}' }), 'MCP:query'],
  ])('%s: contracts for common and for own names hold', async (format, payload, tool) => {
    expect(await verdictOn(format, payload(), { contracts: [deny(tool)] })).toMatchObject({
      verdict: 'deny',
      reason: `not ${tool}`,
    });
    expect(await verdictOn(format, payload(), { contracts: [deny('Nothing')] })).toMatchObject({
      verdict: 'allow',
    });
  });

  it('share the smallest limit of calls', async () => {
    const limit = (tools: string, id: string) =>
      `{ id: ${id}, type: session, limits: { max_calls_per_tool: ${tools} }, then: { effect: deny, message: "enough ${id}" } }`;
    const contracts = [limit('{ PowerShell: 9 }', 'large'), limit('{ Bash: 2 }', 'small')];
    const session = (tool: string, session_id: string) =>
      verdictOn('claude-code', { ...claude(tool, { command: 'ls' }), session_id }, { contracts });
    const verdicts = [];
    for (let call = 0; call < 3; call++) verdicts.push((await session('PowerShell', 'limits-1')).verdict);
    expect(verdicts).toEqual(['allow', 'allow', 'deny']);
    // Calls side by side pass the first check together; the count of executions refuses what is too much.
    const together = await Promise.all([1, 2, 3, 4].map(() => session('PowerShell', 'limits-2')));
    expect(together.filter(({ verdict }) => verdict === 'allow')).toHaveLength(2);
  });

  it('keep the order of the document', async () => {
    const payload = claude('Grep', { pattern: 'x' });
    for (const [first, second] of [
      ['Read', 'Grep'],
      ['Grep', 'Read'],
    ] as const) {
      const contracts = [deny(first, 'first'), deny(second, 'second')];
      expect(await verdictOn('claude-code', payload, { contracts })).toMatchObject({ contract: 'first' });
    }
  });

  it('that are not known are judged as themselves, with a warning, or refused', async () => {
    const payload = claude('Teleport', { target: '/etc' });
    const judged = await verdictOn('claude-code', payload);
    expect(judged.verdict).toBe('allow');
    expect(judged.told.join()).toContain('the tool Teleport is unknown to this format');
    expect(await verdictOn('claude-code', payload, { contracts: [deny('Teleport')] })).toMatchObject({
      verdict: 'deny',
    });
    expect(await verdictOn('claude-code', payload, { unknown: 'deny' })).toMatchObject({
      verdict: 'deny',
      contract: 'unknown_tool',
      reason: expect.stringContaining('--unknown deny'),
    });
    const declared = { toolArguments: { Teleport: { target: 'path' } } } as const;
    expect(await verdictOn('claude-code', payload, { unknown: 'deny', ...declared })).toMatchObject({
      verdict: 'allow',
      told: [],
    });
    for (const [format, known] of [
      ['claude-code', claude('mcp__db__query', { sql: 'x' })],
      ['claude-code', claude('TodoWrite', { todos: [] })],
      ['generic', { tool: 'Bash', args: { command: 'ls' } }],
    ] as const) {
      expect(await verdictOn(format, known, { unknown: 'deny' }), format).toMatchObject({
        verdict: 'allow',
        told: [],
      });
    }
    for (const [format, unknown] of [
      ['windsurf', windsurf('pre_delete_file', { file_path: 'a' })],
      ['cursor', cursor('beforeTeleport', {})],
    ] as const) {
      expect(await verdictOn(format, unknown, { unknown: 'deny' }), format).toMatchObject({
        verdict: 'deny',
      });
    }
  });
});

describe('arguments', () => {
  const noEtc =
    '{ id: no-etc, type: pre, tool: "*", when: { args.path: { starts_with: "/etc" } }, then: { effect: deny, message: "not there" } }';

  it('of MCP servers’ tools that a server may read as others are refused', async () => {
    for (const [format, payload] of [
      ['claude-code', claude('mcp__files__read', { Path: '/etc/passwd' })],
      ['cursor', cursor('beforeMCPExecution', { tool_name: 'read', tool_input: '{"PATH":"/etc/passwd"}' })],
      [
        'windsurf',
        windsurf('pre_mcp_tool_use', {
          mcp_server_name: 'files',
          mcp_tool_name: 'read',
          mcp_tool_arguments: { paTh: '/etc' },
        }),
      ],
    ] as const) {
      expect(await verdictOn(format, payload, { contracts: [noEtc] }), format).toMatchObject({
        verdict: 'deny',
        contract: 'ambiguous_argument',
      });
    }
    const call = claude('mcp__files__read', { path: 'a', Other: 1 });
    expect(await verdictOn('claude-code', call, { contracts: [noEtc] })).toMatchObject({ verdict: 'allow' });
  });

  it('of a patch that names no file, or has an unknown line, cannot be judged', () => {
    for (const text of [
      'x',
      patch(),
      patch('*** Update File: '),
      patch('*** Add File: a', '*** Rename File: /etc/x'),
    ]) {
      const payload = codex('apply_patch', { command: text });
      expect(() => readInput(formats.codex as HookFormat, JSON.stringify(payload)), text).toThrow(
        'the patch',
      );
    }
  });

  it('that name addresses in a text are judged by them', async () => {
    const hosts =
      '{ id: hosts, type: sandbox, tool: web_fetch, allows: { domains: ["*.example.com"] }, message: "another host" }';
    const fetching = (prompt: string) =>
      verdictOn('gemini', gemini('web_fetch', { prompt }), { contracts: [hosts] });
    expect(await fetching('sum up https://docs.example.com/a')).toMatchObject({ verdict: 'allow' });
    expect(await fetching('sum up https://evil.test/a')).toMatchObject({ verdict: 'deny' });
  });
});

itAtNight(
  'refuses none of 1,000 calls of one session that no contract limits',
  async () => {
    const call = { ...claude('Read', { file_path: join(project, 'a.txt') }), session_id: 'long' };
    const verdicts = new Set<string>();
    for (let i = 0; i < 1_000; i++) verdicts.add((await verdictOn('claude-code', call)).verdict);
    expect(verdicts).toEqual(new Set(['allow']));
  },
  120_000,
);

it('numbers the calls of a session from 0, although each is judged by a process of its own', async () => {
  const calls = ['first', 'first', 'second', 'first'];
  for (const [i, session] of calls.entries()) {
    const payload = {
      ...claude('Read', { file_path: i === 1 ? '/etc/passwd' : 'a.txt' }),
      session_id: session,
    };
    await verdictOn('claude-code', payload, { scope: 'numbers' });
  }
  const places = keptEvents('numbers').map(({ verdict, payload }) => [
    verdict,
    payload.run_id,
    payload.call_index,
  ]);
  expect(places).toEqual([
    ['call_allowed', 'first', 0],
    ['call_denied', 'first', 1],
    ['call_allowed', 'second', 0],
    ['call_allowed', 'first', 2],
  ]);
});

describe('the state of gates', () => {
  const stateOf = (scope: string): GateState => {
    const state = new GateState(join(root, 'state'), scope);
    state.make();
    return state;
  };

  it('has a lock that lives as long as its holder works, and that only its holder removes', () => {
    const [first, second] = [stateOf('lock'), stateOf('lock')];
    const minutes = (n: number): number => 1_700_000_000_000 + n * 60_000;
    expect(first.lock(minutes(0))).toBe(true);
    utimesSync(first.path('lock'), minutes(0) / 1000, minutes(0) / 1000);
    expect([first.renewLock(minutes(1)), second.lock(minutes(2.5))]).toEqual([true, false]);
    expect(second.lock(minutes(4))).toBe(true);
    expect([first.renewLock(minutes(4)), second.renewLock(minutes(4))]).toEqual([false, true]);
    first.unlock();
    expect(existsSync(second.path('lock'))).toBe(true);
    second.unlock();
    expect([existsSync(second.path('lock')), second.renewLock(minutes(5))]).toEqual([false, false]);
  });

  it('passes over a lock and times from before the clock was set back', () => {
    const [first, second] = [stateOf('ahead'), stateOf('ahead')];
    const now = 1_790_000_000_000;
    first.lock(now);
    const setTimes = (time: number): void => {
      utimesSync(first.path('lock'), time / 1000, time / 1000);
      for (const kind of ['checked', 'tried'] as const) first.touch(kind, time);
    };
    const alive = () => [
      second.isLocked(now),
      ...(['checked', 'tried'] as const).map((kind) => second.isRecent(kind, now, 60_000)),
    ];
    setTimes(now + 2000);
    expect([...alive(), second.lock(now)]).toEqual([true, true, true, false]);
    setTimes(now + 3_600_000);
    expect([...alive(), second.lock(now)]).toEqual([false, false, false, true]);
  });

  it('takes events up to a bound, and counts those beyond it for people', async () => {
    const payload = claude('Read', { file_path: 'a.txt' });
    await verdictOn('claude-code', payload, { scope: 'full' });
    const state = stateOf('full');
    truncateSync(state.path('events.jsonl'), maxEventBytes);
    const outcomes = [];
    for (let call = 0; call < 2; call++)
      outcomes.push(await verdictOn('claude-code', payload, { scope: 'full' }));
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(['allow', 'allow']);
    expect(outcomes[1]?.told.join()).toContain('as are 1 events before it');
    expect(state.canSendMore).toBe(true);
    writeFileSync(state.path('sending.jsonl'), '');
    truncateSync(state.path('sending.jsonl'), maxEventBytes);
    expect(state.canSendMore).toBe(false);
    // A later outage has a count of its own.
    truncateSync(state.path('events.jsonl'), 0);
    expect(state.appendEvent('{}')).toBe(0);
    truncateSync(state.path('events.jsonl'), maxEventBytes);
    expect(state.appendEvent('{}')).toBe(1);
  });
});
