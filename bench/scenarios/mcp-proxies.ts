// MCP proxies beside a hub, from a process of its own: decisions until a client's `tasks/get` has the result, the
// memory of open tasks, and accepted definitions of tools on their way to many proxies.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { Guard, HubClient, systemClock } from 'reeve-agent';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { makeTemporaryFolder } from '../suite/folder.ts';
import { newHistogram } from '../suite/histogram.ts';
import { microsecondsSince } from '../suite/open-loop.ts';
import { agentProgram } from './library-calls.ts';
import { serverText } from './mcp-calls.ts';

interface HubAccess {
  readonly url: string;
  readonly key: string;
  /** Session of the person who decides. */
  readonly cookie: string;
}

type Order =
  | { readonly type: 'decisions'; readonly hub: HubAccess; readonly agent: string; readonly count: number }
  | { readonly type: 'handles'; readonly hub: HubAccess; readonly agent: string; readonly count: number }
  | {
      readonly type: 'accepts';
      readonly hub: HubAccess;
      /** Of the agents and of the server. */
      readonly label: string;
      readonly proxies: number;
      readonly count: number;
    };

export const proxyBundle = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: bench }
defaults: { mode: enforce }
contracts:
  - id: ask
    type: pre
    tool: echo
    when: { args.message: { exists: true } }
    then: { effect: approve, message: "{args.message}", timeout: 3600 }
`;

export class McpProxies extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'mcp proxies');
  }

  /** @returns latencies from each decision until `tasks/get` has the result: HdrHistogram V2, base64, microseconds */
  decisions(hub: HubAccess, agent: string, count: number): Promise<string> {
    return this.request({ type: 'decisions', hub, agent, count });
  }

  /** @returns what a proxy has more with so many open tasks */
  handles(hub: HubAccess, agent: string, count: number): Promise<ProxyMemory> {
    return this.request({ type: 'handles', hub, agent, count });
  }

  /** @returns latencies from each accepted definition until each proxy allows it */
  accepts(hub: HubAccess, label: string, proxies: number, count: number): Promise<string> {
    return this.request({ type: 'accepts', hub, label, proxies, count });
  }
}

const startMs = 60_000;
/** Between two looks at a task. */
const lookMs = 5;
const openAtOnce = 16;
/** Tasks of a proxy before its memory is read: it has loaded its code then. */
const warmUps = 20;
const settleMs = 2000;

interface TaskAnswer {
  readonly taskId: string;
  readonly status: string;
}

/** Memory of a proxy, in bytes. */
export interface ProxyMemory {
  /** After a collection of garbage: what the program holds. */
  readonly heldBytes: number;
  readonly residentBytes: number;
}

/** Answers SIGUSR2 with a line of memory. */
const meter = `data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => {
  const { rss } = process.memoryUsage();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write('memory ' + (heapUsed + external) + ' ' + rss + '\\n');
});`)}`;

