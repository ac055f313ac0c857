// Every snippet of docs/integrations.md, run as written: programs, MCP configurations with a real client and real
// servers, and hooks with what each assistant sends. Only addresses and the key are those of the test, and packages are
// those that are installed here.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compiled } from '../../../test/compiled.ts';
import { rowsOfRun } from '../../../test/runs.ts';
import { sha256 } from '../src/bundle/signature.ts';
import { FakeHub } from './fake-hub.ts';
import { until } from './manual-clock.ts';
import { programArgs } from './program.ts';

const root = join(import.meta.dirname, '../../..');
const page = await readFile(join(root, 'docs/integrations.md'), 'utf8');

interface Snippet {
  readonly title: string;
  readonly language: string;
  readonly code: string;
  /** Its output; empty where the page does not say. */
  readonly output: string;
}
const snippets: Snippet[] = page.split(/^## /m).flatMap((section) => {
  const title = section.slice(0, section.indexOf('\n'));
  const blocks = section.matchAll(/```(js|json|sh|yaml)\n([\s\S]*?)```(?:\s*```text\n([\s\S]*?)```)?/g);
  return [...blocks].map(([, language = '', code = '', output = '']) => ({ title, language, code, output }));
});
const of = (language: string) => snippets.filter((snippet) => snippet.language === language);
const yaml = Buffer.from(of('yaml')[0]?.code ?? '');

const hub = new FakeHub();
let folder = '';
let env: { [name: string]: string } = {};
const ends: (() => Promise<unknown>)[] = [];

