// The MCP proxy as people run it: a real client in front, real servers from npm behind, over standard input and output
// and over HTTP.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../../../../test/runs.ts';
import { sha256 } from '../../src/bundle/signature.ts';
import { FakeHub } from '../fake-hub.ts';
import { until } from '../manual-clock.ts';
import { callProgram, programArgs } from '../program.ts';
import { rules } from './setting.ts';

const packages = join(import.meta.dirname, '../../../../node_modules/@modelcontextprotocol');
const files = [process.execPath, join(packages, 'server-filesystem/dist/index.js')];
const everything = [process.execPath, join(packages, 'server-everything/dist/index.js')];

let folder = '';
const ended: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-mcp-'));
  await writeFile(join(folder, 'notes.txt'), 'buy milk, call 555-1234');
  await writeFile(join(folder, '.env'), 'KEY=secret');
});
afterAll(() => rm(folder, { recursive: true, force: true }));
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

const contractsFile = async (...contracts: string[]): Promise<string> => {
  const file = join(folder, `${contracts.length}-${sha256(Buffer.from(contracts.join())).slice(0, 8)}.yaml`);
  await writeFile(file, rules(...contracts));
  return file;
};
const newClient = (capabilities: object = {}): Client => {
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities });
  ended.push(() => client.close());
  return client;
};
const env = (more: { [name: string]: string } = {}) => ({ ...getDefaultEnvironment(), ...more });

/** A client of the proxy that stands before the server. */
async function through(
  options: readonly string[],
  server: readonly string[],
  client = newClient(),
  more: { [name: string]: string } = {},
): Promise<Client> {
  const [command = ''] = [process.execPath];
  const args = [...programArgs(), 'mcp', ...options, ...(server.length > 0 ? ['--', ...server] : [])];
  await client.connect(new StdioClientTransport({ command, args, env: env(more), stderr: 'ignore' }));
  return client;
}
const text = (value: unknown) => ({ content: [{ type: 'text', text: value }] });
const call = (client: Client, name: string, args: object = {}) =>
  client.callTool({ name, arguments: { ...args } });

const inFolder = () =>
  `{ id: inside, type: sandbox, tools: [read_text_file, write_file], within: ["${folder}"], not_within: ["${folder}/.env"], message: "outside of the folder" }`;
const numbers =
  '{ id: numbers, type: post, tool: "*", when: { output.text: { matches: "[0-9]{3}-[0-9]{4}" } }, then: { effect: redact, message: hidden } }';
const noMoves =
  '{ id: no-moves, type: pre, tool: move_file, when: { tool.name: { exists: true } }, then: { effect: deny, message: "nothing is moved" } }';