/** A proxy in a process of its own, and a client of it. */
class ProxyProcess {
  readonly #child: ChildProcess;
  readonly #url: string;
  #count = 0;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  static async start({ url, key }: HubAccess, agent: string, folder: string): Promise<ProxyProcess> {
    const server = join(folder, 'server.mjs');
    writeFileSync(server, serverText('modern'));
    const own = ['--hub', url, '--agent', agent, '--bundle', 'bench', '--state', join(folder, agent)];
    const args = [agentProgram(), 'mcp', ...own, '--server', agent, '--listen', '0', '--', process.execPath];
    const child = spawn(process.execPath, ['--expose-gc', '--import', meter, ...args, server], {
      env: { PATH: process.env.PATH ?? '', REEVE_KEY: key },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    const address = new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`The proxy does not listen: ${output}`)), startMs);
      child.stderr?.on('data', (part: Buffer) => {
        output = (output + part).slice(-2000);
        const match = /listening on (http:\S+)/.exec(output);
        if (!match?.[1]) return;
        clearTimeout(timer);
        resolve(match[1]);
      });
      child.once('exit', () => reject(new Error(`The proxy ended: ${output}`)));
    });
    try {
      return new ProxyProcess(child, await address);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  memory(): Promise<ProxyMemory> {
    return new Promise((resolve) => {
      const read = (part: Buffer): void => {
        const [, held, resident] = /memory (\d+) (\d+)/.exec(String(part)) ?? [];
        if (held === undefined) return;
        this.#child.stderr?.off('data', read);
        resolve({ heldBytes: Number(held), residentBytes: Number(resident) });
      };
      this.#child.stderr?.on('data', read);
      this.#child.kill('SIGUSR2');
    });
  }

  async request(method: string, params: { readonly [name: string]: unknown }): Promise<TaskAnswer> {
    this.#count += 1;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    };
    const response = await fetch(this.#url, {
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
    const { result } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as {
      readonly result?: TaskAnswer;
    };
    if (!result) throw new Error(`${method}: ${text.slice(0, 300)}`);
    return result;
  }

  async open(message: string): Promise<string> {
    const { taskId } = await this.request('tools/call', { name: 'echo', arguments: { message } });
    if (typeof taskId !== 'string') throw new Error('The proxy made no task of a call.');
    return taskId;
  }

  async end(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    await exited;
    clearTimeout(timer);
  }
}

async function consoleCall<T>(
  { url, cookie }: HubAccess,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: { 'Content-Type': 'application/json', 'X-Requested-With': 'bench', Cookie: cookie },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
  return JSON.parse(text) as T;
}

async function decisions(hub: HubAccess, proxy: ProxyProcess, count: number): Promise<string> {
  const histogram = newHistogram();
  for (let n = 0; n < count; n++) {
    const message = `call ${n}`;
    const taskId = await proxy.open(message);
    const path = '/api/v1/approvals?status=pending&limit=1';
    const [approval] = await consoleCall<readonly { readonly id: string }[]>(hub, 'GET', path);
    if (!approval) throw new Error('The hub has no question.');
    const began = performance.now();
    await consoleCall(hub, 'PUT', `/api/v1/approvals/${approval.id}`, { approved: true });
    for (;;) {
      const { status } = await proxy.request('tasks/get', { taskId });
      if (status === 'completed') break;
      if (status !== 'working') throw new Error(`A task has ended as ${status}.`);
      await delay(lookMs);
    }
    histogram.recordValue(microsecondsSince(began));
  }
  return encodeIntoCompressedBase64(histogram);
}

async function handles(proxy: ProxyProcess, count: number): Promise<ProxyMemory> {
  const openMany = async (many: number, word: string): Promise<readonly string[]> => {
    const taskIds: string[] = [];
    const left = Array.from({ length: many }, (_, n) => `${word} ${n}`);
    const openNext = async (): Promise<void> => {
      for (let message = left.pop(); message !== undefined; message = left.pop())
        taskIds.push(await proxy.open(message));
    };
    await Promise.all(Array.from({ length: openAtOnce }, openNext));
    return taskIds;
  };
  for (const taskId of await openMany(warmUps, 'first')) await proxy.request('tasks/cancel', { taskId });
  await delay(settleMs);
  const before = await proxy.memory();
  await openMany(count, 'open');
  await delay(settleMs);
  const after = await proxy.memory();
  return {
    heldBytes: Math.max(0, after.heldBytes - before.heldBytes),
    residentBytes: Math.max(0, after.residentBytes - before.residentBytes),
  };
}

/** The library's tool pins, as a proxy holds them. */
interface ToolPins {
  start(): Promise<void>;
  close(): void;
  changed(server: string | null): void;
  verdictOf(tool: string, fingerprint: string): string;
  session(): { observe(listing: object): Promise<void> };
}

type AcceptOrder = Extract<Order, { readonly type: 'accepts' }>;

interface PinnedTool {
  readonly id: string;
  readonly tool: string;
  readonly fingerprint: string;
  readonly status: string;
}

/** Proxies without their processes: a stream and tool pins each. */
class PinnedProxies {
  readonly #hub: HubAccess;
  readonly #label: string;
  readonly #all: { readonly pins: ToolPins; readonly guard: Guard }[] = [];
  #onChange: () => void = () => undefined;

  constructor(hub: HubAccess, label: string) {
    this.#hub = hub;
    this.#label = label;
  }

  async start(folder: string, count: number): Promise<void> {
    const module = pathToFileURL(join(dirname(agentProgram()), '../tools/tool-pins.js')).href;
    const library = (await import(module)) as { readonly ToolPins: new (options: object) => ToolPins };
    const { url, key } = this.#hub;
    const begin = async (n: number): Promise<void> => {
      const client = { url, apiKey: key, agentId: `${this.#label}-${n}` };
      const pins = new library.ToolPins({
        ...{
          server: this.#label,
          http: new HubClient(client).http,
          hubUrl: url,
          mode: 'hold',
          localPins: [],
        },
        ...{ pinFile: join(folder, `pins-${n}.json`), clock: systemClock, writeLog: () => undefined },
        onChange: () => this.#onChange(),
      });
      await pins.start();
      const guard = await Guard.connect({
        ...{ ...client, bundleName: 'bench', openTelemetry: null },
        onToolPins: (server) => pins.changed(server),
      });
      this.#all.push({ pins, guard });
    };
    for (let n = 0; n < count; n += openAtOnce)
      await Promise.all(Array.from({ length: Math.min(openAtOnce, count - n) }, (_, m) => begin(n + m)));
  }

  /** @returns the second definition of a tool, which waits for a decision */
  async showTwoDefinitions(): Promise<PinnedTool> {
    for (const description of ['one', 'another']) {
      const tool = { name: 'echo', description, inputSchema: { type: 'object' } };
      await this.#all[0]?.pins.session().observe({ tools: [tool] });
    }
    const path = `/api/v1/tool-pins?env=production&server=${this.#label}`;
    const { tools } = await consoleCall<{ readonly tools: readonly PinnedTool[] }>(this.#hub, 'GET', path);
    const waiting = tools.find(({ tool, status }) => tool === 'echo' && status === 'waiting');
    if (!waiting) throw new Error(`No definition waits: ${JSON.stringify(tools).slice(0, 300)}`);
    return waiting;
  }

  /** Resolves when all proxies have the decision. @param onReached called for each of them */
  async decide(
    { id, fingerprint }: PinnedTool,
    decision: 'accepted' | 'rejected',
    onReached: () => void,
  ): Promise<void> {
    const open = new Set(this.#all);
    const reached = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${open.size} proxies have old pins.`)), startMs);
      this.#onChange = () => {
        for (const proxy of open) {
          const isAllowed = proxy.pins.verdictOf('echo', fingerprint) === 'allowed';
          if (isAllowed !== (decision === 'accepted')) continue;
          open.delete(proxy);
          onReached();
        }
        if (open.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
    });
    const body = { decision, envs: ['production'], reason: 'bench' };
    await Promise.all([reached, consoleCall(this.#hub, 'PUT', `/api/v1/tool-pins/${id}`, body)]);
  }

  async close(): Promise<void> {
    for (const { pins, guard } of this.#all) {
      pins.close();
      await guard.close().catch(() => undefined);
    }
  }
}

async function accepts({ hub, label, proxies, count }: AcceptOrder, folder: string): Promise<string> {
  const mode = { env: 'production', server: null, mode: 'hold' };
  await consoleCall(hub, 'PUT', '/api/v1/tool-pin-modes', mode);
  const pinned = new PinnedProxies(hub, label);
  const histogram = newHistogram();
  try {
    await pinned.start(folder, proxies);
    const waiting = await pinned.showTwoDefinitions();
    for (let n = 0; n < count; n++) {
      const began = performance.now();
      await pinned.decide(waiting, 'accepted', () => histogram.recordValue(microsecondsSince(began)));
      await pinned.decide(waiting, 'rejected', () => undefined);
    }
    return encodeIntoCompressedBase64(histogram);
  } finally {
    await pinned.close();
  }
}

async function run(order: Order): Promise<unknown> {
  const temporary = makeTemporaryFolder();
  const folder = temporary.path;
  try {
    if (order.type === 'accepts') return await accepts(order, folder);
    const proxy = await ProxyProcess.start(order.hub, order.agent, folder);
    try {
      if (order.type === 'handles') return await handles(proxy, order.count);
      return await decisions(order.hub, proxy, order.count);
    } finally {
      await proxy.end();
    }
  } finally {
    temporary.remove();
  }
}

serveOrders(import.meta.url, run);