/** Programs under the names that the page calls them by. */
async function shims(bin: string): Promise<void> {
  const quoted = (parts: readonly string[]) => parts.map((part) => `'${part}'`).join(' ');
  const program = quoted([process.execPath, ...programArgs()]);
  const files = quoted([
    process.execPath,
    join(root, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js'),
  ]);
  const npx = `[ "$1" = -y ] && shift
case "$1" in
  reeve-agent) shift; exec ${program} "$@";;
  @modelcontextprotocol/server-filesystem) shift; exec ${files} "$@";;
esac
echo "no package $1" >&2; exit 1`;
  await mkdir(bin);
  for (const [name, text] of [
    ['reeve-agent', `exec ${program} "$@"`],
    ['npx', npx],
  ] as const) {
    await writeFile(join(bin, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(bin, name), 0o755);
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'integrations-'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'guardrails.yaml'), yaml);
  await writeFile(join(folder, 'notes.txt'), 'buy milk');
  await shims(join(folder, 'bin'));
  await hub.start();
  hub.on('GET /bundles/guardrails/current', {
    body: {
      name: 'guardrails',
      version: 1,
      revision_hash: sha256(yaml),
      yaml_bytes: yaml.toString('base64'),
    },
  });
  hub.on('GET /stream', () => 'stream');
  hub.on('POST /agents/report', { body: {} });
  hub.on('POST /events', { body: { accepted: 1, duplicates: 0 } });
  env = {
    HOME: folder,
    PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH ?? ''}`,
    REEVE_URL: hub.url,
    REEVE_KEY: 'svk_production_integrations',
  };
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  await hub.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

interface SentEvent {
  readonly verdict: string;
  readonly agent_id: string;
  readonly payload: { readonly run_id: string };
}
const events = () => hub.seen('POST /events').flatMap(({ body }) => body.events as SentEvent[]);

it('has a snippet for each way in', () => {
  const count = (language: string) => of(language).length;
  expect([count('yaml'), count('js'), count('json'), count('sh')]).toEqual([1, 4, 9, 2]);
});

describe('programs', () => {
  it.each(rowsOfRun(of('js'), 2))(
    '$title',
    async ({ title, code, output }) => {
      const library =
        compiled('packages/agent/src/index.ts') ?? pathToFileURL(join(root, 'packages/agent/src/index.ts'));
      const file = join(folder, `${title.replace(/\W+/g, '-')}.mjs`);
      await writeFile(file, code.replaceAll("from 'reeve-agent'", `from '${library}'`));
      const loader = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;
      const before = events().length;
      const { stdout } = await promisify(execFile)(process.execPath, ['--import', loader, file], {
        cwd: folder,
        env,
        timeout: 30_000,
      });
      expect(stdout).toBe(output);
      expect(
        events()
          .slice(before)
          .map(({ verdict }) => verdict),
      ).toEqual(['call_allowed', 'call_executed', 'call_denied']);
      const runs = new Set(
        events()
          .slice(before)
          .map(({ payload }) => payload.run_id),
      );
      expect([...runs]).toEqual([title.startsWith('MCP') ? expect.any(String) : 'c-17']);
    },
    40_000,
  );
});

interface Configured {
  readonly mcpServers: {
    readonly [name: string]: {
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: { readonly [name: string]: string };
    };
  };
}

/** A real client of the server that a configuration names. */
async function configured(code: string, replaced: { readonly [text: string]: string } = {}): Promise<Client> {
  const text = Object.entries(replaced).reduce((all, [from, to]) => all.replaceAll(from, to), code);
  const { files } = (JSON.parse(text) as Configured).mcpServers;
  if (!files) throw new Error('no server');
  const client = new Client({ name: 'assistant', version: '1.0.0' });
  ends.push(() => client.close());
  await client.connect(
    new StdioClientTransport({
      command: files.command,
      args: [...files.args],
      env: { ...env, ...(files.env ? { REEVE_URL: hub.url } : {}) },
      cwd: folder,
      stderr: 'ignore',
    }),
  );
  return client;
}

async function everythingOverHttp(): Promise<string> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as { port: number };
  holder.close();
  await once(holder, 'close');
  const entry = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
  const child = spawn(process.execPath, [entry, 'streamableHttp'], {
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  ends.push(async () => child.kill());
  let printed = '';
  child.stderr.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await until(() => /listening|running/i.test(printed), 'the server', 15_000);
  return `http://127.0.0.1:${port}/mcp`;
}

const read = (client: Client, path: string) =>
  client.callTool({ name: 'read_text_file', arguments: { path } });

describe('MCP configurations', () => {
  const [withHub, withUpstream] = of('json').filter(({ code }) => code.includes('mcpServers'));

  it('put the proxy before a server that is a command', async () => {
    const client = await configured(withHub?.code ?? '');
    expect(JSON.stringify(await read(client, 'notes.txt'))).toContain('buy milk');
    expect(JSON.stringify(await read(client, '/etc/passwd'))).toContain('Denied: outside of the project');
    await client.close();
    await until(() => events().some(({ agent_id }) => agent_id === 'laptop'), 'its events', 10_000);
  }, 40_000);

  it('put the proxy before a server over HTTP', async () => {
    const client = await configured(withUpstream?.code ?? '', {
      'https://mcp.example.com/mcp': await everythingOverHttp(),
      '…': 'x',
    });
    const call = (args: object) => client.callTool({ name: 'echo', arguments: { message: 'hi', ...args } });
    expect(JSON.stringify(await call({}))).toContain('Echo: hi');
    expect(JSON.stringify(await call({ command: 'rm -rf /' }))).toContain('Denied: nothing is deleted here');
  }, 40_000);
});

const [listens, answers] = of('sh');

it('the proxy listens', async () => {
  const child = spawn('sh', ['-c', `exec ${(listens?.code ?? '').replace('8811', '0')}`], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  ends.push(async () => {
    child.kill();
    if (child.exitCode === null) await once(child, 'close');
  });
  let printed = '';
  child.stderr.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await until(() => /listening on \S+\n/.test(printed), 'the proxy', 15_000);
  const client = new Client({ name: 'assistant', version: '1.0.0' });
  ends.push(() => client.close());
  await client.connect(
    new StreamableHTTPClientTransport(new URL(/http:\S+/.exec(printed)?.[0] ?? '')) as never,
  );
  expect(JSON.stringify(await read(client, 'notes.txt'))).toContain('buy milk');
  expect(JSON.stringify(await read(client, '../other'))).toContain('Denied: outside of the project');
}, 40_000);

/** Runs a command line as a shell does, with a call on its standard input. */
async function hook(command: string, input: object | null) {
  const child = spawn('sh', ['-c', command], { cwd: folder, env });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  child.stdin.end(input === null ? '' : JSON.stringify(input));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}

it('the default format answers as the page says', async () => {
  const { out, code } = await hook(answers?.code ?? '', null);
  expect([out, code]).toEqual([answers?.output, 2]);
}, 40_000);

/** The input of each assistant before a shell command, by the event of its hook. */
const sent: { readonly [event: string]: (command: string) => object } = {
  PreToolUse: (command) => ({
    hook_event_name: 'PreToolUse',
    cwd: folder,
    tool_name: 'Bash',
    tool_input: { command },
  }),
  beforeShellExecution: (command) => ({ hook_event_name: 'beforeShellExecution', cwd: folder, command }),
  beforeMCPExecution: (command) => ({
    hook_event_name: 'beforeMCPExecution',
    tool_name: 'x',
    tool_input: JSON.stringify({ command }),
  }),
  beforeReadFile: (command) => ({
    hook_event_name: 'beforeReadFile',
    workspace_roots: [folder],
    file_path: command === 'ls' ? join(folder, 'notes.txt') : '/etc/passwd',
    content: '',
  }),
  BeforeTool: (command) => ({
    hook_event_name: 'BeforeTool',
    tool_name: 'run_shell_command',
    tool_input: { command },
  }),
  // Of two assistants, each with its own words.
  preToolUse: (command) => ({
    cwd: folder,
    toolName: 'bash',
    toolArgs: JSON.stringify({ command }),
    hook_event_name: 'preToolUse',
    workspace_roots: [folder],
    tool_name: 'Shell',
    tool_input: { command },
  }),
  beforeTabFileRead: (command) => ({
    hook_event_name: 'beforeTabFileRead',
    workspace_roots: [folder],
    file_path: command === 'ls' ? join(folder, 'notes.txt') : '/etc/passwd',
    content: '',
  }),
  pre_read_code: (command) => ({
    agent_action_name: 'pre_read_code',
    tool_info: { file_path: command === 'ls' ? 'notes.txt' : '/etc/passwd' },
  }),
  pre_run_command: (command) => ({
    agent_action_name: 'pre_run_command',
    tool_info: { command_line: command, cwd: folder },
  }),
  pre_write_code: (command) => ({
    agent_action_name: 'pre_write_code',
    tool_info: { file_path: command === 'ls' ? 'notes.txt' : '/etc/passwd', edits: [] },
  }),
  pre_mcp_tool_use: (command) => ({
    agent_action_name: 'pre_mcp_tool_use',
    tool_info: { mcp_server_name: 's', mcp_tool_name: 't', mcp_tool_arguments: { command } },
  }),
};

/** The commands of a configuration, each with the event it is called for. */
function commandsOf(code: string): [event: string, command: string][] {
  const { hooks } = JSON.parse(code) as { readonly hooks: { readonly [event: string]: unknown } };
  return Object.entries(hooks).map(([event, entries]) => {
    const [, command = ''] = /"(?:command|bash)":"(reeve-agent [^"]*)"/.exec(JSON.stringify(entries)) ?? [];
    return [event, command];
  });
}

describe('hooks', () => {
  const configurations = of('json').filter(({ code }) => code.includes('"hooks"'));
  const commands = configurations.flatMap(({ code }) => commandsOf(code));
  // What each assistant sends and reads is tested without processes in gate/formats.test.ts.
  it.each(rowsOfRun(commands, 2))(
    '%s: %s',
    async (event, command) => {
      const make = sent[event];
      if (!make) throw new Error(`nothing is known of ${event}`);
      const allowed = await hook(command, make('ls'));
      const needsAnswer = event === 'preToolUse' && command.includes('cursor');
      expect([allowed.code, allowed.out]).toEqual([0, needsAnswer ? '{"permission":"allow"}\n' : '']);
      const denied = await hook(command, make('rm -rf /'));
      expect(denied.out + denied.err).toMatch(/nothing is deleted here|outside of the project/);
      // GitHub Copilot reads verdicts from hooks that end well.
      expect(denied.code).toBe(command.includes('copilot') ? 0 : 2);
    },
    60_000,
  );
});