describe('before the file system server', () => {
  it('judges calls by their arguments, hides what is refused, and lets contracts see results', async () => {
    const contracts = await contractsFile(inFolder(), numbers, noMoves);
    const client = await through(['--contracts', contracts, '--hide'], [...files, folder]);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('read_text_file');
    expect(names).not.toContain('move_file');
    const read = await call(client, 'read_text_file', { path: join(folder, 'notes.txt') });
    expect(JSON.stringify(read)).toContain('buy milk');
    expect(JSON.stringify(read)).not.toContain('555-1234');
    expect(await call(client, 'read_text_file', { path: join(folder, '.env') })).toMatchObject({
      isError: true,
      ...text('Denied: outside of the folder'),
    });
    expect(await call(client, 'read_text_file', { path: '/etc/passwd' })).toMatchObject({ isError: true });
    const source = join(folder, 'notes.txt');
    expect(await call(client, 'move_file', { source, destination: join(folder, 'x') })).toMatchObject(
      text('Denied: nothing is moved'),
    );
    await call(client, 'write_file', { path: join(folder, 'new.txt'), content: 'new' });
    expect(await readFile(join(folder, 'new.txt'), 'utf8')).toBe('new');
    expect(await readdir(folder)).toContain('notes.txt');
  });

  itAtNight('runs many calls at once', async () => {
    const client = await through(['--contracts', await contractsFile(inFolder())], [...files, folder]);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        call(client, 'read_text_file', { path: join(folder, i % 2 === 0 ? 'notes.txt' : '.env') }),
      ),
    );
    expect(answers.map(({ isError }) => isError === true)).toEqual(answers.map((_, i) => i % 2 === 1));
  });

  it('starts a server again that was killed, and says that its lists may have changed', async () => {
    const pidFile = join(folder, 'pid');
    const tellsPid = join(folder, 'tells-pid.mjs');
    const script = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(pidFile)}, String(process.pid));\n`;
    await writeFile(tellsPid, script);
    const [command = '', file = ''] = files;
    const server = [command, '--import', tellsPid, file, folder];
    const client = newClient();
    let changed = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changed += 1;
    });
    await through(['--contracts', await contractsFile(inFolder())], server, client);
    const path = join(folder, 'notes.txt');
    expect(await call(client, 'read_text_file', { path })).not.toMatchObject({ isError: true });
    process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGKILL');
    await until(() => changed > 0, 'the changed list', 15_000);
    expect(await call(client, 'read_text_file', { path })).not.toMatchObject({ isError: true });
  });
});

const noBigSums =
  '{ id: no-big-sums, type: pre, tool: get-sum, when: { args.a: { gt: 10 } }, then: { effect: deny, message: "too much" } }';
const askFirst =
  '{ id: ask-first, type: pre, tool: echo, when: { args.message: { contains: please } }, then: { effect: approve, message: "echo {args.message}?", timeout: 30, metadata: { elicit: true } } }';

/** Whatever a client and the everything server say to each other besides calls. */
async function converses(client: Client): Promise<void> {
  const result = await client.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } },
    undefined,
    { onprogress: ({ progress }) => heard.push(progress) },
  );
  expect(JSON.stringify(result)).toContain('Long running operation completed');
  // The client reads what comes right before an answer too late, on a busy machine more than one.
  expect(heard).toEqual([1, 2, 3].slice(0, Math.max(1, heard.length)));
  const sampled = await call(client, 'trigger-sampling-request', { prompt: 'hi', maxTokens: 5 });
  expect(JSON.stringify(sampled)).toContain('sampled by the client');
  expect(JSON.stringify(await call(client, 'get-roots-list'))).toContain('file:///roots');
  const { resources } = await client.listResources();
  expect(await client.readResource({ uri: resources[0]?.uri ?? '' })).toMatchObject({ contents: [{}] });
  expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0);
  expect(await call(client, 'get-structured-content', { location: 'New York' })).toHaveProperty(
    'structuredContent',
  );
  await client.ping();
}
const heard: number[] = [];
function talkative(): Client {
  heard.length = 0;
  const client = newClient({ sampling: {}, elicitation: { form: {} }, roots: {} });
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'm',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled by the client' },
  }));
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    questions.push(params.message);
    return { action: 'accept', content: { approve: !params.message.includes('no') } };
  });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///roots', name: 'r' }] }));
  return client;
}
let questions: string[] = [];

async function everythingOverHttp(): Promise<string> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as { port: number };
  holder.close();
  await once(holder, 'close');
  const [command = '', ...args] = everything;
  const child = spawn(command, [...args, 'streamableHttp'], {
    env: env({ PORT: String(port) }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  ended.push(() => stopped(child));
  await saying(child, /listening|running/i);
  return `http://127.0.0.1:${port}/mcp`;
}

const stopped = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'close');
};

/** The line that a process prints when it is ready. */
async function saying(child: ChildProcess, pattern: RegExp): Promise<string> {
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  }
  await until(() => pattern.test(printed), String(pattern), 15_000);
  return printed;
}

