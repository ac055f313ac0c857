// Calls that go on as tasks, with the real hub, the program as people start it, and a server of the SDK: each is killed
// while handles are open.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { freePort } from '../../../bench/suite/free-port.ts';
import { until } from '../../../packages/agent/test/manual-clock.ts';
import { programArgs } from '../../../packages/agent/test/program.ts';
import { itAtNight } from '../../runs.ts';
import { testProgram } from '../../test-program.ts';
import { Setting } from './setting.ts';

const patience = 60_000;
const setting = new Setting();
const journal = (): string => setting.file('journal');
let built: Promise<string> | undefined;
const serverProgram = (): Promise<string> => {
  built ??= testProgram(join(import.meta.dirname, '../../../packages/agent/test/mcp/modern-server.ts'));
  return built;
};
const contracts = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - id: ask
    type: pre
    tool: read
    when: { args.path: { exists: true } }
    then: { effect: approve, message: "read {args.path}?", timeout: 600 }
`;

// biome-ignore lint/suspicious/noExplicitAny: results of many shapes
type Result = any;

class ProxyProcess {
  readonly port: number;
  #child: ChildProcess | null = null;
  #count = 0;

  constructor(port: number) {
    this.port = port;
  }

  async start(): Promise<void> {
    const options = ['--hub', setting.hub.url, '--agent', 'tasker', '--bundle', 'guardrails'];
    const state = ['--state', setting.file('state'), '--spool', setting.file('spool.jsonl')];
    const args = [...programArgs(), 'mcp', ...options, ...state, '--listen', String(this.port)];
    const env = { PATH: process.env.PATH ?? '', REEVE_KEY: setting.key };
    const command = [process.execPath, await serverProgram(), journal()];
    const child = spawn(process.execPath, [...args, '--', ...command], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr?.on('data', (part: Buffer) => {
      output += part;
    });
    this.#child = child;
    await until(() => output.includes('listening on') || child.exitCode !== null, 'the proxy', patience);
    if (child.exitCode !== null) throw new Error(output);
  }

  /** kill -9 */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async request(method: string, params: { [name: string]: unknown }): Promise<Result> {
    this.#count += 1;
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'tester', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    const response = await fetch(`http://127.0.0.1:${this.port}/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': method,
        'Mcp-Name': String(params.name ?? params.taskId),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: this.#count, method, params: { ...params, _meta } }),
    });
    const text = await response.text();
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text).result;
  }

  task = (taskId: string): Promise<Result> => this.request('tasks/get', { taskId });

  /** The task, once it has ended. */
  async ended(taskId: string): Promise<Result> {
    let task: Result;
    const isEnded = async (): Promise<boolean> => {
      task = await this.task(taskId);
      return task.status !== 'working';
    };
    const deadline = Date.now() + patience;
    while (!(await isEnded())) {
      if (Date.now() > deadline) throw new Error(`the task ${taskId} does not end: ${JSON.stringify(task)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return task;
  }
}

let proxy: ProxyProcess;
beforeAll(async () => {
  await setting.open();
  await setting.deploy(contracts);
  await writeFile(journal(), '');
  proxy = new ProxyProcess(await freePort());
  await proxy.start();
}, 2 * patience);
afterAll(async () => {
  await proxy.kill();
  await setting.close();
});

const executed = async (): Promise<readonly string[]> =>
  (await readFile(journal(), 'utf8')).split('\n').filter((line) => line !== '');

/** A call that waits for its approval. */
async function ask(path: string): Promise<{ taskId: string; approvalId: string }> {
  const { taskId, status } = await proxy.request('tools/call', { name: 'read', arguments: { path } });
  expect(status).toBe('working');
  const list = await setting.hub.call('GET', '/api/v1/approvals?status=pending', { cookie: setting.cookie });
  const { id } = list.body.find((one: Result) => one.tool_args.path === path);
  return { taskId, approvalId: id };
}
async function decide(approvalId: string, approved = true): Promise<void> {
  const path = `/api/v1/approvals/${approvalId}`;
  const { status } = await setting.hub.call('PUT', path, { cookie: setting.cookie, body: { approved } });
  expect(status).toBe(200);
}

itAtNight(
  'run once, whoever is killed while they wait, and say so where nobody knows whether they ran',
  async () => {
    const hanging = await ask('hang');
    const [first, second, third] = [await ask('one'), await ask('two'), await ask('three')];
    await decide(hanging.approvalId);
    let lines: readonly string[] = [];
    const hangs = async (): Promise<void> => {
      while (!lines.includes('read hang')) lines = await executed();
    };
    await hangs();
    await proxy.kill();
    await decide(first.approvalId);
    await setting.hub.kill();
    await setting.hub.start();
    await proxy.start();

    expect(await proxy.ended(hanging.taskId)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('the outcome is not known') },
    });
    expect(await proxy.ended(first.taskId)).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'contents of one, call 555-1234' }] },
    });
    expect(await proxy.task(second.taskId)).toMatchObject({ status: 'working' });
    await setting.hub.kill();
    expect(await proxy.task(second.taskId)).toMatchObject({ status: 'working' });
    await setting.hub.start();

    // The server ends under a call.
    const ending = await ask('end');
    await decide(ending.approvalId);
    expect(await proxy.ended(ending.taskId)).toMatchObject({ status: 'failed' });
    await decide(second.approvalId);
    expect(await proxy.ended(second.taskId)).toMatchObject({ status: 'completed' });

    await proxy.request('tasks/cancel', { taskId: third.taskId });
    expect(await proxy.task(third.taskId)).toMatchObject({ status: 'cancelled' });
    const path = `/api/v1/approvals/${third.approvalId}`;
    let approval: Result = {};
    while (approval.status !== 'denied')
      approval = (await setting.hub.call('GET', path, { cookie: setting.cookie })).body;
    expect(approval).toMatchObject({ decided_by: 'tasker', decided_via: 'withdrawn' });

    expect(await executed()).toEqual(['read hang', 'read one', 'read end', 'read two']);
    // Every call that ran has one end, also the one whose outcome nobody knows.
    const ends = async (): Promise<readonly string[]> =>
      [...(await setting.stored('tasker')).values()].flatMap((all) =>
        all.filter((action) => action === 'call_executed' || action === 'call_failed'),
      );
    const deadline = Date.now() + patience;
    while ((await ends()).length < 4 && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 50));
    expect([...(await ends())].sort()).toEqual([
      'call_executed',
      'call_executed',
      'call_failed',
      'call_failed',
    ]);
    const events = await setting.hub.call('GET', '/api/v1/events?limit=100&agent_id=tasker', {
      cookie: setting.cookie,
    });
    const ofHanging = events.body.find(({ payload }: Result) => payload.tool_args.path === 'hang');
    expect(ofHanging.outcomes.map(({ verdict }: Result) => verdict)).toEqual([
      'call_approval_granted',
      'call_failed',
    ]);
    expect(JSON.stringify(ofHanging.outcomes)).toContain('the outcome is not known');
  },
  4 * patience,
);
