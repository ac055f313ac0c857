// A proxy whose calls go on as tasks: in one process with its client, its server and a hub that decides approvals. It
// can end and begin again over the same folder.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { readLines } from '../../src/cli/mcp/lines.ts';
import { McpListener } from '../../src/cli/mcp/listener.ts';
import type { ProxyRounds } from '../../src/cli/mcp/rounds.ts';
import { serveStdio } from '../../src/cli/mcp/stdio.ts';
import { TaskFiles } from '../../src/cli/mcp/tasks/files.ts';
import { ProxyTasks } from '../../src/cli/mcp/tasks/tasks.ts';
import { systemClock } from '../../src/clock.ts';
import { HubClient } from '../../src/hub.ts';
import { Guard } from '../../src/index.ts';
import type { SessionStore } from '../../src/sessions.ts';
import { FakeHub } from '../fake-hub.ts';
import { until } from '../manual-clock.ts';
import { pipedServer, type RunningServer, type ServerEra, ServerLog } from './pair-servers.ts';
import { type Json, memoryRounds, plainParts, rules } from './setting.ts';

export const asking =
  '{ id: ask-first, type: pre, tool: "*", when: { tool.name: { exists: true } }, then: { effect: approve, message: "run {tool.name}?", timeout: 60 } }';
export const taskCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

type Decision = 'pending' | 'approved' | 'denied' | 'timeout';

/** Answers for approvals, as the hub gives them. */
export class ApprovalHub {
  readonly hub = new FakeHub();
  readonly asked: Json[] = [];
  readonly #statuses = new Map<string, Decision>();
  /** A hub of before there were withdrawals. */
  isOld = false;