async function listening(options: readonly string[], more: { [name: string]: string } = {}): Promise<URL> {
  const child = spawn(process.execPath, [...programArgs(), 'mcp', '--listen', '0', ...options], {
    env: env(more),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  ended.push(() => stopped(child));
  return new URL(/http:\S+/.exec(await saying(child, /listening on \S+\n/))?.[0] ?? '');
}

describe('before the everything server', () => {
  it('hands on progress, sampling, roots, resources and prompts, over standard input and output', async () => {
    questions = [];
    const options = ['--contracts', await contractsFile(noBigSums, askFirst)];
    const client = await through(options, [...everything, 'stdio'], talkative());
    await converses(client);
    expect(await call(client, 'get-sum', { a: 1, b: 2 })).toMatchObject(text('The sum of 1 and 2 is 3.'));
    expect(await call(client, 'get-sum', { a: 11, b: 2 })).toMatchObject(text('Denied: too much'));
    expect(await call(client, 'echo', { message: 'please' })).toMatchObject(text('Echo: please'));
    expect(JSON.stringify(await call(client, 'echo', { message: 'please, no' }))).toContain(
      'Denied: echo please, no?',
    );
    expect(questions.map((one) => one.split('\n')[0])).toEqual(['echo please?', 'echo please, no?']);
  });

  itAtNight('does so over HTTP behind, and keeps the key of the hub to itself', async () => {
    const url = await everythingOverHttp();
    const contracts = await contractsFile(noBigSums, askFirst);
    await converses(await through(['--contracts', contracts, '--upstream', url], [], talkative()));
    const options = ['--contracts', contracts];
    const secret = { REEVE_KEY: 'svk_production_secret', REEVE_MCP_TOKEN: 't' };
    const client = await through(options, [...everything, 'stdio'], newClient(), secret);
    const printed = JSON.stringify(await call(client, 'get-env'));
    expect(printed).toContain('PATH');
    expect(printed).not.toContain('svk_production_secret');
  });

  itAtNight('does so over HTTP in front, for several agents at once', async () => {
    questions = [];
    const options = ['--contracts', await contractsFile(noBigSums, askFirst), '--', ...everything, 'stdio'];
    const url = await listening(options);
    const clients = [talkative(), newClient()];
    for (const client of clients) await client.connect(new StreamableHTTPClientTransport(url) as never);
    const [first, second] = clients as [Client, Client];
    await converses(first);
    expect(await call(second, 'get-sum', { a: 11, b: 2 })).toMatchObject(text('Denied: too much'));
    expect(await call(first, 'echo', { message: 'please' })).toMatchObject(text('Echo: please'));
  });

  itAtNight('does so over HTTP on both sides, and lets nobody else in', async () => {
    const contracts = await contractsFile(noBigSums);
    const url = await listening(['--contracts', contracts, '--upstream', await everythingOverHttp()], {
      REEVE_MCP_TOKEN: 'right',
    });
    const post = (
      headers: { [name: string]: string },
      body: object = { jsonrpc: '2.0', id: 1, method: 'ping' },
    ) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const right = { authorization: 'Bearer right' };
    expect((await post({})).status).toBe(401);
    expect((await post({ authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await post({ ...right, origin: 'https://evil.example' })).status).toBe(403);
    expect((await post(right)).status).toBe(400);
    expect((await post({ ...right, 'mcp-session-id': 'made-up' })).status).toBe(404);
    const client = talkative();
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: right } });
    await client.connect(transport as never);
    await converses(client);
    await transport.terminateSession();
    expect((await post({ ...right, 'mcp-session-id': transport.sessionId ?? 'gone' })).status).toBe(404);
  });

  it('cancels at the server what the client cancels', async () => {
    const client = await through(['--contracts', await contractsFile(noBigSums)], [...everything, 'stdio']);
    const stop = new AbortController();
    const long = client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 60 } },
      undefined,
      { signal: stop.signal, onprogress: () => stop.abort(new Error('enough')) },
    );
    await expect(long).rejects.toThrow('enough');
    expect(await call(client, 'get-sum', { a: 1, b: 1 })).toMatchObject(text('The sum of 1 and 1 is 2.'));
  });
});

describe('with a hub', () => {
  const hub = new FakeHub();
  const yaml = rules(noBigSums, askFirst.replace(', metadata: { elicit: true }', ''));
  const state = () => join(folder, 'state');
  const settings = () => ({ REEVE_URL: hub.url, REEVE_KEY: 'svk_production_mcp' });
  const options = () => ['--agent', 'helper', '--bundle', 'guardrails', '--state', state()];
  let decided = false;
  beforeAll(async () => {
    await hub.start();
    hub.on('GET /bundles/guardrails/current', {
      body: {
        name: 'guardrails',
        version: 1,
        revision_hash: sha256(Buffer.from(yaml)),
        yaml_bytes: Buffer.from(yaml).toString('base64'),
      },
    });
    hub.on('GET /stream', () => 'stream');
    hub.on('POST /agents/report', { body: {} });
    hub.on('POST /events', { body: { accepted: 1, duplicates: 0 } });
    hub.on('POST /approvals', { status: 201, body: { id: 'a1', status: 'pending' } });
    hub.on('GET /approvals/a1', () => ({
      body: { id: 'a1', status: decided ? 'approved' : 'pending', decided_by: 'ann' },
    }));
  });
  afterAll(() => hub.stop());

  it('asks there, tells progress meanwhile, and delivers its events before it ends', async () => {
    const client = await through(options(), [...everything, 'stdio'], newClient(), settings());
    const told: string[] = [];
    const answer = client.callTool({ name: 'echo', arguments: { message: 'please' } }, undefined, {
      onprogress: ({ message }) => {
        told.push(message ?? '');
        decided = true;
      },
    });
    expect(await answer).toMatchObject(text('Echo: please'));
    expect(told).toEqual(['Approval pending: echo please?']);
    expect(await call(client, 'get-sum', { a: 11, b: 2 })).toMatchObject(text('Denied: too much'));
    await client.close();
    await until(() => hub.seen('POST /events').length > 0, 'the events', 10_000);
    const events = hub
      .seen('POST /events')
      .flatMap(({ body }) => body.events as { verdict: string; agent_id: string }[]);
    expect(events.map(({ verdict }) => verdict)).toEqual([
      'call_approval_requested',
      'call_approval_granted',
      'call_executed',
      'call_denied',
    ]);
    expect(new Set(events.map(({ agent_id }) => agent_id))).toEqual(new Set(['helper']));
    expect(hub.seen('POST /approvals')[0]?.body).toMatchObject({
      tool_name: 'echo',
      contracts: [{ name: 'ask-first' }],
    });
  });

  it('that is away goes on with the last good contracts', async () => {
    await hub.stop();
    const client = await through(options(), [...everything, 'stdio'], newClient(), settings());
    expect(await call(client, 'get-sum', { a: 11, b: 2 })).toMatchObject(text('Denied: too much'));
    expect(await call(client, 'get-sum', { a: 1, b: 2 })).toMatchObject(text('The sum of 1 and 2 is 3.'));
  });
});

describe('the command', () => {
  const run = (args: readonly string[]) => callProgram(['mcp', ...args], { env: env() });

  it.each([
    [['--contracts', 'x.yaml'], 'name a server'],
    [['--', 'server'], 'name a hub with --hub'],
    [['--hub', 'https://hub.example', '--', 'server'], 'set REEVE_KEY'],
    [['--contracts', 'x', '--upstream', 'ftp://x'], '--upstream must be'],
    [
      ['--contracts', 'x', '--upstream', 'https://x', '--header', 'nonsense'],
      "--header must be 'NAME: VALUE'",
    ],
    [['--contracts', 'x', '--listen', '0.0.0.0:1', '--', 'server'], 'set REEVE_MCP_TOKEN'],
    [['--contracts', 'x', '--listen', 'x', '--', 'server'], '--listen must be'],
    [['--nope'], 'Unknown option'],
  ])('says what is wrong with %j', async (args, why) => {
    const { code, err } = await run(args);
    expect(err).toContain(why);
    expect(code).toBe(2);
  });

  it('ends with 1 when contracts or server cannot be used', async () => {
    expect(await run(['--contracts', join(folder, 'none.yaml'), '--', 'server'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be read'),
    });
    const contracts = await contractsFile(noBigSums);
    expect(await run(['--contracts', contracts, '--', join(folder, 'no-such-server')])).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be started'),
    });
  });
});