  async start(): Promise<this> {
    await this.hub.start();
    this.hub.on('POST /events', { body: { accepted: 0, duplicates: 0 } });
    this.hub.on('POST /approvals', ({ body }) => {
      const id = `a-${this.asked.length + 1}`;
      this.asked.push(body);
      this.#statuses.set(id, 'pending');
      this.hub.on(`GET /approvals/${id}`, () => ({ body: { id, status: this.#statuses.get(id) } }));
      this.hub.on(`POST /approvals/${id}/withdraw`, () => this.#withdraw(id));
      return { status: 201, body: { id, status: 'pending' } };
    });
    return this;
  }

  decide(id: string, status: Decision): void {
    this.#statuses.set(id, status);
  }

  statusOf(id: string): Decision | undefined {
    return this.#statuses.get(id);
  }

  #withdraw(id: string) {
    if (this.isOld) return { status: 404, body: {} };
    if (this.#statuses.get(id) !== 'pending') return { status: 409, body: {} };
    this.#statuses.set(id, 'denied');
    return { body: { id, status: 'denied' } };
  }
}

export interface ProxyPlan {
  readonly way: 'stdio' | 'HTTP';
  readonly server: RunningServer;
  readonly hub: FakeHub;
  readonly folder: string;
  readonly token?: string;
  readonly contracts?: readonly string[];
  readonly clock?: typeof systemClock;
  readonly sessions?: SessionStore;
  /** Default: a random one. */
  readonly sessionId?: string;
  /** Default: they end with the proxy. */
  readonly rounds?: ProxyRounds;
}

export class TaskProxy {
  readonly guard: Guard;
  readonly told: string[] = [];
  /** Notifications over standard output. */
  readonly heard: Json[] = [];
  /** Other contracts are in force. */
  deploy: () => void = () => {};
  readonly #token: string | null;
  #send: (message: Json) => Promise<Json>;
  #close: () => Promise<unknown>;
  #count = 0;

  private constructor(guard: Guard, tasks: ProxyTasks, token: string | null) {
    this.guard = guard;
    this.#token = token;
    this.#send = () => Promise.reject(new Error('not started'));
    this.#close = () => tasks.close();
  }

  static async start(plan: ProxyPlan): Promise<TaskProxy> {
    const { way, server, hub, folder, token = null, contracts = [asking], clock = systemClock } = plan;
    const { sessions, sessionId, rounds = memoryRounds(clock) } = plan;
    const client = new HubClient({
      url: hub.url,
      apiKey: 'svc_test',
      agentId: 'tasker',
      approvalPollInterval: 20,
    });
    const guard = Guard.fromYaml(rules(...contracts), {
      ...{ openTelemetry: null, hub: client },
      ...(sessions === undefined ? {} : { sessions }),
      ...(sessionId === undefined ? {} : { sessionId }),
    });
    const tasks = new ProxyTasks({
      files: new TaskFiles(join(folder, 'tasks'), clock),
      ...{ clock, guard, scope: 'test' },
      owner: token === null ? way : createHash('sha256').update(token).digest('hex'),
      writeLog: (text) => proxy.told.push(text),
    });
    const proxy: TaskProxy = new TaskProxy(guard, tasks, token);
    if (typeof server.connect !== 'function') throw new Error('tasks are tried with a piped server');
    const parts = {
      ...plainParts(guard, clock),
      ...{ tasks, rounds, connect: server.connect },
      writeLog: (text: string) => void proxy.told.push(text),
    };
    if (way === 'HTTP') {
      const listener = new McpListener(parts, { host: '127.0.0.1', port: 0, token });
      const url = `http://127.0.0.1:${await listener.start()}/mcp`;
      proxy.#send = (message) => proxy.#post(url, message);
      proxy.#close = () => listener.close();
    } else {
      const input = new PassThrough();
      const output = new PassThrough();
      const answers = new Map<unknown, Json>();
      readLines(output, {
        line: (text) => {
          const answer = JSON.parse(text) as Json;
          if (answer.id === undefined) proxy.heard.push(answer);
          else answers.set(answer.id, answer);
        },
        ended: () => {},
      });
      const served = serveStdio(parts, input, output, (task) => {
        proxy.deploy = task;
      });
      let isOver = false;
      proxy.#send = async (message) => {
        input.write(`${JSON.stringify(message)}\n`);
        // A subscription is answered when it ends, or never.
        await until(() => isOver || answers.has(message.id), `an answer to ${message.id}`);
        return answers.get(message.id) ?? {};
      };
      proxy.#close = async () => {
        input.end();
        await served;
        isOver = true;
      };
    }
    return proxy;
  }

  /** @returns the response */
  async request(method: string, params: Json, capabilities: object = taskCapabilities): Promise<Json> {
    this.#count += 1;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'tester', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    return this.#send({ jsonrpc: '2.0', id: this.#count, method, params: { ...params, _meta } });
  }

  async call(name: string, args: object = {}, capabilities: object = taskCapabilities): Promise<Json> {
    const { result } = await this.request('tools/call', { name, arguments: args }, capabilities);
    return result as Json;
  }

  async update(taskId: unknown, inputResponses: unknown): Promise<Json> {
    const { result, error } = await this.request('tasks/update', { taskId, inputResponses });
    return (result ?? error) as Json;
  }

  async task(taskId: unknown): Promise<Json> {
    const { result, error } = await this.request('tasks/get', { taskId });
    return (result ?? error) as Json;
  }

  /** The task, once it has ended, or asks. */
  async ended(taskId: unknown): Promise<Json> {
    for (;;) {
      const task = await this.task(taskId);
      if (task.status !== 'working') return task;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Records of the guard, without those of other calls. */
  actions(tool: string): readonly string[] {
    return this.guard.events.events.flatMap(({ action, tool_name }) => (tool_name === tool ? [action] : []));
  }

  async end(): Promise<void> {
    await this.#close();
    await this.guard.close();
  }

  async #post(url: string, message: Json): Promise<Json> {
    const { method, params } = message;
    const { name, taskId } = params as Json;
    const repeated = name ?? taskId;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': String(method),
        ...(repeated === undefined ? {} : { 'Mcp-Name': String(repeated) }),
        ...(this.#token === null ? {} : { Authorization: `Bearer ${this.#token}` }),
      },
      body: JSON.stringify(message),
    });
    const text = await response.text();
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as Json;
  }
}

/** The proxies of one test file: one hub for all of its tests, a folder and a server's log for each. */
export class TaskProxies {
  readonly approvals = new ApprovalHub();
  folder = '';
  log = new ServerLog();
  readonly #running = new Set<TaskProxy>();

  constructor() {
    beforeAll(async () => {
      await this.approvals.start();
    });
    afterAll(() => this.approvals.hub.stop());
    beforeEach(async () => {
      this.folder = await mkdtemp(join(tmpdir(), 'reeve-tasks-'));
      this.log = new ServerLog();
      this.approvals.isOld = false;
    });
    afterEach(async () => {
      for (const proxy of this.#running) await this.end(proxy).catch(() => {});
      await rm(this.folder, { recursive: true, force: true });
    });
  }

  /** Default: over standard input and output, before a server of its own. */
  async start(plan: Partial<ProxyPlan> = {}, era: ServerEra = 'modern'): Promise<TaskProxy> {
    const server = pipedServer(era, this.log);
    const { folder, approvals } = this;
    const proxy = await TaskProxy.start({ way: 'stdio', server, hub: approvals.hub, folder, ...plan });
    this.#running.add(proxy);
    return proxy;
  }

  async end(proxy: TaskProxy): Promise<void> {
    this.#running.delete(proxy);
    await proxy.end();
  }

  get lastApproval(): string {
    return `a-${this.approvals.asked.length}`;
  }

  approveLast(): void {
    this.approvals.decide(this.lastApproval, 'approved');
  }
}
